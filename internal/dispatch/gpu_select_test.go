package dispatch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// place orders documents: class first, then v.
type place struct {
	class int
	v     int64
}

func (p place) compare(o place) int {
	return cmp.Or(cmp.Compare(p.class, o.class), cmp.Compare(p.v, o.v))
}

// placeOf returns the place of a document, or of a value if it has one.
func (o *FieldOrder) placeOf(v int64, ok bool) place {
	switch {
	case !ok && o.NoneFirst:
		return place{class: -1}
	case !ok:
		return place{class: 1}
	case o.Desc:
		v = ^v
	}
	return place{v: v}
}

// The documents that a GPU selects by a field are the best of all matches, for filters of 0.1 to 99 % and none, in segments with
// deleted documents, for AND, OR and AND+OR, in both directions, with ties, and after a place.
func TestSelectByField(t *testing.T) {
	rng := rand.New(rand.NewPCG(111, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 3000, 2))
	for _, c := range []struct {
		name string
		open func(t *testing.T) *GPU
	}{
		{"one", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
		{"two ranges", func(t *testing.T) *GPU {
			return testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newGPUPair(t, snapshot, c.open(t))
			selected := 0
			rounds := sampletest.Rounds(12, 600)
			for range rounds {
				node := plantest.Words(rng, 1+rng.IntN(3))
				if share := []int{0, 1, 10, 100, 500, 900, 990}[rng.IntN(7)]; share > 0 {
					from := rng.IntN(1001 - share)
					node = &query.Boolean{Clauses: []query.Clause{
						{Occur: query.Must, Node: node},
						{Occur: query.Filter, Node: &query.Range{Field: "n", From: fmt.Sprint(from), To: fmt.Sprint(from + share - 1)}},
					}}
				}
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[rng.IntN(3)], K: 10}
				by := FieldOrder{
					Field: []string{"n", "kind", "day"}[rng.IntN(3)], K: []int{1, 10, 100}[rng.IntN(3)],
					Desc: rng.IntN(2) == 0, NoneFirst: rng.IntN(2) == 0, Ties: rng.IntN(2) == 0,
				}
				if rng.IntN(2) == 0 {
					by.After = &FieldAfter{
						None: rng.IntN(8) == 0, Number: int64(rng.IntN(1100)) - 50, Term: fmt.Appendf(nil, "k%d", rng.IntN(60)), Inclusive: by.Ties,
					}
					if by.Field == "day" {
						by.After.Number *= 10 * 365 * 86_400_000 / 1000
					}
				}
				q, err := p.gpu.Prepare(p.sc, node, o)
				if err != nil {
					t.Fatal(err)
				}
				got, refusal, err := SelectByField(t.Context(), q, p.sc, by)
				if err != nil {
					t.Fatal(err)
				}
				if got == nil {
					if refusal != cpuNothing && refusal != cpuTree {
						t.Fatalf("%s, %+v: %s", node, by, refusal)
					}
					continue
				}
				selected++
				checkSelected(t, p, node, o, by, got)
			}
			if selected < rounds*3/4 {
				t.Errorf("%d of %d queries were answered by the GPU", selected, rounds)
			}
		})
	}
}

// checkSelected compares the selected documents with a sort of all matches.
func checkSelected(t *testing.T, p *gpuPair, node query.Node, o Options, by FieldOrder, got *Selected) {
	t.Helper()
	q, err := p.cpu.Prepare(p.sc, node, o)
	if err != nil {
		t.Fatal(err)
	}
	matches, atAfter := int64(0), 0
	err = q.Matches(t.Context(), &p.sc.Scratch, func(segment int, words []uint64) error {
		column, _, err := q.Snapshot().Segments[segment].Column(by.Field)
		if err != nil {
			return err
		}
		var after *place
		if by.After != nil {
			v := by.After.Number
			if by.Field == "kind" && !by.After.None {
				ord, found, err := column.Lookup(by.After.Term)
				if err != nil {
					return err
				}
				if v = 2 * ord; !found {
					v--
				}
			}
			at := by.placeOf(v, !by.After.None)
			after = &at
		}
		cursor := column.Cursor()
		places := map[base.DocID]place{}
		var docs []base.DocID
		for i := range q.Snapshot().Segments[segment].NumDocs() {
			if words[i/64]>>(i%64)&1 == 0 {
				continue
			}
			matches++
			v, ok, err := cursor.Value(base.DocID(i))
			if err != nil {
				return err
			}
			if by.Field == "kind" {
				v *= 2
			}
			at := by.placeOf(v, ok)
			if after != nil {
				c := at.compare(*after)
				if c == 0 && by.After.Inclusive {
					atAfter++
				}
				if c < 0 || c == 0 && !by.After.Inclusive {
					continue
				}
			}
			places[base.DocID(i)] = at
			docs = append(docs, base.DocID(i))
		}
		slices.SortFunc(docs, func(a, b base.DocID) int { return cmp.Or(places[a].compare(places[b]), cmp.Compare(a, b)) })
		n := min(by.K, len(docs))
		for by.Ties && n > 0 && n < len(docs) && places[docs[n]] == places[docs[n-1]] {
			n++
		}
		for _, d := range docs[:n] {
			if _, found := slices.BinarySearch(got.Segments[segment], d); !found {
				t.Fatalf("%s, %+v, segment %d: document %d is missing among %d", node, by, segment, d, len(got.Segments[segment]))
			}
		}
		for _, d := range got.Segments[segment] {
			if !slices.Contains(docs, d) {
				t.Fatalf("%s, %+v, segment %d: document %d is no match, or before the place", node, by, segment, d)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Matches != matches || got.AtAfter > atAfter || by.K > atAfter && got.AtAfter < atAfter {
		t.Fatalf("%s, %+v: %d matches, %d at the place; want %d, %d", node, by, got.Matches, got.AtAfter, matches, atAfter)
	}
}

// The count of documents at a place ends at the maximum of a GPU, or with the context.
func TestCountAtAfter(t *testing.T) {
	snapshot := indextest.Snapshot(t, facetIndex(t, rand.New(rand.NewPCG(112, 1)), 100, 1))
	c, _, err := snapshot.Segments[0].Column("n")
	if err != nil {
		t.Fatal(err)
	}
	doc := base.DocID(0)
	v, ok, err := c.Cursor().Value(doc)
	for ; !ok && err == nil; v, ok, err = c.Cursor().Value(doc) {
		doc++
	}
	if err != nil {
		t.Fatal(err)
	}
	s := selecting{after: []pipeline.After{{Value: v}}, found: []bool{true}}
	s.columns = []pipeline.Ordinals{{Column: c}}
	ctx, cancel := context.WithCancel(t.Context())
	for n, want := range map[int]int{3: 3, 2 * pipeline.MaxK: pipeline.MaxK + 1} {
		s.docs = [][]base.DocID{slices.Repeat([]base.DocID{doc}, n)}
		if err := s.countAtAfter(ctx); err != nil || s.atAfter != want {
			t.Errorf("%d documents: %d, %v, want %d", n, s.atAfter, err, want)
		}
	}
	cancel()
	if err := s.countAtAfter(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
