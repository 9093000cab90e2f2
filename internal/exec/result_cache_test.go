package exec

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/saat"
)

// shuffled returns a tree that means the same: the clauses of its groups are in another
// order.
func shuffled(rng *rand.Rand, n query.Node) query.Node {
	b, ok := n.(*query.Boolean)
	if !ok {
		return n
	}
	other := &query.Boolean{Boost: b.Boost}
	for _, i := range rng.Perm(len(b.Clauses)) {
		other.Clauses = append(other.Clauses, query.Clause{Occur: b.Clauses[i].Occur, Node: shuffled(rng, b.Clauses[i].Node)})
	}
	return other
}

// checkCached compares the answer of a searcher with a cache with that of one without,
// and tells whether it was cached.
func checkCached(t *testing.T, cached, plain *Searcher, sc *Scratch, q query.Node, o Options) bool {
	t.Helper()
	want, err := plain.Prepare(sc, q, o)
	if err != nil {
		t.Fatal(err)
	}
	wantAnswer, err := want.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	wantSought := want.Sought()
	o.Cached = true
	p, err := cached.Prepare(sc, q, o)
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.Run(t.Context(), sc, nil)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Hits, wantAnswer.Hits) || got.Mode != wantAnswer.Mode || got.Matches != wantAnswer.Matches || got.Missed != wantAnswer.Missed {
		t.Fatalf("%s, %+v: cached=%t %+v, want %+v", q, o, got.Cached, got, wantAnswer)
	}
	if sought := p.Sought(); !slices.Equal(sought.Terms, wantSought.Terms) || !slices.Equal(p.Notes(), want.Notes()) {
		t.Fatalf("%s, %+v: sought %+v, want %+v", q, o, sought, wantSought)
	}
	return got.Cached
}

// Whatever is asked, in whatever order, before and after commits that add, delete and
// merge: a cached answer is the one that a search would give.
func TestResultCacheAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	ix := randomIndex(t, rng, 300, 2, true)
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sc := testScratch(t, "whitespace")
	for _, limit := range []int64{1 << 20, 40 << 10} {
		c := NewResultCache(limit)
		hits := 0
		for commit := range 5 {
			snapshot := testSnapshot(t, ix)
			cached, plain := NewSearcher(snapshot, nil), NewSearcher(snapshot, nil)
			cached.UseResults(c)
			var asked []query.Node
			for range 120 {
				q := randomNode(rng, 3)
				if len(asked) > 0 && rng.IntN(2) == 0 {
					q = shuffled(rng, asked[rng.IntN(len(asked))])
				}
				asked = append(asked, q)
				o := Options{Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[rng.IntN(3)], K: 1 + rng.IntN(3)*7, Count: rng.IntN(4) == 0}
				if checkCached(t, cached, plain, sc, q, o) {
					hits++
				}
			}
			if s := c.Stats(); s.SizeBytes > limit {
				t.Fatalf("%d bytes, more than %d", s.SizeBytes, limit)
			}
			for range 20 {
				if err := w.Add(&corpus.Document{ID: fmt.Sprint(rng.IntN(400)), Text: randomWords(rng, 40)}); err != nil {
					t.Fatal(err)
				}
			}
			if commit%2 == 0 {
				if err := w.Delete(fmt.Sprint(rng.IntN(300))); err != nil {
					t.Fatal(err)
				}
			}
			if err := w.Commit(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		s := c.Stats()
		if hits == 0 || s.Hits != int64(hits) || s.Invalidations == 0 || (s.Evictions > 0) != (limit < 1<<20) {
			t.Errorf("limit %d: %d hits; %+v", limit, hits, s)
		}
	}
}

// New impact-ordered lists of the same commit give other scores.
func TestResultCacheOfImpacts(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 8))
	ix := randomIndex(t, rng, 200, 2, true)
	sc := testScratch(t, "whitespace")
	c := NewResultCache(1 << 20)
	for round := range 2 {
		o := index.ImpactOptions{}
		if round == 1 {
			o.Ranking.Name = impact.RankingATIRE
		}
		if _, err := ix.BuildImpacts(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		snapshot := testSnapshot(t, ix)
		cached, plain := NewSearcher(snapshot, nil), NewSearcher(snapshot, nil)
		cached.UseResults(c)
		q := &query.Words{Text: "w0 w1 w2", Boost: 1}
		for i, want := range []bool{false, true} {
			if got := checkCached(t, cached, plain, sc, q, Options{Mode: ModeSaat, K: 10}); got != want {
				t.Errorf("lists %d, query %d: cached=%t", round, i, got)
			}
		}
	}
}

// What means the same has the same key, what does not has another.
func TestResultKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	docs := []corpus.Document{{ID: "1", Title: "Cat", Text: "cats and dogs run in the rain of 2009"}}
	snapshot := testSnapshot(t, englishIndex(t, docs))
	s := NewSearcher(snapshot, nil)
	s.UseResults(NewResultCache(1 << 20))
	sc := testScratch(t, "english")
	key := func(q query.Node, o Options) string {
		o.Cached = true
		if o.K == 0 {
			o.K = 10
		}
		p, err := s.Prepare(sc, q, o)
		if err != nil {
			t.Fatal(err)
		}
		return string(p.key)
	}
	for _, same := range [][]string{
		{"cat dog", "dog cat", "Cats DOGS", "the cat (dog)", "+(dog cat)", "cat OR dog"},
		{"cat dog cat", "cat^2 dog", "dog cat^2"},
		{"+cat +dog", "dog AND cat", "+(+cat +dog)"},
		{"cat -(dog rain)", "Cat -dog -rain"},
		{`"cats run" dog`, `dog "cat running"`},
		{"title:cat dog", "dog title:CATS"},
	} {
		for _, text := range same[1:] {
			if key(parse(t, text), Options{}) != key(parse(t, same[0]), Options{}) {
				t.Errorf("%s and %s have different keys", text, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		"cat", "dog", "cat dog", "+cat dog", "cat +dog", "+cat +dog", "cat -dog", "dog -cat", `"cat dog"`, `"dog cat"`, `"cat the dog"`,
		"title:cat", "cat^2", "cat^2 dog", "cat dog^2", "catdog", "cat (+dog rain)", "cat dog rain", "", "the", "cat (dog -rain)",
	} {
		k := key(parse(t, text), Options{})
		if other, is := seen[k]; is && (text != "the" || other != "") {
			t.Errorf("%q and %q have the same key", text, other)
		}
		seen[k] = text
	}
	for _, o := range []Options{{Mode: ModeAnd}, {Mode: ModeAndOr}, {K: 11}, {Count: true}} {
		if key(parse(t, "cat dog"), o) == key(parse(t, "cat dog"), Options{}) {
			t.Errorf("%+v has the key of the defaults", o)
		}
	}
	for _, o := range []Options{
		{Traversal: "maxscore"},
		{CPU: true},
		{Mode: ModeSaat, Accumulators: "hash"},
		{Mode: ModeSaat, Budget: saat.Budget{Time: time.Second}},
		{Mode: ModeSaat, Budget: saat.Budget{Postings: 5}},
	} {
		if o.Cached = true; o.cacheable() {
			t.Errorf("%+v may be cached", o)
		}
	}
	for range 200 {
		q := randomNode(rng, 3)
		if key(q, Options{}) != key(shuffled(rng, q), Options{}) {
			t.Fatalf("the clauses of %s in another order have another key", q)
		}
	}
}

// englishIndex makes an index that stems.
func englishIndex(t testing.TB, docs []corpus.Document) *index.Index {
	t.Helper()
	return indextest.Write(t, index.Options{Analyzer: "english", Positions: true}, func(w *indextest.Writer) {
		for i := range docs {
			w.Add(&docs[i])
		}
	})
}

// cachedPlan returns a plan with a key, that is not run.
func cachedPlan(t *testing.T, c *ResultCache) *Plan {
	t.Helper()
	s := NewSearcher(testSnapshot(t, englishIndex(t, []corpus.Document{{ID: "1", Text: "cat"}})), nil)
	s.UseResults(c)
	p, err := s.Prepare(testScratch(t, "english"), parse(t, "cat"), Options{K: 10, Cached: true})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Equal queries that come together run once. If the one that runs is cancelled, fails
// or panics, another of them runs; nobody waits longer than its own context.
func TestResultCacheFlight(t *testing.T) {
	for _, end := range []string{"answer", "cancel", "fail", "panic"} {
		t.Run(end, func(t *testing.T) {
			c := NewResultCache(1 << 20)
			p := cachedPlan(t, c)
			synctest.Test(t, func(t *testing.T) {
				var runs atomic.Int64
				want := []base.Hit{{DocID: 7, Score: 9}}
				leader, cancel := context.WithCancel(t.Context())
				ask := func(ctx context.Context, first bool) (a Answer, err error) {
					defer func() {
						if p := recover(); p != nil {
							err = fmt.Errorf("panic: %v", p)
						}
					}()
					return c.answer(ctx, p, nil, func() (Answer, error) {
						runs.Add(1)
						select {
						case <-time.After(time.Second):
						case <-ctx.Done():
							return Answer{}, ctx.Err()
						}
						switch {
						case first && end == "fail":
							return Answer{}, base.ErrCorrupt
						case first && end == "panic":
							panic("in a search")
						}
						return Answer{Hits: want}, nil
					})
				}
				var wg sync.WaitGroup
				wg.Go(func() {
					if a, err := ask(leader, true); (err == nil) != (end == "answer") || a.Cached {
						t.Errorf("the first: %+v, %v", a, err)
					}
				})
				synctest.Wait()
				for range 20 {
					wg.Go(func() {
						if a, err := ask(t.Context(), false); err != nil || !slices.Equal(a.Hits, want) {
							t.Errorf("%+v, %v", a, err)
						}
					})
				}
				short, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
				defer stop()
				wg.Go(func() {
					if _, err := ask(short, false); !errors.Is(err, context.DeadlineExceeded) {
						t.Errorf("a short wait ends with %v", err)
					}
				})
				time.Sleep(500 * time.Millisecond)
				if end == "cancel" {
					cancel()
				}
				wg.Wait()
				cancel()
				wantRuns := int64(2)
				if end == "answer" {
					wantRuns = 1
				}
				if s := c.Stats(); runs.Load() != wantRuns || s.Entries != 1 || s.Misses != wantRuns || s.Waits < 19 {
					t.Errorf("%d runs, %+v", runs.Load(), s)
				}
			})
		})
	}
}

// A search on an old snapshot that ends after a commit leaves nothing behind, and one
// on the new does not wait for it.
func TestResultCacheAcrossCommits(t *testing.T) {
	c := NewResultCache(1 << 20)
	old := cachedPlan(t, c)
	fresh := cachedPlan(t, c) // of a newer snapshot; the key is the same
	if string(old.key) != string(fresh.key) || old.searcher.snapshot.Serial >= fresh.searcher.snapshot.Serial {
		t.Fatal("the plans are not what this test needs")
	}
	one, two := Answer{Hits: []base.Hit{{DocID: 1}}}, Answer{Hits: []base.Hit{{DocID: 2}}}
	ask := func(p *Plan, a Answer, meanwhile func()) Answer {
		got, err := c.answer(t.Context(), p, nil, func() (Answer, error) {
			if meanwhile != nil {
				meanwhile()
			}
			return a, nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	ask(old, one, func() {
		if got := ask(fresh, two, nil); got.Hits[0].DocID != 2 {
			t.Errorf("the new snapshot got %+v", got)
		}
	})
	if got := ask(fresh, one, nil); got.Hits[0].DocID != 2 || !got.Cached {
		t.Errorf("the new snapshot got %+v the second time", got)
	}
	if got := ask(old, one, nil); got.Hits[0].DocID != 1 || got.Cached {
		t.Errorf("the old snapshot got %+v", got)
	}
}

// Searches and commits at the same time: every answer is that of its own snapshot.
func TestResultCacheConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	ix := randomIndex(t, rng, 200, 1, false)
	c := NewResultCache(64 << 10)
	var queries []query.Node
	for range 12 {
		queries = append(queries, randomNode(rng, 2))
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(g), 1))
			sc, plainScratch := testScratch(t, "whitespace"), testScratch(t, "whitespace")
			for !stop.Load() {
				snapshot, err := ix.Snapshot()
				if err != nil {
					t.Error(err)
					return
				}
				s := NewSearcher(snapshot, nil)
				s.UseResults(c)
				q := queries[rng.IntN(len(queries))]
				a := answer(t, s, sc, q, Options{K: 5, Cached: true})
				if want := answer(t, s, plainScratch, q, Options{K: 5}); !slices.Equal(a.Hits, want.Hits) {
					t.Errorf("%s: cached=%t %v, want %v", q, a.Cached, a.Hits, want.Hits)
					stop.Store(true)
				}
				snapshot.Release()
			}
		})
	}
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	for i := range 10 {
		if err := errors.Join(w.Add(&corpus.Document{ID: fmt.Sprint("n", i), Text: randomWords(rng, 30)}), w.Commit(t.Context())); err != nil {
			t.Fatal(err)
		}
		before := c.Stats().Hits
		waitUntil(t, func() bool { return c.Stats().Hits > before || stop.Load() }, func() string { return "nothing is found in the cache" })
	}
	stop.Store(true)
	wg.Wait()
	if s := c.Stats(); s.Hits == 0 || s.Invalidations == 0 {
		t.Errorf("nothing was tested: %+v", s)
	}
}

func TestResultCacheEdges(t *testing.T) {
	if NewResultCache(0) != nil || NewResultCache(-1) != nil || (*ResultCache)(nil).Stats() != (ResultCacheStats{}) {
		t.Error("a cache without room is one")
	}
	// An answer that is larger than a shard is not kept.
	small := NewResultCache(resultShards * 300)
	p := cachedPlan(t, small)
	for range 2 {
		a, err := small.answer(t.Context(), p, nil, func() (Answer, error) { return Answer{Hits: make([]base.Hit, 1000)}, nil })
		if err != nil || a.Cached || len(a.Hits) != 1000 {
			t.Errorf("%d hits, cached=%t, %v", len(a.Hits), a.Cached, err)
		}
	}
	// Such a plan is for Run.
	sc := testScratch(t, "english")
	if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("explain: %v", err)
	}
	if _, err := p.RunTraced(t.Context(), sc, nil, &Trace{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("trace: %v", err)
	}
	if err := p.searcher.RunBatch(t.Context(), []*Plan{p}, sc, make([]Answer, 1)); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("batch: %v", err)
	}
}

// What the cache says that it takes is about, and not below, what it takes of the heap.
func TestResultCacheMemory(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector has memory of its own in the heap")
	}
	const limit = 8 << 20
	p := *cachedPlan(t, NewResultCache(1))
	for _, hits := range []int{0, 10, 100} {
		before := heapInUse()
		c := NewResultCache(limit)
		c.advance(p.searcher.snapshot.Serial)
		for i := range 60_000 {
			p.key = append(p.key[:0], fmt.Sprintf("a key as long as that of a query of a few words is: %d", i)...)
			if _, err := c.answer(t.Context(), &p, nil, func() (Answer, error) { return Answer{Hits: make([]base.Hit, hits)}, nil }); err != nil {
				t.Fatal(err)
			}
		}
		used, s := heapInUse()-before, c.Stats()
		if s.SizeBytes > limit || s.SizeBytes < limit*9/10 || used > limit*11/10 || used < limit/2 {
			t.Errorf("%d hits: %d entries take %d bytes of the heap, count as %d, of %d", hits, s.Entries, used, s.SizeBytes, limit)
		}
		t.Logf("%d hits: %d bytes of the heap, count as %d", hits, used, s.SizeBytes)
		runtime.KeepAlive(c)
	}
}

// heapInUse returns the size of what lives in the heap.
func heapInUse() int64 {
	for range 3 { // what pools hold goes with the second
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// A query whose answer is there allocates nothing.
func TestResultCacheDoesNotAllocate(t *testing.T) {
	if raceEnabled || invariant.Enabled {
		t.Skip("under the race detector pools allocate; so do the arguments of the invariants' messages")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	s := NewSearcher(testSnapshot(t, randomIndex(t, rng, 600, 3, true)), nil)
	s.UseResults(NewResultCache(1 << 20))
	sc := testScratch(t, "whitespace")
	q := &query.Words{Text: "w0 w1 w2", Boost: 1}
	dst := make([]base.Hit, 0, 10)
	var p Plan
	run := func() {
		if err := s.PrepareInto(&p, sc, q, Options{Mode: ModeAndOr, K: 10, Cached: true}); err != nil {
			t.Fatal(err)
		}
		if _, err := p.Run(t.Context(), sc, dst); err != nil {
			t.Fatal(err)
		}
	}
	run()
	run()
	if n := testing.AllocsPerRun(20, run); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
