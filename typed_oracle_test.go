package griffin_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// structured is an index of documents with typed fields, and a copy of its live documents in the order of
// writing, over which plain loops compute the answers.
type structured struct {
	rng               *rand.Rand
	fields            []structuredField
	vectors           []vectorField
	stored, positions bool
	ix                *griffin.Index
	live              []structuredDoc
	numID             int
}

type structuredField struct {
	name, kind string
	few        bool // few different values
	multi      bool // some documents have several
	lower      bool // a keyword that is normalised to lower case; documents and queries have capitals
}

// structuredDoc has the values of a document: float64 of numbers, dates (milliseconds) and booleans, which doubles
// hold exactly here, and strings of keywords.
type structuredDoc struct {
	id      string
	words   []string
	values  map[string][]any
	texts   map[string][]string          // words of scoredTexts
	vectors map[string]map[string]uint32 // stored weights by field and token
}

var structuredKinds = []string{"long", "integer", "short", "byte", "double", "float", "boolean", "date", "keyword"}

func (f *structuredField) isText() bool { return f.kind == "keyword" }

func (s *structured) value(f *structuredField) any {
	n := s.rng.IntN(1000)
	if f.few {
		n %= 7
	}
	switch f.kind {
	case "byte":
		return float64(n%256 - 128)
	case "short", "integer", "long":
		return float64(n - 300)
	case "double", "float":
		return float64(n-300) / 8
	case "boolean":
		return float64(n % 2)
	case "date":
		return float64(n) * 3_600_000 * 24 * 10
	}
	return fmt.Sprintf("k%03d", n) + strings.Repeat("é", n%3)
}

// text is a value as documents and queries have it.
func (f *structuredField) text(v any) string {
	switch n, _ := v.(float64); {
	case f.isText() && f.lower:
		return strings.ToUpper(v.(string))
	case f.isText():
		return v.(string)
	case f.kind == "boolean":
		return strconv.FormatBool(n != 0)
	case f.kind == "date":
		return time.UnixMilli(int64(n)).UTC().Format("2006-01-02T15:04:05.000Z")
	default:
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
}

func newStructured(t *testing.T, seed uint64) *structured {
	t.Helper()
	s := &structured{rng: rand.New(rand.NewPCG(seed, 19))}
	properties := map[string]any{}
	for i := range 2 + s.rng.IntN(5) {
		f := structuredField{name: fmt.Sprintf("f%d", i), kind: structuredKinds[s.rng.IntN(len(structuredKinds))], few: s.rng.IntN(2) == 0, multi: s.rng.IntN(3) == 0}
		if s.rng.IntN(4) == 0 {
			f.name = "deep." + f.name
		}
		declared := map[string]any{"type": f.kind}
		if f.isText() && s.rng.IntN(3) == 0 {
			f.lower, declared["normalizer"] = true, "lowercase"
		}
		s.fields = append(s.fields, f)
		properties[f.name] = declared
	}
	s.declareScored(properties)
	text, err := json.Marshal(map[string]any{"properties": properties})
	if err != nil {
		t.Fatal(err)
	}
	m, err := griffin.ParseMapping(text)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	s.stored = s.rng.IntN(4) > 0
	s.positions = s.rng.IntN(4) > 0
	settings := griffin.Settings{Analyzer: "simple", Mapping: m, NoStored: !s.stored, NoPositions: !s.positions}
	if s.ix, err = griffin.Create(filepath.Join(t.TempDir(), "ix"), settings, griffin.Options{}); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return s
}

func (s *structured) document() (d griffin.Document, doc structuredDoc) {
	doc = structuredDoc{id: fmt.Sprint(s.numID), values: map[string][]any{}}
	if len(s.live) > 0 && s.rng.IntN(5) == 0 {
		doc.id = s.live[s.rng.IntN(len(s.live))].id
	} else {
		s.numID++
	}
	for range s.rng.IntN(5) {
		doc.words = append(doc.words, fmt.Sprintf("w%d", int(s.rng.ExpFloat64()*3)))
	}
	d = griffin.Document{ID: doc.id, Text: strings.Join(doc.words, " ")}
	s.addScored(&d, &doc)
	for i := range s.fields {
		f := &s.fields[i]
		n := 1
		switch {
		case s.rng.IntN(4) == 0:
			n = 0
		case f.multi:
			n = 1 + s.rng.IntN(3)
		}
		for range n {
			v := s.value(f)
			doc.values[f.name] = append(doc.values[f.name], v)
			d.Fields = append(d.Fields, griffin.Field{Name: f.name, Value: f.text(v)})
		}
	}
	return d, doc
}

func (s *structured) remove(id string) {
	s.live = slices.DeleteFunc(s.live, func(d structuredDoc) bool { return d.id == id })
}

// grow writes documents in several commits, with replaced and deleted ones, merges and reordering.
func (s *structured) grow(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for range 1 + s.rng.IntN(4) {
		for range 1 + s.rng.IntN(150) {
			d, doc := s.document()
			if err := s.ix.Add(ctx, d); err != nil {
				t.Fatal(err)
			}
			s.remove(doc.id)
			s.live = append(s.live, doc)
			if s.rng.IntN(10) == 0 {
				id := s.live[s.rng.IntN(len(s.live))].id
				if err := s.ix.Delete(ctx, id); err != nil {
					t.Fatal(err)
				}
				s.remove(id)
			}
		}
		if err := s.ix.Commit(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if s.rng.IntN(3) == 0 {
		o := griffin.MergeOptions{Segments: 1 + s.rng.IntN(2)}
		if s.rng.IntN(2) == 0 {
			o.Reorder = griffin.ReorderBP
		}
		if _, err := s.ix.Merge(ctx, o); err != nil {
			t.Fatal(err)
		}
	}
}

// condition is a query and the loop that selects the matching documents.
type condition struct {
	node  query.Node
	match func(d *structuredDoc) bool
}

func (s *structured) condition(depth int) condition {
	f := &s.fields[s.rng.IntN(len(s.fields))]
	switch n := s.rng.IntN(8); {
	case depth > 0 && n < 3:
		return s.group(depth - 1)
	case n == 3:
		word := fmt.Sprintf("w%d", s.rng.IntN(8))
		return condition{&query.Term{Text: word}, func(d *structuredDoc) bool { return slices.Contains(d.words, word) }}
	case n == 4:
		return condition{&query.Exists{Field: f.name}, func(d *structuredDoc) bool { return len(d.values[f.name]) > 0 }}
	case n == 5:
		return s.terms(f)
	case n == 7 && len(s.vectors) > 0 && s.rng.IntN(3) == 0:
		name := s.vectors[s.rng.IntN(len(s.vectors))].name
		return condition{&query.Exists{Field: name}, func(d *structuredDoc) bool { return len(d.vectors[name]) > 0 }}
	case n == 6 && f.isText():
		prefix := s.value(f).(string)
		prefix = prefix[:1+s.rng.IntN(4)]
		return condition{&query.Prefix{Field: f.name, Text: f.text(prefix), Exact: true}, func(d *structuredDoc) bool {
			return slices.ContainsFunc(d.values[f.name], func(v any) bool { return strings.HasPrefix(v.(string), prefix) })
		}}
	}
	return s.rangeOf(f)
}

func (s *structured) terms(f *structuredField) condition {
	var values []any
	var texts []string
	for range 1 + s.rng.IntN(4) {
		v := s.value(f)
		values, texts = append(values, v), append(texts, f.text(v))
	}
	return condition{&query.Terms{Field: f.name, Values: texts}, func(d *structuredDoc) bool {
		return slices.ContainsFunc(d.values[f.name], func(v any) bool { return slices.Contains(values, v) })
	}}
}

func compareValues(a, b any) int {
	if x, ok := a.(string); ok {
		return strings.Compare(x, b.(string))
	}
	return cmp.Compare(a.(float64), b.(float64))
}

func (s *structured) rangeOf(f *structuredField) condition {
	from, to := s.value(f), s.value(f)
	if compareValues(from, to) > 0 && s.rng.IntN(10) > 0 {
		from, to = to, from
	}
	r := &query.Range{Field: f.name, From: f.text(from), To: f.text(to), ExcludeFrom: s.rng.IntN(2) == 0, ExcludeTo: s.rng.IntN(2) == 0}
	open := s.rng.IntN(6)
	switch open {
	case 0:
		r.From, r.ExcludeFrom = "", false
	case 1:
		r.To, r.ExcludeTo = "", false
	}
	return condition{r, func(d *structuredDoc) bool {
		return slices.ContainsFunc(d.values[f.name], func(v any) bool {
			above, below := compareValues(v, from), compareValues(v, to)
			return (open == 0 || above > 0 || above == 0 && !r.ExcludeFrom) && (open == 1 || below < 0 || below == 0 && !r.ExcludeTo)
		})
	}}
}

// group is a Boolean of conditions in all roles.
func (s *structured) group(depth int) condition {
	b := &query.Boolean{}
	var required, optional, excluded []condition
	for range 1 + s.rng.IntN(4) {
		c := s.condition(depth)
		occur := []query.Occur{query.Must, query.Should, query.MustNot, query.Filter}[s.rng.IntN(4)]
		b.Clauses = append(b.Clauses, query.Clause{Occur: occur, Node: c.node})
		switch occur {
		case query.Should:
			optional = append(optional, c)
		case query.MustNot:
			excluded = append(excluded, c)
		default:
			required = append(required, c)
		}
	}
	return condition{b, func(d *structuredDoc) bool {
		matches := func(c condition) bool { return c.match(d) }
		misses := func(c condition) bool { return !c.match(d) }
		switch {
		case slices.ContainsFunc(required, misses), slices.ContainsFunc(excluded, matches), len(required)+len(optional) == 0:
			return false
		}
		return len(required) > 0 || slices.ContainsFunc(optional, matches)
	}}
}

// sortKey is one of a Sort, with the loop.
type sortKey struct {
	field         *structuredField
	down, isFirst bool // documents without a value are first
}

func (k *sortKey) request() any {
	order, missing := "asc", "_last"
	if k.down {
		order = "desc"
	}
	if k.isFirst {
		missing = "_first"
	}
	return map[string]any{k.field.name: map[string]any{"order": order, "missing": missing}}
}

func (k *sortKey) compare(a, b *structuredDoc) int {
	x, y := a.values[k.field.name], b.values[k.field.name]
	if len(x) == 0 || len(y) == 0 {
		c := cmp.Compare(len(y), len(x)) // without: after
		if len(x) == len(y) {
			return 0
		}
		c = max(-1, min(1, c))
		if k.isFirst {
			return -c
		}
		return c
	}
	if k.down { // the greatest counts
		return -compareValues(slices.MaxFunc(x, compareValues), slices.MaxFunc(y, compareValues))
	}
	return compareValues(slices.MinFunc(x, compareValues), slices.MinFunc(y, compareValues))
}

// search compares a random search with the loops.
func (s *structured) search(t *testing.T) {
	t.Helper()
	c, filter := s.condition(2), condition{match: func(*structuredDoc) bool { return true }}
	q := griffin.Query{Node: c.node, K: 1 + s.rng.IntN(30), Count: true, Load: griffin.LoadIDs}
	if s.rng.IntN(2) == 0 {
		filter = s.condition(1)
		q.Filter = filter.node
	}
	var want []*structuredDoc
	for i := range s.live {
		if d := &s.live[i]; c.match(d) && filter.match(d) {
			want = append(want, d)
		}
	}
	matching := slices.Clone(want)
	var keys []sortKey
	for range 1 + s.rng.IntN(2) {
		keys = append(keys, sortKey{&s.fields[s.rng.IntN(len(s.fields))], s.rng.IntN(2) == 0, s.rng.IntN(2) == 0})
	}
	var requests []any
	for i := range keys {
		requests = append(requests, keys[i].request())
	}
	q.Sort = mustJSON(t, requests)
	slices.SortStableFunc(want, func(a, b *structuredDoc) int {
		for i := range keys {
			if c := keys[i].compare(a, b); c != 0 {
				return c
			}
		}
		return 0
	})
	a := s.aggregation(matching)
	q.Aggregations = mustJSON(t, a.request)
	describe := func() string {
		return fmt.Sprintf("query %s, filter %v, sort %s, aggregations %s", c.node, q.Filter, q.Sort, q.Aggregations)
	}
	r, err := s.ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", describe(), err)
	}
	if r.Total.Value != int64(len(want)) || r.Total.Relation != griffin.TotalExact {
		t.Fatalf("%s: total %+v, want %d", describe(), r.Total, len(want))
	}
	for i := range max(len(r.Hits), min(q.K, len(want))) {
		if i >= len(r.Hits) || i >= len(want) || r.Hits[i].ID != want[i].id {
			t.Fatalf("%s: hit %d of %d differs; want %d", describe(), i, len(r.Hits), len(want))
		}
	}
	var got map[string]map[string]any
	if err := json.Unmarshal(mustJSON(t, r.Aggregations), &got); err != nil {
		t.Fatalf("%s: %v", describe(), err)
	}
	if err := a.check(got); err != nil {
		t.Fatalf("%s: %v\n%s", describe(), err, mustJSON(t, r.Aggregations))
	}
}

func mustJSON(t *testing.T, v any) json.RawMessage {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTypedSearches compares filters, sorts, totals, aggregations and suggestions of random queries over random schemas and
// histories with plain loops over the documents. GRIFFIN_QUERIES sets the number of queries.
func TestTypedSearches(t *testing.T) {
	queries, perSchema := 1500, 100
	if n, err := strconv.Atoi(os.Getenv("GRIFFIN_QUERIES")); err == nil {
		queries = n
	}
	for seed := range uint64((queries + perSchema - 1) / perSchema) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			s := newStructured(t, seed)
			for range 3 {
				s.grow(t)
				for range perSchema / 6 {
					s.search(t)
					s.searchScored(t)
					s.suggest(t)
				}
			}
			if err := s.ix.Close(); err != nil {
				t.Fatal(err)
			}
		})
	}
}
