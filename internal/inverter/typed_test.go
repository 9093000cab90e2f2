package inverter

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

const typedMapping = `{"properties": {
	"title": {"type": "text", "fields": {"keyword": {"type": "keyword", "ignore_above": 12}}},
	"tags": {"type": "keyword", "copy_to": ["all", "size"], "fields": {"words": {"type": "text"}}},
	"all": {"type": "text", "fields": {"k": {"type": "keyword"}}},
	"size": {"type": "long", "fields": {"text": {"type": "keyword", "doc_values": false}}},
	"price": {"type": "double", "doc_values": false},
	"sold": {"type": "boolean"},
	"made": {"type": "date"},
	"host": {"type": "ip"},
	"at": {"type": "geo_point"},
	"hidden": {"type": "text", "index": false},
	"plain": {"type": "text", "analyzer": "whitespace"},
	"silent": {"type": "long", "index": false, "doc_values": false}
}}`

func typedSchema(t testing.TB, positions bool) *Schema {
	t.Helper()
	m, err := mapping.Parse([]byte(typedMapping))
	if err != nil {
		t.Fatal(err)
	}
	return &Schema{Analyzer: "simple", Fields: append([]string{""}, m.TermFields()...), Positions: positions, Mapping: m}
}

// randomTyped returns documents that fit typedMapping.
func randomTyped(seed uint64, n int) []corpus.Document {
	rng := rand.New(rand.NewPCG(seed, 1))
	words := func(most int) string {
		var b []string
		for range 1 + rng.IntN(most) {
			b = append(b, []string{"red", "Blue", "GREEN", "ink-pot", "x"}[rng.IntN(5)])
		}
		return strings.Join(b, " ")
	}
	number := func() string { return strconv.Itoa(rng.IntN(40) - 20) }
	values := map[string]func() string{
		"title": func() string { return words(4) }, "tags": number, "all": func() string { return words(3) }, "size": number,
		"price": func() string { return number() + ".5" }, "sold": func() string { return strconv.FormatBool(rng.IntN(2) == 0) },
		"made": func() string { return fmt.Sprint(1960 + rng.IntN(80)) }, "host": func() string { return fmt.Sprintf("10.0.0.%d", rng.IntN(9)) },
		"at": func() string { return number() + "," + number() }, "hidden": func() string { return words(3) },
		"plain": func() string { return words(3) }, "silent": number, "unknown": func() string { return words(2) },
	}
	names := []string{"title", "tags", "all", "size", "price", "sold", "made", "host", "at", "hidden", "plain", "silent", "unknown"}
	docs := make([]corpus.Document, n)
	for i := range docs {
		d := &docs[i]
		d.ID, d.Text = fmt.Sprint(i), words(5)
		if rng.IntN(2) == 0 {
			d.Title = words(4)
		}
		for range rng.IntN(12) {
			name := names[rng.IntN(len(names))]
			d.Extra = append(d.Extra, corpus.Field{Name: name, Value: values[name]()})
		}
		if rng.IntN(4) == 0 {
			d.Declared = 1 + rng.IntN(17)
		}
	}
	return docs
}

// typedOracle has the terms and values of a document in a field, computed by a plain reading of the mapping.
type typedOracle struct {
	terms   map[string]bool
	length  uint32
	numbers []int64
	texts   []string
}

func typedWant(t testing.TB, s *Schema, d *corpus.Document, place int) (w typedOracle) {
	t.Helper()
	fields := s.Mapping.Fields()
	f := &fields[place]
	values := slices.Clone(d.Extra)
	if d.Title != "" {
		values = append([]corpus.Field{{Name: TitleField, Value: d.Title}}, values...)
	}
	w.terms = map[string]bool{}
	for _, v := range values {
		for since := range fields {
			source := &fields[since]
			own := since == place && source.Of == "" || f.Of == source.Name && source.Of == ""
			copied := slices.ContainsFunc(source.CopyTo, func(name string) bool { return name == f.Name || name == f.Of })
			if source.Name != v.Name || !own && !copied || d.Declared != 0 && 1+max(since, place) >= d.Declared {
				continue
			}
			w.add(t, s, f, v.Value)
		}
	}
	slices.Sort(w.numbers)
	slices.Sort(w.texts)
	w.texts = slices.Compact(w.texts)
	return w
}

func (w *typedOracle) add(t testing.TB, s *Schema, f *mapping.Field, value string) {
	t.Helper()
	switch {
	case f.Type == mapping.Text:
		name := s.Analyzer
		if f.Analyzer != "" {
			name = f.Analyzer
		}
		a, err := analysis.New(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, token := range a.Tokens(nil, []byte(value)) {
			w.terms[string(token.Term)] = true
			w.length++
		}
	case f.Type.Numeric():
		n, err := f.Number(value)
		if err != nil {
			t.Fatal(err)
		}
		w.numbers = append(w.numbers, n)
	default:
		b, ok, err := f.Bytes(value)
		if err != nil {
			t.Fatal(err)
		}
		if ok {
			w.terms[string(b)], w.length = true, 1
			w.texts = append(w.texts, string(b))
		}
	}
}

// Lists, lengths and columns are as from plain reading, also for documents that were written before a
// field was declared.
func TestTypedAgainstOracle(t *testing.T) {
	docs := randomTyped(7, 150)
	for _, positions := range []bool{false, true} {
		for _, most := range []int{1, 60, 150} {
			for _, spilled := range []bool{false, true} {
				s := typedSchema(t, positions)
				partials := invertAll(t, docs, s, most, spilled)
				first := 0
				for _, r := range partials {
					checkTyped(t, s, docs[first:first+r.numDocs], r)
					first += r.numDocs
					if err := r.columns.close(); err != nil {
						t.Error(err)
					}
				}
			}
		}
	}
}

func checkTyped(t *testing.T, s *Schema, docs []corpus.Document, r *partial) {
	t.Helper()
	lists := map[string]map[string][]uint32{} // by field, term
	it, err := r.Lists()
	if err != nil {
		t.Fatal(err)
	}
	for it.Next() {
		name := s.Fields[it.Field()]
		if lists[name] == nil {
			lists[name] = map[string][]uint32{}
		}
		var b segment.PostingBlock
		for {
			if err := it.ReadBlock(&b); err != nil {
				t.Fatal(err)
			}
			if b.N == 0 {
				break
			}
			lists[name][string(it.Term())] = append(lists[name][string(it.Term())], b.DocIDs[:b.N]...)
		}
	}
	if it.Err() != nil {
		t.Fatal(it.Err())
	}
	for place := range s.Mapping.Fields() {
		f := &s.Mapping.Fields()[place]
		want := map[string][]uint32{}
		lengths := make([]uint32, len(docs))
		found := false
		for doc := range docs {
			w := typedWant(t, s, &docs[doc], place)
			for term := range w.terms {
				want[term] = append(want[term], uint32(doc))
			}
			lengths[doc] = w.length
			found = found || w.length > 0
		}
		checkColumn(t, s, docs, r, place)
		id := slices.Index(s.Fields, f.Name)
		if !f.HasTerms() {
			if id >= 0 {
				t.Fatalf("field %s has lists", f.Name)
			}
			continue
		}
		got := lists[f.Name]
		if got == nil {
			got = map[string][]uint32{}
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("field %s: lists %v, want %v", f.Name, got, want)
		}
		if l := r.Lengths(base.FieldID(id)); found != (l != nil) || found && !slices.Equal(l, lengths) {
			t.Fatalf("field %s: lengths %d, want %d", f.Name, l, lengths)
		}
	}
}

func checkColumn(t *testing.T, s *Schema, docs []corpus.Document, r *partial, place int) {
	t.Helper()
	f := &s.Mapping.Fields()[place]
	set, err := r.Columns()
	if err != nil {
		t.Fatal(err)
	}
	var c *column.Column
	if set != nil {
		c, _ = set.Column(f.Name)
	}
	for doc := range docs {
		w := typedWant(t, s, &docs[doc], place)
		var got []int64
		if c != nil {
			if got, err = c.Cursor().Values(base.DocID(doc)); err != nil {
				t.Fatal(err)
			}
		}
		switch {
		case f.HasNumbers():
			if !slices.Equal(got, w.numbers) {
				t.Fatalf("field %s: document %d has %d, want %d", f.Name, doc, got, w.numbers)
			}
		case f.HasOrdinals():
			var texts []string
			for _, ord := range got {
				term, err := c.Term(ord)
				if err != nil {
					t.Fatal(err)
				}
				texts = append(texts, string(term))
			}
			if !slices.Equal(texts, w.texts) {
				t.Fatalf("field %s: document %d has %q, want %q", f.Name, doc, texts, w.texts)
			}
		case c != nil:
			t.Fatalf("field %s has a column", f.Name)
		}
	}
}

// A value that does not fit refuses the document, without a trace.
func TestTypedValuesThatDoNotFit(t *testing.T) {
	s := typedSchema(t, true)
	a, err := analysis.New(s.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	v := newInverter(s, a, vfs.OS, &tempNames{dir: t.TempDir()})
	for _, c := range []struct{ name, value, field string }{
		{"size", "big", "size"},
		{"tags", "many", "size"},
		{"price", "1,5", "price"},
		{"sold", "yes", "sold"},
		{"made", "yesterday", "made"},
		{"host", "localhost", "host"},
		{"at", "91,0", "at"},
		{"silent", "x", "silent"},
		{"at.lat", "1", "at"},
	} {
		d := corpus.Document{ID: "7", Text: "text", Extra: []corpus.Field{{Name: "plain", Value: "a"}, {Name: c.name, Value: c.value}}}
		err := v.add(&d)
		var e *mapping.ValueError
		if !errors.Is(err, base.ErrBadInput) || !errors.As(err, &e) || e.Field != c.field || e.Value != c.value || !strings.HasPrefix(err.Error(), `document "7": field "`) {
			t.Errorf("%s: %q: %v", c.name, c.value, err)
		}
		if e := s.Check(&d); e == nil || e.Error() != err.Error() {
			t.Errorf("Check: %v, want %v", e, err)
		}
	}
	if v.numDocs() != 0 || v.fields[1].numTokens != 0 {
		t.Errorf("%d documents were added", v.numDocs())
	}
	title := corpus.Document{ID: "7", Title: strings.Repeat("x", mapping.MaxKeywordBytes+1)}
	m, err := mapping.Parse([]byte(`{"properties": {"title": {"type": "keyword"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := (&Schema{Mapping: m}).Check(&title); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a long title: %v", err)
	}
}

// A normal form that is too long refuses the document, as a value that is too long does.
func TestLongNormalForms(t *testing.T) {
	m, err := mapping.Parse([]byte(`{"properties": {"long": {"type": "keyword", "normalizer": "wide"}, "short": {"type": "keyword", "normalizer": "wide", "ignore_above": 100},
		"folded": {"type": "keyword", "normalizer": "folded"}, "lower": {"type": "keyword", "normalizer": "lowercase"}, "from": {"type": "keyword", "copy_to": "long"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	settings, err := analysis.ParseSettings([]byte(`{"char_filter": {"x": {"type": "mapping", "mappings": ["x => `+strings.Repeat("y", 1000)+`"]}},
		"normalizer": {"wide": {"char_filter": "x"}, "folded": {"filter": "icu_normalizer"}}}`), nil)
	if err != nil {
		t.Fatal(err)
	}
	s := &Schema{Analyzer: "simple", Analysis: settings, Fields: append([]string{""}, m.TermFields()...), Mapping: m}
	a, err := analysis.New(s.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	v := newInverter(s, a, vfs.OS, &tempNames{dir: t.TempDir()})
	for _, c := range []struct{ name, value, field string }{
		{"long", strings.Repeat("x", 32), ""},
		{"long", strings.Repeat("x", 33), "long"},
		{"from", strings.Repeat("x", 33), "long"},
		{"short", strings.Repeat("x", 101), ""},
		{"short", strings.Repeat("x", 100), "short"},
		{"folded", strings.Repeat("\ufdfa", 900), ""},
		{"folded", strings.Repeat("\ufdfa", 2000), "folded"}, // 3 bytes become 33
		{"lower", strings.Repeat("\u023a", mapping.MaxKeywordBytes/3), ""},
		{"lower", strings.Repeat("\u023a", mapping.MaxKeywordBytes/3+1), "lower"}, // 2 bytes become 3
	} {
		d := corpus.Document{ID: "7", Extra: []corpus.Field{{Name: c.name, Value: c.value}}}
		err := s.Check(&d)
		var e *mapping.ValueError
		if c.field == "" {
			if err != nil {
				t.Errorf("%s of %d bytes: %v", c.name, len(c.value), err)
			}
			continue
		}
		if !errors.As(err, &e) || e.Field != c.field || e.Value != c.value || !strings.Contains(err.Error(), "bytes, at most 32768: set ignore_above") {
			t.Errorf("%s of %d bytes: %v", c.name, len(c.value), err)
		}
		if added := v.add(&d); added == nil || added.Error() != err.Error() {
			t.Errorf("add: %v, want %v", added, err)
		}
		d.Declared = 1 // before the fields were declared
		if err := s.Check(&d); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
	if allocs := testing.AllocsPerRun(10, func() {
		if s.checkNormal("lower", "A keyword", 0) != nil || s.checkNormal("folded", "A keyword", 0) != nil {
			t.Error("a short keyword")
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}
