package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// eagerCrew shares every query in the smallest ranges.
func eagerCrew(processors, perQuery int) *Crew {
	c := NewCrew(processors, perQuery)
	c.lendable, c.times = int32(processors), crewTimes{perRange: 1, leastRange: 1, alone: 1, warm: 200 * time.Microsecond}
	c.start = helpers.start
	return c
}

// crewIndex has a segment of several ranges, one that is not a whole number of them, and small ones. Many scores
// are equal.
func crewIndex(t testing.TB, rng *rand.Rand, weights, deletes, reorder bool) *index.Snapshot {
	o := index.Options{Analyzer: "whitespace", Positions: true}
	if weights {
		o = index.Options{WeightScale: 4}
	}
	ix := indextest.Write(t, o, func(w *indextest.Writer) {
		id := 0
		for _, n := range []int{sampletest.UnderRace(4, 2)*traverse.RangeDocs - 70, 500, traverse.RangeDocs + 1, 300, 20} {
			for range n {
				d := corpus.Document{ID: fmt.Sprint(id)}
				id++
				if !weights {
					d.Text = plantest.RandomWords(rng, 1+rng.IntN(6))
					w.Add(&d)
					continue
				}
				for _, i := range rng.Perm(12)[:1+rng.IntN(4)] {
					d.Vector = append(d.Vector, corpus.TermWeight{Term: fmt.Sprint("w", i), Weight: float64(1 + rng.IntN(12))})
				}
				w.Add(&d)
			}
			if deletes {
				for range n / 20 {
					w.Delete(rng.IntN(id))
				}
			}
			w.Commit()
		}
	})
	if reorder {
		plantest.Reorder(t, ix)
	}
	snapshot := indextest.Snapshot(t, ix)
	cache := derived.NewCache(64 << 20)
	for i := range snapshot.Segments {
		snapshot.Segments[i].Derived = cache.NewSegment()
	}
	return snapshot
}

func crewNode(t testing.TB, rng *rand.Rand, weights bool) query.Node {
	switch n := 1 + rng.IntN(5); {
	case weights:
		var q query.Weights
		for _, i := range rng.Perm(12)[:n] {
			q.Terms = append(q.Terms, query.TermWeight{Term: fmt.Sprint("w", i), Weight: float64(1 + rng.IntN(4))})
		}
		return &q
	case rng.IntN(3) == 0:
		return plantest.RandomNode(rng, 2)
	case rng.IntN(4) == 0:
		text := plantest.RandomWords(rng, n) + " " + []string{"-w7", "+w2^=0", "+w1^=0 -w5", `"w0 w1"`, `"w1 w0"~2`, "+w1^=1", "+w1", `+w1 -"w0 w2"`}[rng.IntN(8)]
		return plantest.Parse(t, text)
	}
	return plantest.Parse(t, plantest.RandomWords(rng, 1+rng.IntN(5)))
}

// The order of tasks does not matter, although with helpers it is nearly the one of documents.
func TestCrewAnyOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 6))
	for _, weights := range []bool{false, true} {
		snapshot := crewIndex(t, rng, weights, true, false)
		s, sc := New(snapshot, nil), testScratch(t, "whitespace")
		for range 30 {
			q := crewNode(t, rng, weights)
			p, err := s.Prepare(sc, q, Options{Mode: Mode(rng.IntN(2)), K: 1 + rng.IntN(40)})
			if err != nil {
				t.Fatal(err)
			}
			st := &p.stages[0]
			if !st.flat || st.isMasked() {
				continue
			}
			want, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			p.ResetHits(sc)
			r := sc.stage(p, st, t.Context())
			r.crew = eagerCrew(3, 0)
			type part struct {
				segment int
				docs    traverse.Query
			}
			var parts []part
			for i := range snapshot.Segments {
				n := base.DocID(snapshot.Segments[i].NumDocs())
				size := base.DocID(traverse.RangeDocs)
				if legs := st.Legs(i); !traverse.Splits(traverse.Choose(st.kind, legs, p.k, false), legs) {
					size = n
				}
				for from := base.DocID(0); from < n; from += size {
					parts = append(parts, part{i, traverse.Query{From: from, To: min(from+size, n)}})
				}
			}
			rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
			var work Work
			team := newTeam(r.crew, len(parts), 0)
			team.each = true
			if err := r.share(team, &work, func(w *worker, i, _ int) (from, to base.DocID, err error) {
				at := &parts[i]
				view := &snapshot.Segments[at.segment]
				m := maskOf(view)
				err = w.run.traverseRange(at.segment, traverse.Choose(st.kind, st.Legs(at.segment), p.k, false), &m, 0, at.docs.From, at.docs.To, &w.work)
				return view.Base + at.docs.From, view.Base + at.docs.To, err
			}); err != nil {
				t.Fatal(err)
			}
			if got := sc.AppendHits(nil); !slices.Equal(got, want.Hits) {
				t.Fatalf("%s: got %v, want %v", q, got, want.Hits)
			}
		}
	}
}

// With any number of workers, the answer is the one of a single worker.
func TestCrewAnswers(t *testing.T) {
	rounds := sampletest.UnderRace(25, 4)
	if os.Getenv("GRIFFIN_TEST_ALL") != "" {
		rounds = 600
	}
	var shared atomic.Int64
	for i, c := range []struct{ weights, deletes, reorder bool }{{}, {deletes: true}, {weights: true}, {reorder: true, deletes: true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(20, uint64(i)))
			snapshot := crewIndex(t, rng, c.weights, c.deletes, c.reorder)
			sc := testScratch(t, "whitespace")
			alone := New(snapshot, nil)
			for range rounds {
				q := crewNode(t, rng, c.weights)
				crew := eagerCrew(2+rng.IntN(7), 0)
				s := New(snapshot, nil)
				s.Share(crew)
				o := Options{Mode: []Mode{ModeOr, ModeAnd, ModeAndOr}[rng.IntN(3)], K: []int{1, 10, 100, 3000}[rng.IntN(4)], Count: rng.IntN(3) == 0}
				if rng.IntN(2) == 0 && o.Mode == ModeOr {
					o.Traversal = []string{"exhaustive-daat", "block-max-pruning", "block-max-maxscore", "windowed-taat"}[rng.IntN(4)]
				}
				want, got := answer(t, alone, sc, q, o), answer(t, s, sc, q, o)
				if !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches || got.Mode != want.Mode {
					t.Fatalf("%s, %+v: got %d hits, %d matches, want %d, %d\n%v\n%v", q, o, len(got.Hits), got.Matches, len(want.Hits), want.Matches, got.Hits, want.Hits)
				}
				if n := crew.busy.Load(); n != 0 {
					t.Fatalf("%s: %d processors are busy afterwards", q, n)
				}
				shared.Add(crew.Stats().Shared)
			}
		})
	}
	if shared.Load() == 0 {
		t.Error("no query was shared")
	}
}

// Queries that run at the same time have at most the workers of a query each and leave all processors.
func TestCrewLimit(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 9)), false, false, false)
	crew := eagerCrew(3, 2)
	s := New(snapshot, nil)
	s.Share(crew)
	var group sync.WaitGroup
	for i := range 3 {
		group.Go(func() {
			sc := testScratch(t, "whitespace")
			for range 20 {
				if a := answer(t, s, sc, plantest.Parse(t, "w0 w1 w2"), Options{K: 10}); a.Workers > 2 {
					t.Errorf("query %d has %d workers", i, a.Workers)
				}
			}
		})
	}
	group.Wait()
	if n := crew.busy.Load(); n != 0 {
		t.Errorf("%d processors are busy afterwards", n)
	}
	if one := NewCrew(8, 1); one.shares() {
		t.Error("a query may have helpers though it uses one processor")
	}
}

// stopsAfter ends, or panics, at a call.
type stopsAfter struct {
	left   int
	panics bool
}

func (s *stopsAfter) Err() error {
	if s.left--; s.left >= 0 {
		return nil
	}
	if s.panics {
		panic("a bug")
	}
	return context.Canceled
}

func TestCrewStops(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 8)), false, false, false)
	crew := eagerCrew(4, 0)
	s := New(snapshot, nil)
	s.Share(crew)
	sc := testScratch(t, "whitespace")
	ended := 0
	for _, text := range []string{"w0 w1", "+w0 +w1", `w3 "w0 w1"`} {
		p := prepare(t, s, sc, text, Options{K: 10})
		for i := range 40 {
			stop := &stopsAfter{left: i / 2, panics: i%2 == 1}
			var a Answer
			var err error
			panicked := func() (is bool) {
				defer func() { is = recover() != nil }()
				err = p.RunStage(t.Context(), stop, sc, 0, nil, &a, nil)
				return false
			}()
			switch {
			case stop.left >= 0:
				if err != nil || panicked {
					t.Fatalf("%s: error %v, panicked %v", text, err, panicked)
				}
			case stop.panics != panicked, !panicked && !errors.Is(err, context.Canceled):
				t.Fatalf("%s, call %d: error %v, panicked %v", text, i/2, err, panicked)
			default:
				ended++
			}
			if n := crew.busy.Load(); n != 0 {
				t.Fatalf("%s: %d processors are busy afterwards", text, n)
			}
			if panicked {
				sc = testScratch(t, "whitespace")
				p = prepare(t, s, sc, text, Options{K: 10})
			}
		}
	}
	if ended < 20 {
		t.Errorf("only %d runs were ended", ended)
	}
}

// A trace has one step for each segment, with the workers of the large ones, and the work of all of them.
func TestCrewTrace(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 7)), false, false, false)
	s := New(snapshot, nil)
	s.Share(eagerCrew(2, 0))
	sc := testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w0 w1", Options{K: 5})
	var trace Trace
	a, err := p.RunCPU(t.Context(), sc, make([]base.Hit, 0, 5), &trace)
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Steps) != len(snapshot.Segments) || a.Workers != 2 {
		t.Fatalf("%d steps, %d workers", len(trace.Steps), a.Workers)
	}
	var work Work
	for i := range trace.Steps {
		work.Add(trace.Steps[i].Work)
		want := 2
		if i := slices.IndexFunc(snapshot.Segments, func(v index.View) bool { return v.Name == trace.Steps[i].Segment }); snapshot.Segments[i].NumDocs() <= 2*traverse.RangeDocs {
			want = 0
		}
		if trace.Steps[i].Workers != want {
			t.Errorf("step %d has %d workers, want %d", i, trace.Steps[i].Workers, want)
		}
	}
	if work != a.Work || work.PostingsScored == 0 {
		t.Errorf("work of the steps %+v, of the answer %+v", work, a.Work)
	}
}

// Queries of one segment whose matches are found first are shared, also if they are counted.
func TestCrewOneSegment(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 7))
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true}, func(w *indextest.Writer) {
		for id := range 4 * traverse.RangeDocs {
			w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: plantest.RandomWords(rng, 1+rng.IntN(6))})
		}
		w.Commit()
	})
	s, sc := New(indextest.Snapshot(t, ix), nil), testScratch(t, "whitespace")
	for _, text := range []string{`+"w0 w1" w3`, `w3 w4 +"w0 w1"`, `+w2 +"w0 w1" w3`, `+"w0 w1" -w3`, `+"w0 w1" -"w2 w3" +w4`, `+w0 +(w1 w2)`} {
		for _, count := range []bool{false, true} {
			s.Share(nil)
			want := answer(t, s, sc, plantest.Parse(t, text), Options{K: 10, Count: count})
			s.Share(eagerCrew(3, 0))
			got := answer(t, s, sc, plantest.Parse(t, text), Options{K: 10, Count: count})
			if got.Workers < 2 || !slices.Equal(got.Hits, want.Hits) || got.Matches != want.Matches {
				t.Errorf("%s, count %t: %d workers, %d matches, hits %v, want %d, %v", text, count, got.Workers, got.Matches, got.Hits, want.Matches, want.Hits)
			}
		}
	}
	for _, text := range []string{"w0 w1", "+w0 +w1", `w3 "w0 w1"`, "+w0 -w1"} {
		crew := eagerCrew(3, 0)
		s.Share(nil)
		want, err := CountMatches(t.Context(), prepare(t, s, sc, text, Options{MatchesOnly: true}), sc)
		if err != nil {
			t.Fatal(err)
		}
		s.Share(crew)
		got, err := CountMatches(t.Context(), prepare(t, s, sc, text, Options{MatchesOnly: true}), sc)
		if err != nil || got != want || crew.Stats().Shared != 1 {
			t.Errorf("%s: %d matches, %v, want %d; %d parts were shared", text, got, err, want, crew.Stats().Shared)
		}
	}
}

// A count is shared by ranges, and its processor is not lent meanwhile.
func TestCrewCounts(t *testing.T) {
	s := New(crewIndex(t, rand.New(rand.NewPCG(20, 7)), false, false, false), nil)
	sc := testScratch(t, "whitespace")
	count := func() int64 {
		t.Helper()
		n, err := CountMatches(t.Context(), prepare(t, s, sc, `w0 "w1 w2"`, Options{MatchesOnly: true}), sc)
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	want := count()
	crew := eagerCrew(3, 0)
	s.Share(crew)
	if got := count(); got != want {
		t.Errorf("%d matches, want %d", got, want)
	}
	if stats := crew.Stats(); stats.Shared != 1 {
		t.Errorf("%d counts were shared", stats.Shared)
	}
	if n := crew.busy.Load(); n != 0 {
		t.Errorf("%d processors are busy afterwards", n)
	}
}

// A team returns its first error, not the errors of workers that it ended.
func TestCrewFirstError(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 10)), false, false, false)
	s, sc := New(snapshot, nil), testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w0 w1", Options{K: 10})
	for range sampletest.UnderRace(3000, 300) {
		p.ResetHits(sc)
		r := sc.stage(p, &p.stages[0], t.Context())
		r.crew = eagerCrew(4, 0)
		var work Work
		err := r.share(newTeam(r.crew, 8, 0), &work, func(w *worker, i, _ int) (from, to base.DocID, err error) {
			if i == 0 {
				return 0, 0, base.ErrCorrupt
			}
			for err == nil {
				runtime.Gosched()
				err = w.run.stop.Err()
			}
			return 0, 0, err
		})
		if !errors.Is(err, base.ErrCorrupt) {
			t.Fatal(err)
		}
	}
	counted := prepare(t, s, sc, `w0 "w1 w2"`, Options{K: 10, Count: true})
	ended := 0
	for i := range 300 {
		stop := &stopsAfter{left: i % 8}
		r := sc.stage(counted, &counted.stages[0], stop)
		r.crew = eagerCrew(4, 0)
		var work Work
		_, err := r.countAll(&work)
		if stop.left < 0 {
			ended++
			if !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if ended == 0 {
		t.Error("no count was ended")
	}
}

// Workers see the end of a query only when its error is kept.
func TestCrewKeepsError(t *testing.T) {
	var of team
	of.fail(fmt.Errorf("segment 1: %w", errEnded))
	of.fail(base.ErrCorrupt)
	of.fail(context.Canceled)
	if !errors.Is(of.err, base.ErrCorrupt) {
		t.Errorf("kept %v", of.err)
	}
	var slow team
	var group sync.WaitGroup
	slow.mu.Lock()
	group.Go(func() { slow.fail(base.ErrCorrupt) })
	for range 1000 {
		runtime.Gosched()
	}
	if slow.ended.Load() {
		t.Error("ended before its error is kept")
	}
	slow.mu.Unlock()
	group.Wait()
	if !slow.ended.Load() || !errors.Is(slow.err, base.ErrCorrupt) {
		t.Errorf("ended %v, kept %v", slow.ended.Load(), slow.err)
	}
}

// A shared count has workers, too.
func TestCrewCountWorkers(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 11)), false, false, false)
	s, sc := New(snapshot, nil), testScratch(t, "whitespace")
	s.Share(eagerCrew(2, 0))
	if a := answer(t, s, sc, plantest.Parse(t, "w0 w1"), Options{Count: true}); a.Workers != 2 {
		t.Errorf("%d workers", a.Workers)
	}
}

// Queries for very many hits are not shared.
func TestCrewManyHits(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 12)), false, false, false)
	if snapshot.NumDocs <= maxSharedHits {
		t.Fatalf("the index has only %d documents", snapshot.NumDocs)
	}
	sc := testScratch(t, "whitespace")
	for _, text := range []string{"w0 w1", `w3 "w0 w1"`} {
		for _, k := range []int{maxSharedHits, maxSharedHits + 1} {
			crew := eagerCrew(2, 0)
			s := New(snapshot, nil)
			s.Share(crew)
			answer(t, s, sc, plantest.Parse(t, text), Options{K: k})
			if shared := crew.Stats().Shared > 0; shared != (k == maxSharedHits) {
				t.Errorf("%s, k %d: shared %v", text, k, shared)
			}
		}
	}
}

// With helpers, the blocks of a tree's lists count once.
func TestCrewBlocks(t *testing.T) {
	snapshot := crewIndex(t, rand.New(rand.NewPCG(20, 13)), false, false, false)
	sc := testScratch(t, "whitespace")
	alone, s := New(snapshot, nil), New(snapshot, nil)
	s.Share(eagerCrew(6, 0))
	for _, text := range []string{`w3 "w0 w1"`, `"w0 w1"`, "+w0 +(w1 w2)", "w0 -(+w1 +w2)"} {
		q := plantest.Parse(t, text)
		want, got := answer(t, alone, sc, q, Options{K: 10}), answer(t, s, sc, q, Options{K: 10})
		if got.Workers < 2 || got.Work.BlocksSkipped < 0 || got.Work.BlocksSkipped > want.Work.BlocksSkipped {
			t.Errorf("%s: %d workers skipped %d blocks, one skipped %d", text, got.Workers, got.Work.BlocksSkipped, want.Work.BlocksSkipped)
		}
	}
}
