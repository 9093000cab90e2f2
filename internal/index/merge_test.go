package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func mergeOptions() map[string]Options {
	return map[string]Options{
		"defaults":           {},
		"positions":          {Positions: true, Fields: []string{"title", "author"}},
		"nothing stored":     {NoStored: true},
		"other codec":        {Codec: "pef", Positions: true},
		"learned weights":    {WeightScale: 10},
		"only default field": {Fields: []string{}},
	}
}

func mergeDocs(opts Options, seed uint64, n int) []corpus.Document {
	docs := randomDocs(seed, n, true)
	if opts.Weighted() {
		for i := range docs {
			docs[i].Vector = []corpus.TermWeight{{Term: fmt.Sprintf("t%d", i%7), Weight: float64(i%50) / 10}, {Term: fmt.Sprintf("u%d", i%90), Weight: 2}}
		}
	}
	return docs
}

// docs in several commits, some replaced and deleted; the live ones are returned in order.
func scattered(t testing.TB, fs *vfstest.Mem, opts Options, docs []corpus.Document) (*Index, []corpus.Document) {
	t.Helper()
	ix := create(t, fs, opts)
	var m model
	parts := [][]corpus.Document{docs[:len(docs)/2], docs[len(docs)/2 : len(docs)*3/4], docs[len(docs)*3/4 : len(docs)*9/10], docs[len(docs)*9/10:]}
	for i, part := range parts {
		w := newWriter(t, ix)
		addAll(t, w, part)
		for j := range part {
			m.add(part[j])
		}
		if i > 0 {
			id := parts[i-1][3*i].ID
			check(t, w.Delete(id))
			m.delete(id)
			again := parts[0][11*i]
			check(t, w.Add(&again))
			m.add(again)
		}
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
	}
	return ix, slices.Clone(m.pending)
}

func sizeNow(t testing.TB, ix *Index) MergeSize {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	return s.size()
}

// Files and statistics are a new index's.
func TestMerge(t *testing.T) {
	for name, opts := range mergeOptions() {
		t.Run(name, func(t *testing.T) {
			if name != "positions" {
				sampletest.SkipRace(t) // the goroutines are the same
			}
			mem := vfstest.NewMem()
			docs := mergeDocs(opts, 60, 500)
			ix, live := scattered(t, mem, opts, docs)
			before := sizeNow(t, ix)
			if before.Segments < 2 || before.Deleted == 0 {
				t.Fatalf("index %+v, the test needs several segments and deleted documents", before)
			}
			plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true})
			check(t, err)
			if got := sizeNow(t, ix); got != before || !plan.Changed {
				t.Fatalf("after a dry run %+v: index %+v, before %+v", plan, got, before)
			}
			report, err := ix.Merge(t.Context(), MergeOptions{})
			check(t, err)
			verify(t, ix)
			checkClean(t, mem, ix.Dir())
			got := report.After
			if !report.Changed || report.Before != before || got.Segments != 1 || got.Deleted != 0 || got.Docs != before.Docs-before.Deleted {
				t.Fatalf("report %+v, before %+v", report, before)
			}
			if plan.After.Segments != got.Segments || plan.After.Docs != got.Docs || plan.After.SizeBytes <= 0 {
				t.Errorf("dry run predicts %+v, the merge gives %+v", plan.After, got)
			}
			sameAsFresh(t, mem, ix, opts, live)

			report, err = ix.Merge(t.Context(), MergeOptions{})
			check(t, err)
			if report.Changed || sizeNow(t, ix) != got {
				t.Errorf("a second merge changed something: %+v", report)
			}
		})
	}
}

func sameAsFresh(t testing.TB, mem *vfstest.Mem, ix *Index, opts Options, docs []corpus.Document) {
	t.Helper()
	freshFS := vfstest.NewMem()
	fresh := create(t, freshFS, opts)
	w := newWriter(t, fresh)
	addAll(t, w, docs)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	got, err := ix.Snapshot()
	check(t, err)
	defer got.Release()
	want, err := fresh.Snapshot()
	check(t, err)
	defer want.Release()
	if !slices.Equal(got.Fields, want.Fields) || got.NumDocs != want.NumDocs {
		t.Fatalf("statistics %+v of %d documents, want %+v of %d", got.Fields, got.NumDocs, want.Fields, want.NumDocs)
	}
	// Stored documents' blocks have other boundaries, so a dump compares them.
	for _, name := range []string{"terms", "records", "postings", "position", "frontier", "lengths", "ids"} {
		a := mem.Get(filepath.Join(ix.Dir(), got.Segments[0].Name, name))
		b := freshFS.Get(filepath.Join(fresh.Dir(), want.Segments[0].Name, name))
		if !slices.Equal(a, b) || len(b) == 0 && (name != "position" || opts.Positions) {
			t.Errorf("file %s has %d bytes, want the %d of a new index", name, len(a), len(b))
		}
	}
	sameDocs(t, dump(t, ix), dump(t, fresh))
}

// The smallest neighbours are merged, segments with deletions rewritten, the others kept.
func TestMergeToSeveral(t *testing.T) {
	for _, test := range []struct {
		live, max int
		sizes     []int
		want      [][]int
	}{
		{max: 1, sizes: []int{5, 3, 9}, want: [][]int{{0, 1, 2}}},
		{max: 2, sizes: []int{5, 3, 9}, want: [][]int{{0, 1}, {2}}},
		{max: 2, sizes: []int{9, 5, 3, 1}, want: [][]int{{0}, {1, 2, 3}}},
		{max: 3, sizes: []int{5, 3, 9}, want: [][]int{{0}, {1}, {2}}},
		{max: 9, sizes: []int{5, 3, 9}, want: [][]int{{0}, {1}, {2}}},
		{max: 2, sizes: []int{4, 4, 4}, want: [][]int{{0, 1}, {2}}},
		{max: 1, sizes: nil, want: nil},
	} {
		t.Run(fmt.Sprintf("%v to %d", test.sizes, test.max), func(t *testing.T) {
			var groups []mergeGroup
			for i, n := range test.sizes {
				groups = append(groups, mergeGroup{segments: []int{i}, numLive: n})
			}
			groups = joinGroups(groups, test.max, nil)
			var got [][]int
			for _, g := range groups {
				if got = append(got, g.segments); g.rewrite != (len(g.segments) > 1) {
					t.Errorf("group %+v", g)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	t.Run("segments", func(t *testing.T) {
		ix, live := scattered(t, vfstest.NewMem(), Options{}, randomDocs(61, sampletest.UnderRace(4000, 1000), false))
		before := sizeNow(t, ix)
		if before.Segments < 3 {
			t.Fatalf("%d segments, the test needs 3", before.Segments)
		}
		report, err := ix.Merge(t.Context(), MergeOptions{MaxSegments: 2})
		check(t, err)
		if report.After.Segments != 2 || report.After.Deleted != 0 {
			t.Errorf("report %+v", report)
		}
		verify(t, ix)
		sameDocs(t, dump(t, ix), expect(t, live, Options{}))
	})
}

// ReorderBP reorders even a single segment.
func TestMergeReorders(t *testing.T) {
	ix, live := scattered(t, vfstest.NewMem(), Options{}, randomDocs(62, 600, false))
	want := expect(t, live, Options{})
	for range 2 {
		report, err := ix.Merge(t.Context(), MergeOptions{Reorder: ReorderBP})
		check(t, err)
		if !report.Changed || report.After.Segments != 1 {
			t.Fatalf("report %+v", report)
		}
		got := dump(t, ix)
		if slices.EqualFunc(got, want, func(a, b indexedDoc) bool { return a.ID == b.ID }) {
			t.Error("the order did not change")
		}
		sameDocs(t, byID(got), byID(slices.Clone(want)))
	}
	// Without reordering, order and stored documents stay.
	w := newWriter(t, ix)
	check(t, w.Delete(live[9].ID))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	ordered := dump(t, ix)
	_, err := ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	sameDocs(t, dump(t, ix), ordered)
}

// Ranking and codec are the former ones.
func TestMergeImpacts(t *testing.T) {
	mem := vfstest.NewMem()
	ix, _ := scattered(t, mem, Options{}, randomDocs(63, 400, false))
	ranking := impact.Ranking{Name: impact.RankingATIRE, BM25: score.BM25{K1: 1.2, B: 0.3}}
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{Ranking: ranking.Name, BM25: &ranking.BM25, Codec: "raw"})
	check(t, err)
	plan, err := ix.Merge(t.Context(), MergeOptions{DryRun: true})
	check(t, err)
	report, err := ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	if report.Impacts != ImpactsRebuilt || plan.Impacts != ImpactsRebuilt {
		t.Errorf("impacts %d, predicted %d, want them rebuilt", report.Impacts, plan.Impacts)
	}
	verify(t, ix)
	checkClean(t, mem, ix.Dir())
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	sameImpacts(t, s, expectImpacts(t, s, ranking))
	if x, err := s.StoredImpacts(); err != nil || x.Meta().Codec != "raw" {
		t.Errorf("codec %q, %v", x.Meta().Codec, err)
	}
}

// Without live documents, the index becomes empty.
func TestMergeOfNothing(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{})
	if _, err := ix.Merge(t.Context(), MergeOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("merge of an index without a commit: %v", err)
	}
	docs := randomDocs(64, 5, false)
	w := newWriter(t, ix)
	addAll(t, w, docs)
	check(t, w.Commit(t.Context()))
	if _, err := ix.Merge(t.Context(), MergeOptions{}); !errors.Is(err, base.ErrLocked) {
		t.Errorf("merge beside a writer: %v", err)
	}
	check(t, w.Close())
	if _, err := ix.Merge(t.Context(), MergeOptions{MaxSegments: -1}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("merge into -1 segments: %v", err)
	}
	w = newWriter(t, ix)
	for i := range docs {
		check(t, w.Delete(docs[i].ID))
	}
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	_, err := ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	if got := sizeNow(t, ix); got != (MergeSize{}) {
		t.Errorf("size %+v, want none", got)
	}
	verify(t, ix)
}

// The index is unchanged, the merge's files are removed.
func TestMergeCancelled(t *testing.T) {
	mem := vfstest.NewMem()
	ix, live := scattered(t, mem, Options{Positions: true}, randomDocs(65, 800, false))
	_, err := ix.BuildImpacts(t.Context(), ImpactOptions{})
	check(t, err)
	before, names := sizeNow(t, ix), mem.Names()
	cancelled := 0
	for at := 1; ; at += 1 + at/4 {
		ctx, cancel := context.WithCancel(t.Context())
		operations := 0
		faulty := vfstest.NewFaulty(mem, vfstest.Plan{Before: func() {
			if operations++; operations == at {
				cancel()
			}
		}})
		writer, err := Open(faulty, ix.Dir())
		check(t, err)
		_, err = writer.Merge(ctx, MergeOptions{})
		cancel()
		check(t, writer.Close())
		if err == nil {
			break
		}
		cancelled++
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled at operation %d: %v", at, err)
		}
		if got := mem.Names(); !slices.Equal(got, names) {
			t.Fatalf("cancelled at operation %d: files %q, want %q", at, got, names)
		}
	}
	if cancelled < 3 {
		t.Errorf("%d merges were cancelled, want more", cancelled)
	}
	if changed, err := ix.Refresh(); err != nil || !changed || sizeNow(t, ix).Docs != before.Docs-before.Deleted {
		t.Errorf("the last merge: changed %v, %v, %+v", changed, err, sizeNow(t, ix))
	}
	sameDocs(t, dump(t, ix), expect(t, live, Options{Positions: true}))
}

// Snapshots from before stay valid, in all processes.
func TestMergeUnderReaders(t *testing.T) {
	mem := vfstest.NewMem()
	ix, live := scattered(t, mem, Options{}, randomDocs(66, 400, false))
	other, err := Open(mem, ix.Dir())
	check(t, err)
	defer other.Close()
	s, err := ix.Snapshot()
	check(t, err)
	_, err = ix.Merge(t.Context(), MergeOptions{})
	check(t, err)
	check(t, s.Verify(t.Context(), nil))
	s.Release()
	sameDocs(t, dump(t, other), expect(t, live, Options{}))
	changed, err := other.Refresh()
	check(t, err)
	if got := sizeNow(t, other); !changed || got.Segments != 1 {
		t.Errorf("after a refresh: changed %v, %+v", changed, got)
	}
	sameDocs(t, dump(t, other), expect(t, live, Options{}))
}
