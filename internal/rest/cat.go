package rest

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// catColumn is a column of /_cat/indices.
type catColumn struct {
	name    string
	aliases []string
}

// catColumns are in OpenSearch's order, with its aliases.
var catColumns = []catColumn{
	{"health", []string{"h"}},
	{"status", []string{"s"}},
	{"index", []string{"i", "idx"}},
	{"uuid", []string{"id"}},
	{"pri", []string{"p", "shards.primary", "shardsPrimary"}},
	{"rep", []string{"r", "shards.replica", "shardsReplica"}},
	{"docs.count", []string{"dc", "docsCount"}},
	{"docs.deleted", []string{"dd", "docsDeleted"}},
	{"store.size", []string{"ss", "storeSize"}},
	{"pri.store.size", nil},
}

// catCell has no text if the index cannot be opened.
type catCell struct {
	text   string
	number int64 // of a count or a size in bytes
}

func catNumber(n int) catCell { return catCell{fmt.Sprint(n), int64(n)} }

// catChosen are columns of an answer, with their places in catColumns.
type catChosen struct {
	places []int
	names  []string // as the request has them
}

func catIndices(r *request) (answer, *Error) {
	chosen, err := r.catChosen()
	if err != nil {
		return answer{}, err
	}
	order, err := r.catOrder()
	if err != nil {
		return answer{}, err
	}
	all, err := r.list()
	if err != nil {
		return answer{}, err
	}
	rows := make([][]catCell, len(all))
	for i, x := range all {
		rows[i] = []catCell{{text: healthOf(x)}, {text: "open"}, {text: x.name}, {text: x.meta().UUID}, catNumber(1), catNumber(x.meta().Replicas), {}, {}, {}, {}}
		if x.err != nil {
			continue
		}
		s, err := x.ix.Stats()
		if err != nil {
			return answer{}, r.h.explain(r.Context(), x, err)
		}
		size := catCell{sizeText(s.SizeBytes), s.SizeBytes}
		copy(rows[i][6:], []catCell{catNumber(s.NumDocs), catNumber(s.DeletedDocs), size, size})
	}
	base.SortStable(rows, order)
	texts := make([][]string, len(rows))
	for i, row := range rows {
		for _, place := range chosen.places {
			texts[i] = append(texts[i], row[place].text)
		}
	}
	return r.catAnswer(chosen.names, texts)
}

func (r *request) catAnswer(names []string, rows [][]string) (answer, *Error) {
	verbose, err := r.boolean("v", false)
	if err != nil {
		return answer{}, err
	}
	switch format := r.values.Get("format"); format {
	case "json":
		out := []map[string]string{}
		for _, row := range rows {
			object := map[string]string{}
			for i, name := range names {
				object[name] = row[i]
			}
			out = append(out, object)
		}
		return ok(out)
	case "", "text":
		if err := r.whole(); err != nil {
			return answer{}, err
		}
	default:
		return answer{}, illegal("format [%s] is not supported: there are text and json", format)
	}
	if verbose {
		rows = append([][]string{names}, rows...)
	}
	return answer{status: http.StatusOK, text: table(rows)}, nil
}

// catPlaces returns the columns of a name or alias, or of a pattern with *.
func catPlaces(name string) (places []int, err *Error) {
	for i, c := range catColumns {
		matched, _ := path.Match(name, c.name) // a malformed pattern matches nothing
		if c.name == name || slices.Contains(c.aliases, name) || matched && strings.Contains(name, "*") {
			places = append(places, i)
		}
	}
	if len(places) > 0 {
		return places, nil
	}
	var names []string
	for _, c := range catColumns {
		names = append(names, c.name)
	}
	return nil, illegal("unknown column [%s]: there are [%s]", name, strings.Join(names, ", "))
}

// catChosen reads the parameter h.
func (r *request) catChosen() (chosen catChosen, err *Error) {
	list := "*"
	if r.values.Has("h") {
		list = r.values.Get("h")
	}
	for name := range strings.SplitSeq(list, ",") {
		name = strings.TrimSpace(name)
		places, err := catPlaces(name)
		if err != nil {
			return chosen, err
		}
		for _, place := range places {
			shown := name
			if strings.Contains(name, "*") {
				shown = catColumns[place].name
			}
			chosen.places, chosen.names = append(chosen.places, place), append(chosen.names, shown)
		}
	}
	return chosen, nil
}

// catOrder reads the parameter s: columns, each with :asc or :desc.
func (r *request) catOrder() (compare func(a, b []catCell) int, err *Error) {
	type key struct{ place, sign int }
	var keys []key
	for text := range strings.SplitSeq(r.values.Get("s"), ",") {
		if text = strings.TrimSpace(text); text == "" && !r.values.Has("s") {
			break
		}
		name, direction, _ := strings.Cut(text, ":")
		sign := 1
		switch direction {
		case "", "asc":
		case "desc":
			sign = -1
		default:
			return nil, illegal("[s] has the order [%s] of column [%s], not asc or desc", direction, name)
		}
		places, err := catPlaces(name)
		if err != nil {
			return nil, err
		}
		for _, place := range places {
			keys = append(keys, key{place, sign})
		}
	}
	return func(a, b []catCell) int {
		for _, k := range keys {
			x, y := a[k.place], b[k.place]
			order := cmp.Compare(x.number, y.number)
			if order == 0 { // of texts, numbers are 0
				order = strings.Compare(x.text, y.text)
			}
			if order != 0 {
				return k.sign * order
			}
		}
		return 0
	}, nil
}

// table pads columns.
func table(rows [][]string) string {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], len(cell))
		}
	}
	var b strings.Builder
	for _, row := range rows {
		line := ""
		for i, cell := range row {
			line += fmt.Sprintf("%-*s ", widths[i], cell)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

// sizeText is as in OpenSearch: 208b, 3.2kb, 1.5mb.
func sizeText(bytes int64) string {
	size, unit := float64(bytes), 0
	units := []string{"b", "kb", "mb", "gb", "tb"}
	for size >= 1024 && unit < len(units)-1 {
		size /= 1024
		unit++
	}
	if unit == 0 {
		return fmt.Sprintf("%db", bytes)
	}
	return fmt.Sprintf("%.1f%s", size, units[unit])
}
