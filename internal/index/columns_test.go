package index

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// withNumbers has the posting lists of an index without a mapping, and columns.
const withNumbers = `{"properties": {"title": {"type": "text"}, "number": {"type": "long"}, "at": {"type": "date"}, "from": {"type": "ip"},
	"real": {"type": "double"}, "yes": {"type": "boolean"}, "where": {"type": "geo_point"}, "kind": {"type": "keyword", "index": false}}}`

const allTypes = `{"properties": {"number": {"type": "long"}, "at": {"type": "date"}, "from": {"type": "ip"}, "real": {"type": "double"},
	"yes": {"type": "boolean"}, "where": {"type": "geo_point"}, "kind": {"type": "keyword"}, "note": {"type": "text"}}}`

// typed adds values that follow from the ids.
func typed(docs []corpus.Document) []corpus.Document {
	docs = slices.Clone(docs)
	for i := range docs {
		h := fnv.New64()
		_, _ = h.Write([]byte(docs[i].ID))
		rng := rand.New(rand.NewPCG(h.Sum64(), 1))
		extra := slices.Clone(docs[i].Extra)
		add := func(name string, most int, value func() string) {
			for range rng.IntN(most + 1) {
				extra = append(extra, corpus.Field{Name: name, Value: value()})
			}
		}
		add("number", 3, func() string { return fmt.Sprint(rng.IntN(100) - 50) })
		add("at", 1, func() string { return fmt.Sprintf("20%02d-03-04", 10+rng.IntN(20)) })
		add("from", 2, func() string { return fmt.Sprintf("10.0.0.%d", rng.IntN(30)) })
		add("real", 1, func() string { return fmt.Sprint(rng.Float64()) })
		add("yes", 1, func() string { return fmt.Sprint(rng.IntN(2) == 0) })
		add("where", 1, func() string { return fmt.Sprintf("%d,%d", rng.IntN(90), rng.IntN(180)) })
		add("kind", 2, func() string { return fmt.Sprintf("kind %d", rng.IntN(9)) })
		docs[i].Extra = extra
	}
	return docs
}

// checkStoredColumns compares the columns of the live documents with their stored fields.
func checkStoredColumns(t *testing.T, ix *Index) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	for i := range s.Segments {
		v := &s.Segments[i]
		for _, f := range s.Options.Mapping.Fields() {
			if f.HasNumbers() || f.HasOrdinals() {
				checkStoredColumn(t, v, &f)
			}
		}
	}
}

func checkStoredColumn(t *testing.T, v *View, f *mapping.Field) {
	t.Helper()
	c, found, err := v.Column(f.Name)
	check(t, err)
	var stored segment.StoredDoc
	for doc := range base.DocID(v.NumDocs()) {
		if v.Live != nil && !v.Live.Has(int(doc)) {
			continue
		}
		check(t, v.Stored(doc, &stored))
		var want, got []string
		for _, e := range stored.Extra {
			if string(e.Name) != f.Name {
				continue
			}
			if f.HasNumbers() {
				n, err := f.Number(string(e.Value))
				check(t, err)
				want = append(want, fmt.Sprint(n))
				continue
			}
			b, ok, err := f.Bytes(string(e.Value))
			check(t, err)
			if ok {
				want = append(want, string(b))
			}
		}
		slices.Sort(want)
		if f.HasOrdinals() {
			want = slices.Compact(want)
		}
		if found {
			values, err := c.Cursor().Values(doc)
			check(t, err)
			for _, n := range values {
				if f.HasNumbers() {
					got = append(got, fmt.Sprint(n))
					continue
				}
				term, err := c.Term(n)
				check(t, err)
				got = append(got, string(term))
			}
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("segment %s, document %d: column %q has %q, want %q", v.Name, doc, f.Name, got, want)
		}
	}
}

// Columns follow documents through commits, deletions, merges and reordering, and are as in an index
// of the live documents.
func TestColumnsOfHistories(t *testing.T) {
	t.Parallel()
	opts := Options{Positions: true, Mapping: parsed(t, allTypes)}
	ix, live := scattered(t, vfstest.NewMem(), opts, typed(randomDocs(77, sampletest.UnderRace(500, 150), true)))
	defer ix.Close()
	for i, o := range []MergeOptions{{MaxSegments: 100}, {MaxSegments: 2, Reorder: ReorderBP}, {}} {
		if o.MaxSegments != 100 {
			_, err := ix.Merge(t.Context(), o)
			check(t, err)
			remove := live[i : i+3]
			check(t, commitChange(t.Context(), ix, remove, nil))
			live = slices.Delete(live, i, i+3)
		}
		verify(t, ix)
		checkStoredColumns(t, ix)
		if c := rebuildAndCompare(t, ix, 0); len(c.Differences) > 0 || c.Docs != int64(len(live)) {
			t.Fatalf("after %+v: %d documents of %d, differences %+v", o, c.Docs, len(live), c.Differences)
		}
	}
}
