package server

import (
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// selection is a filter of the page.
type selection struct {
	Text string // as in the address
	Node query.Node
	// Field is the one field that it is about; "": another query.
	Field string
	// Values are the texts of which one must be a value of Field; or Range is set.
	Values []string
	Range  *query.Range
}

// newSelection reads a filter. One that the page has not made has no Field.
func newSelection(text string, node query.Node) selection {
	s := selection{Text: text, Node: node}
	if r, ok := node.(*query.Range); ok {
		s.Field, s.Range = r.Field, r
		return s
	}
	field, values, ok := valuesOf(node)
	if ok && field != "" {
		s.Field, s.Values = field, values
	}
	return s
}

// valuesOf returns the values of a field of which a query requires one.
func valuesOf(node query.Node) (field string, values []string, ok bool) {
	switch n := node.(type) {
	case *query.Term:
		return n.Field, []string{n.Text}, n.Boost == 0 || n.Boost == 1
	case *query.Phrase:
		return n.Field, []string{n.Text}, (n.Boost == 0 || n.Boost == 1) && n.Slop == 0 && !n.Prefix
	case *query.Boolean:
		for i, c := range n.Clauses {
			f, one, ok := valuesOf(c.Node)
			if !ok || c.Occur != query.Should || i > 0 && f != field {
				return "", nil, false
			}
			field, values = f, append(values, one...)
		}
		return field, values, len(values) > 0
	default:
		return "", nil, false
	}
}

// filterText is a filter that requires one of the values.
func filterText(field string, values []string) string {
	parts := make([]string, len(values))
	for i, v := range values {
		parts[i] = (&query.Phrase{Field: field, Text: v}).String()
	}
	return strings.Join(parts, " OR ")
}

// rangeText is a filter from a value to another, which is excluded if open; "" is no bound.
func rangeText(field, from, to string, open bool) string {
	return (&query.Range{Field: field, From: from, To: to, ExcludeTo: open && to != ""}).String()
}

// toggled are the filters with a value of a field, or without it if they have it.
func toggled(all []selection, field, value string) []string {
	var texts []string
	found := false
	for i := range all {
		s := &all[i]
		if found || s.Field != field || s.Range != nil {
			texts = append(texts, s.Text)
			continue
		}
		found = true
		values := slices.Clone(s.Values)
		if at := slices.Index(values, value); at >= 0 {
			values = slices.Delete(values, at, at+1)
		} else {
			values = append(values, value)
		}
		if len(values) > 0 {
			texts = append(texts, filterText(field, values))
		}
	}
	if !found {
		texts = append(texts, filterText(field, []string{value}))
	}
	return texts
}

// withRange are the filters with a range of a field in the place of another one.
func withRange(all []selection, field, text string) []string {
	var texts []string
	for i := range all {
		if all[i].Field != field || all[i].Range == nil {
			texts = append(texts, all[i].Text)
		}
	}
	return append(texts, text)
}

// without are the filters but one.
func without(all []selection, i int) []string {
	var texts []string
	for j := range all {
		if j != i {
			texts = append(texts, all[j].Text)
		}
	}
	return texts
}

// chip is an active filter as the page shows it.
type chip struct {
	Field, Text string
	Remove      string // the address without it
}

// chips of the active filters.
func chips(req searchRequest, all []selection, types map[string]string) []chip {
	var out []chip
	for i := range all {
		s := &all[i]
		switch {
		case s.Range != nil:
			out = append(out, chip{s.Field, rangeLabel(types[s.Field], s.Range), req.with(without(all, i)).page()})
		case s.Field != "":
			for _, v := range s.Values {
				out = append(out, chip{s.Field, v, req.with(toggled(all[i:i+1], s.Field, v), without(all, i)...).page()})
			}
		default:
			out = append(out, chip{"", s.Text, req.with(without(all, i)).page()})
		}
	}
	return out
}

// with returns the request with other filters, on the first page.
func (r searchRequest) with(filters []string, more ...string) searchRequest {
	r.Filters, r.Offset = append(slices.Clone(more), filters...), 0
	return r
}

func (r searchRequest) page() string { return address("/", r) }

// rangeLabel is a range for people.
func rangeLabel(kind string, r *query.Range) string {
	from, to, below := r.From, r.To, r.ExcludeTo
	if kind == "date" {
		from, to, below = days(r)
	} else {
		from, to = formatNumber(from), formatNumber(to)
	}
	switch {
	case from == "" && to == "":
		return "any"
	case to == "" && r.ExcludeFrom:
		return "above " + from
	case to == "":
		return "from " + from
	case from == "" && below:
		return "below " + to
	case from == "":
		return "up to " + to
	case below:
		return from + " to below " + to
	default:
		return from + " to " + to
	}
}

// shortDate leaves out a time of midnight.
func shortDate(text string) string {
	return strings.TrimSuffix(text, "T00:00:00.000Z")
}

// days are the bounds of a range of dates, with the last day if it ends before midnight.
func days(r *query.Range) (from, to string, below bool) {
	from, to = shortDate(r.From), shortDate(r.To)
	if day, err := time.Parse(time.DateOnly, to); err == nil && r.ExcludeTo {
		return from, day.AddDate(0, 0, -1).Format(time.DateOnly), false
	}
	return from, to, r.ExcludeTo
}

// columnTypes are the types of fields by name.
func columnTypes(columns []griffin.ColumnStats) map[string]string {
	types := make(map[string]string, len(columns))
	for i := range columns {
		types[columns[i].Name] = columns[i].Type
	}
	return types
}
