package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

// A GPU computes the bitmaps of filters by one value of a keyword or a number, and by consecutive numbers, from columns.
func TestGPUTermFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(99, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 1000, 1))
	g := testGPU(t, pipeline.Options{})
	g.rangeDocs = 1
	p := newGPUPair(t, snapshot, g)
	words := plantest.Words(rng, 2)
	filters := []query.Node{
		&query.Term{Field: "kind", Text: "k7", Exact: true},
		&query.Term{Field: "kind", Text: "k12", Exact: true},
		&query.Term{Field: "kind", Text: "absent", Exact: true},
		&query.Terms{Field: "n", Values: []string{"77"}},
		&query.Terms{Field: "n", Values: []string{"500", "501", "502"}},
		&query.Terms{Field: "n", Values: []string{"10", "12", "900"}}, // gaps: the CPU computes it
		&query.Term{Field: "tags", Text: "t9", Exact: true},           // several values of a document: likewise
	}
	columns := []int64{2, 2, 2, 4, 4, 4, 4} // of two segments
	for i, f := range filters {
		node := &query.Boolean{Clauses: []query.Clause{{Occur: query.Must, Node: words}, {Occur: query.Filter, Node: f}}}
		p.check(t, node, Options{K: 100, Count: true})
		if s := g.Stats().Devices[0]; s.Columns != columns[i] {
			t.Errorf("%s: %d columns, want %d", f, s.Columns, columns[i])
		}
	}
}

// The columns that the GPU has of former segments are uploaded of new ones before queries need them.
func TestGPUPreparesColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(100, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 1000, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, snapshot, g)
	segments, err := g.segmentsOf(snapshot, false)
	if err != nil || len(segments) != 2 {
		t.Fatal(err, len(segments))
	}
	attach := func(s []pipeline.Segment) *pipeline.View {
		v, err := g.replicas[0].engine.Attach(s)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(v.Release)
		return v
	}
	q := mustPrepare(t, p.gpu, p.sc, plantest.Words(rng, 2))
	all := tallying{query: q, sc: p.sc, fields: []string{"kind", "tags"}}
	if refusal, err := all.prepare((*pipeline.Ordinals).Counts); refusal != "" || err != nil {
		t.Fatal(refusal, err)
	}
	whole := q.gpu.stages[0]
	first := pipeline.Query{K: 1, Legs: whole.Legs[:whole.NumTerms], NumTerms: whole.NumTerms}
	former := attach(segments[:1])
	one := &pipeline.Tally{Query: &first, Columns: all.columns[:2], NumColumns: 2}
	if err := former.Tally(t.Context(), one, nil); err != nil || one.Err != nil {
		t.Fatal(err, one.Err)
	}
	next := attach(segments)
	before := g.Stats().Devices[0].Columns
	lists, err := next.Prepare(t.Context(), former)
	if err != nil || lists == 0 {
		t.Errorf("%d lists: %v", lists, err)
	}
	if after := g.Stats().Devices[0].Columns; before != 2 || after != 4 {
		t.Errorf("%d columns before, %d after, want 2 and 4", before, after)
	}
	sent := g.Stats().Devices[0].BytesUploaded
	both := &pipeline.Tally{Query: &whole, Columns: all.columns, NumColumns: 2}
	if !next.HasTally(both) {
		t.Error("a count needs lists or columns that were not prepared")
	}
	if err := next.Tally(t.Context(), both, nil); err != nil || both.Err != nil || g.Stats().Devices[0].BytesUploaded != sent {
		t.Errorf("%v, %v, %d bytes were sent", err, both.Err, g.Stats().Devices[0].BytesUploaded-sent)
	}
	want := countsOnCPU(t, p.cpu, p.sc, q.Query(), Options{K: 10}, all.fields)
	for i := range both.Segments {
		if got := both.Segments[i]; fmt.Sprint(got.Counts, got.Missing) != fmt.Sprint(want.Segments[i].Counts, want.Segments[i].Missing) {
			t.Errorf("segment %d: other counts than on the CPU", i)
		}
	}
}

// Lists come before columns. After an error of a column the others are brought all the same, but not after the context's.
func TestGPUPreparesAfterColumnError(t *testing.T) {
	rng := rand.New(rand.NewPCG(101, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 1000, 2)) // three segments
	const call = "cuMemcpyHtoDAsync_v2"
	prepare := func(ctx context.Context, fields []string, failing int) (lists int, columns int64, copies int, err error) {
		var faults cuda.Faults
		g := testGPU(t, pipeline.Options{Faults: &faults})
		p := newGPUPair(t, snapshot, g)
		segments, err := g.segmentsOf(snapshot, false)
		if err != nil || len(segments) != 3 {
			t.Fatal(err, len(segments))
		}
		all := tallying{query: mustPrepare(t, p.gpu, p.sc, plantest.Words(rand.New(rand.NewPCG(101, 2)), 2)), sc: p.sc, fields: fields}
		if refusal, err := all.prepare((*pipeline.Ordinals).Counts); refusal != "" || err != nil {
			t.Fatal(refusal, err)
		}
		whole := all.query.gpu.stages[0]
		former, err := g.replicas[0].engine.Attach(segments[:1])
		if err != nil {
			t.Fatal(err)
		}
		defer former.Release()
		one := &pipeline.Tally{
			Query: &pipeline.Query{K: 1, Legs: whole.Legs[:whole.NumTerms], NumTerms: whole.NumTerms}, Columns: all.columns[:len(fields)], NumColumns: len(fields),
		}
		if err := former.Tally(t.Context(), one, nil); err != nil || one.Err != nil {
			t.Fatal(err, one.Err)
		}
		next, err := g.replicas[0].engine.Attach(segments)
		if err != nil {
			t.Fatal(err)
		}
		defer next.Release()
		before, had := faults.Calls()[call], g.Stats().Devices[0].Columns
		if failing > 0 {
			faults.Fail(call, failing, cuda.OutOfMemory)
		}
		lists, err = next.Prepare(ctx, former)
		return lists, g.Stats().Devices[0].Columns - had, faults.Calls()[call] - before, err
	}
	lists, columns, copies, err := prepare(t.Context(), nil, 0)
	if err != nil || lists == 0 || columns != 0 || copies == 0 {
		t.Fatalf("%d lists, %d columns, %d copies: %v", lists, columns, copies, err)
	}
	fields := []string{"kind", "tags"}
	for failing := 1; failing <= 2; failing++ {
		got, columns, _, err := prepare(t.Context(), fields, copies+failing)
		if !errors.Is(err, cuda.ErrOutOfMemory) || got != lists || columns != 3 {
			t.Errorf("copy %d of a column fails: %d lists, want %d; %d columns, want 3 of 4: %v", failing, got, lists, columns, err)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if lists, columns, _, err := prepare(ended, fields, 0); !errors.Is(err, context.Canceled) || lists+int(columns) != 0 {
		t.Errorf("after the end of the context: %d lists, %d columns: %v", lists, columns, err)
	}
}
