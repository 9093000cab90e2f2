package aggregate

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/mapping"
)

const testMapping = `{"properties": {
	"tag": {"type": "keyword"}, "color": {"type": "keyword"}, "address": {"type": "ip"},
	"size": {"type": "long"}, "price": {"type": "double"}, "weight": {"type": "float"},
	"sold": {"type": "boolean"}, "made": {"type": "date"}, "empty": {"type": "long"},
	"place": {"type": "geo_point"}, "body": {"type": "text"}, "bare": {"type": "keyword", "doc_values": false}
}}`

func newTestMapping(tb testing.TB) *mapping.Mapping {
	tb.Helper()
	m, err := mapping.Parse([]byte(testMapping))
	if err != nil {
		tb.Fatal(err)
	}
	return m
}

// testDoc is a document: the texts of its values by field.
type testDoc struct {
	number int
	live   bool
	values map[string][]string
}

// randomDocs makes documents with values that often repeat.
func randomDocs(r *rand.Rand, n int) []testDoc {
	docs := make([]testDoc, n)
	terms := 1 + r.IntN(40)
	spread := int64(1) << r.IntN(40)
	for i := range docs {
		d := testDoc{number: i, live: r.IntN(8) > 0, values: map[string][]string{}}
		add := func(field string, most int, value func() string) {
			for range r.IntN(most + 1) {
				d.values[field] = append(d.values[field], value())
			}
		}
		add("tag", 3, func() string { return fmt.Sprintf("t%d", r.IntN(terms)) })
		add("color", 1, func() string { return []string{"red", "green", "blue", "", "ünï\"code\n"}[r.IntN(5)] })
		add("address", 2, func() string { return fmt.Sprintf("10.0.%d.%d", r.IntN(2), r.IntN(4)) })
		add("size", 2, func() string { return fmt.Sprint(r.Int64N(2*spread) - spread) })
		add("price", 2, func() string { return fmt.Sprint((r.Float64() - 0.3) * []float64{1, 100, 1e12, 1e-9}[r.IntN(4)]) })
		add("weight", 1, func() string { return fmt.Sprint(float32(r.IntN(200)) / 8) })
		add("sold", 1, func() string { return fmt.Sprint(r.IntN(2) == 0) })
		add("made", 2, func() string { return fmt.Sprint(1_600_000_000_000 + r.Int64N(spread+1)) })
		docs[i] = d
	}
	return docs
}

// testIndex spreads documents over segments.
func testIndex(tb testing.TB, m *mapping.Mapping, segments [][]testDoc) *Index {
	tb.Helper()
	ix := &Index{Field: m.Field, Now: time.UnixMilli(1_700_000_000_000)}
	for _, docs := range segments {
		set := testColumns(tb, m, docs)
		s := Segment{NumDocs: len(docs), Live: make([]uint64, (len(docs)+63)/64)}
		for i, d := range docs {
			if d.live {
				s.Live[i/64] |= 1 << (i % 64)
			}
		}
		s.Column = func(field string) (*column.Column, error) {
			c, _ := set.Column(field)
			return c, nil
		}
		ix.Segments = append(ix.Segments, s)
	}
	ix.Filter = func(_ context.Context, query json.RawMessage) ([][]uint64, error) {
		keep, err := testQuery(query)
		if err != nil {
			return nil, err
		}
		return bitmaps(segments, func(d *testDoc) bool { return d.live && keep(d) }), nil
	}
	return ix
}

func testColumns(tb testing.TB, m *mapping.Mapping, docs []testDoc) *column.Set {
	tb.Helper()
	check := func(err error) {
		if err != nil {
			tb.Helper()
			tb.Fatal(err)
		}
	}
	var out bytes.Buffer
	w := column.NewWriter(&out, len(docs), column.Temp{})
	fields := slices.Clone(m.Fields())
	slices.SortFunc(fields, func(a, b mapping.Field) int { return cmp.Compare(a.Name, b.Name) })
	for i := range fields {
		f := &fields[i]
		switch {
		case f.HasOrdinals():
			o, err := w.Ordinals(f.Name)
			check(err)
			for at, d := range docs {
				var terms [][]byte
				for _, v := range d.values[f.Name] {
					b, _, err := f.Bytes(v)
					check(err)
					terms = append(terms, b)
				}
				if len(terms) > 0 {
					check(o.Add(base.DocID(at), terms))
				}
			}
			check(o.Close())
		case f.HasNumbers():
			n, err := w.Numbers(f.Name)
			check(err)
			for at, d := range docs {
				var numbers []int64
				for _, v := range d.values[f.Name] {
					x, err := f.Number(v)
					check(err)
					numbers = append(numbers, x)
				}
				if len(numbers) > 0 {
					check(n.Add(base.DocID(at), numbers))
				}
			}
			check(n.Close())
		}
	}
	check(w.Close())
	set, err := column.Open(column.Memory(out.Bytes()), len(docs))
	check(err)
	return set
}

// bitmaps returns the documents that f accepts, one bitmap a segment.
func bitmaps(segments [][]testDoc, f func(d *testDoc) bool) [][]uint64 {
	out := make([][]uint64, len(segments))
	for i, docs := range segments {
		out[i] = make([]uint64, (len(docs)+63)/64)
		for j := range docs {
			if f(&docs[j]) {
				out[i][j/64] |= 1 << (j % 64)
			}
		}
	}
	return out
}

// testQuery reads {"term": {field: text}} and {"match_all": {}}.
func testQuery(query json.RawMessage) (func(d *testDoc) bool, error) {
	var q struct {
		Term map[string]string `json:"term"`
		All  *struct{}         `json:"match_all"`
	}
	if err := json.Unmarshal(query, &q); err != nil || q.Term == nil && q.All == nil {
		return nil, fmt.Errorf("query %s: %w", query, base.ErrBadInput)
	}
	return func(d *testDoc) bool {
		for field, text := range q.Term {
			if !slices.Contains(d.values[field], text) {
				return false
			}
		}
		return true
	}, nil
}

// cut spreads documents over segments at random, in order.
func cut(r *rand.Rand, docs []testDoc, n int) [][]testDoc {
	ends := []int{len(docs)}
	for range n - 1 {
		ends = append(ends, r.IntN(len(docs)+1))
	}
	slices.Sort(ends)
	var out [][]testDoc
	from := 0
	for _, end := range ends {
		out = append(out, docs[from:end])
		from = end
	}
	return out
}

func answer(tb testing.TB, ix *Index, request string, matches [][]uint64) (string, error) {
	tb.Helper()
	requests, err := Parse([]byte(request))
	if err != nil {
		return "", err
	}
	results, err := Run(context.Background(), ix, requests, matches, Limits{})
	if err != nil {
		return "", err
	}
	return string(AppendJSON(nil, results, false, nil)), nil
}
