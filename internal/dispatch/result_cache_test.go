package dispatch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// shuffled reorders the clauses of groups, which keeps the meaning.
func shuffled(rng *rand.Rand, n query.Node) query.Node {
	b, ok := n.(*query.Boolean)
	if !ok {
		return n
	}
	other := &query.Boolean{Boost: b.Boost, AtLeast: b.AtLeast}
	for _, i := range rng.Perm(len(b.Clauses)) {
		other.Clauses = append(other.Clauses, query.Clause{Occur: b.Clauses[i].Occur, Node: shuffled(rng, b.Clauses[i].Node)})
	}
	return other
}

// checkCached compares a Searcher with a cache to one without, and reports whether the answer
// was cached.
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
	wantSought := want.Sought(false)
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
	if sought := p.Sought(false); !slices.Equal(sought.Terms, wantSought.Terms) || !slices.Equal(p.Notes(), want.Notes()) {
		t.Fatalf("%s, %+v: sought %+v, want %+v", q, o, sought, wantSought)
	}
	return got.Cached
}

// Cached answers are right before and after commits that add, delete and merge.
func TestResultCacheAgreement(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	ix := plantest.RandomIndex(t, rng, 300, 2, true)
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	sc := testScratch(t, "whitespace")
	for _, limit := range []int64{1 << 20, 40 << 10} {
		c := resultcache.New(limit)
		hits := 0
		for commit := range 5 {
			snapshot := indextest.Snapshot(t, ix)
			cached, plain := NewSearcher(snapshot, nil), NewSearcher(snapshot, nil)
			cached.UseResults(c)
			var asked []query.Node
			for range 120 {
				q := plantest.RandomNode(rng, 3)
				if len(asked) > 0 && rng.IntN(2) == 0 {
					q = shuffled(rng, asked[rng.IntN(len(asked))])
				}
				asked = append(asked, q)
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[rng.IntN(3)], K: 1 + rng.IntN(3)*7, Count: rng.IntN(4) == 0}
				if checkCached(t, cached, plain, sc, q, o) {
					hits++
				}
			}
			if s := c.Stats(); s.SizeBytes > limit {
				t.Fatalf("%d bytes, more than %d", s.SizeBytes, limit)
			}
			for range 20 {
				if err := w.Add(&corpus.Document{ID: fmt.Sprint(rng.IntN(400)), Text: plantest.RandomWords(rng, 40)}); err != nil {
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
	ix := plantest.RandomIndex(t, rng, 200, 2, true)
	sc := testScratch(t, "whitespace")
	c := resultcache.New(1 << 20)
	for round := range 2 {
		o := index.ImpactOptions{}
		if round == 1 {
			o.Ranking = impact.RankingATIRE
		}
		if _, err := ix.BuildImpacts(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		snapshot := indextest.Snapshot(t, ix)
		cached, plain := NewSearcher(snapshot, nil), NewSearcher(snapshot, nil)
		cached.UseResults(c)
		q := &query.Words{Text: "w0 w1 w2", Boost: 1}
		for i, want := range []bool{false, true} {
			if got := checkCached(t, cached, plain, sc, q, Options{Mode: plan.ModeSaat, K: 10}); got != want {
				t.Errorf("lists %d, query %d: cached=%t", round, i, got)
			}
		}
	}
}

func TestResultKeys(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	docs := []corpus.Document{{ID: "1", Title: "Cat", Text: "cats and dogs run in the rain of 2009"}}
	snapshot := indextest.Snapshot(t, englishIndex(t, docs))
	s := NewSearcher(snapshot, nil)
	s.UseResults(resultcache.New(1 << 20))
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
			if key(plantest.Parse(t, text), Options{}) != key(plantest.Parse(t, same[0]), Options{}) {
				t.Errorf("%s and %s have different keys", text, same[0])
			}
		}
	}
	seen := map[string]string{}
	for _, text := range []string{
		"cat", "dog", "cat dog", "+cat dog", "cat +dog", "+cat +dog", "cat -dog", "dog -cat", `"cat dog"`, `"dog cat"`, `"cat the dog"`,
		"title:cat", "cat^2", "cat^2 dog", "cat dog^2", "catdog", "cat (+dog rain)", "cat dog rain", "", "the", "cat (dog -rain)",
		"ca*", "title:ca*", "cat*", "c?t", "/ca./", "/ca.t/", "cat~1", "cat~2", `"cat dog"~1`, `"cat dog"~2`, `"cat do"*`, "cat^=1", "cat^=2", "[a TO b]",
		"[a TO b}", "{a TO b]", "[a TO c]", "_exists_:title", "*:*", "*:*^2", "_id:a", "_id:b", "(cat dog rain)~2", "+cat +dog^=0", "+cat -do*",
	} {
		k := key(plantest.Parse(t, text), Options{})
		if other, is := seen[k]; is && (text != "the" || other != "") {
			t.Errorf("%q and %q have the same key", text, other)
		}
		seen[k] = text
	}
	for _, o := range []Options{{Mode: plan.ModeAnd}, {Mode: plan.ModeAndOr}, {K: 11}, {Count: true}} {
		if key(plantest.Parse(t, "cat dog"), o) == key(plantest.Parse(t, "cat dog"), Options{}) {
			t.Errorf("%+v has the key of the defaults", o)
		}
	}
	for _, o := range []Options{
		{Traversal: "maxscore"},
		{CPU: true},
		{Mode: plan.ModeSaat, Accumulators: "hash"},
		{Mode: plan.ModeSaat, Budget: saat.Budget{Time: time.Second}},
		{Mode: plan.ModeSaat, Budget: saat.Budget{Postings: 5}},
	} {
		if o.Cached = true; o.cacheable() {
			t.Errorf("%+v may be cached", o)
		}
	}
	for range 200 {
		q := plantest.RandomNode(rng, 3)
		if key(q, Options{}) != key(shuffled(rng, q), Options{}) {
			t.Fatalf("the clauses of %s in another order have another key", q)
		}
	}
}

func englishIndex(t testing.TB, docs []corpus.Document) *index.Index {
	t.Helper()
	return indextest.Write(t, index.Options{Analyzer: "english", Positions: true}, func(w *indextest.Writer) {
		for i := range docs {
			w.Add(&docs[i])
		}
	})
}

// Every answer belongs to its own snapshot.
func TestResultCacheConcurrent(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 1))
	ix := plantest.RandomIndex(t, rng, 200, 1, false)
	c := resultcache.New(64 << 10)
	var queries []query.Node
	for range 12 {
		queries = append(queries, plantest.RandomNode(rng, 2))
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
		if err := errors.Join(w.Add(&corpus.Document{ID: fmt.Sprint("n", i), Text: plantest.RandomWords(rng, 30)}), w.Commit(t.Context())); err != nil {
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

func TestResultCacheDoesNotAllocate(t *testing.T) {
	if sampletest.Race || invariant.Enabled {
		t.Skip("under the race detector pools allocate; so do the arguments of the invariants' messages")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	s := NewSearcher(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 3, true)), nil)
	s.UseResults(resultcache.New(1 << 20))
	sc := testScratch(t, "whitespace")
	q := &query.Words{Text: "w0 w1 w2", Boost: 1}
	dst := make([]base.Hit, 0, 10)
	var p Query
	run := func() {
		if err := s.PrepareInto(&p, sc, q, Options{Mode: plan.ModeAndOr, K: 10, Cached: true}); err != nil {
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

func TestCachedQueryOnlyRuns(t *testing.T) {
	s := NewSearcher(indextest.Snapshot(t, englishIndex(t, []corpus.Document{{ID: "1", Text: "cat"}})), nil)
	s.UseResults(resultcache.New(1 << 20))
	sc := testScratch(t, "english")
	p, err := s.Prepare(sc, plantest.Parse(t, "cat"), Options{K: 10, Cached: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("explain: %v", err)
	}
	if _, err := p.RunTraced(t.Context(), sc, nil, &plan.Trace{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("trace: %v", err)
	}
	answers := make([]plan.Answer, 1)
	for range 2 {
		if err := s.dispatcher.SearchPrepared(t.Context(), []*Query{p}, new(BatchScratch), answers); err != nil || len(answers[0].Hits) != 1 || answers[0].Cached {
			t.Errorf("batch: %+v, %v: want a hit that is not cached", answers[0], err)
		}
	}
	if _, err := p.Run(t.Context(), sc, nil); err != nil {
		t.Fatal(err)
	}
	if err := s.PrepareInto(p, sc, plantest.Parse(t, "cat"), Options{K: 10, Cached: true}); err != nil {
		t.Fatal(err)
	}
	if err := s.dispatcher.SearchPrepared(t.Context(), []*Query{p}, new(BatchScratch), answers); err != nil || len(answers[0].Hits) != 1 || !answers[0].Cached {
		t.Errorf("batch: %+v, %v: want a cached hit", answers[0], err)
	}
}
