package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// Every named traversal gives the hits of the default one; unknown names are errors.
func TestAllTraversals(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
		for range 30 {
			q := &query.Words{Text: plantest.RandomWords(rng, 1+rng.IntN(4)), Boost: 1}
			want := answer(t, s, sc, q, Options{Mode: mode, K: 10})
			for _, name := range Traversals(mode) {
				got := answer(t, s, sc, q, Options{Mode: mode, K: 10, Traversal: name})
				if !slices.Equal(got.Hits, want.Hits) {
					t.Fatalf("%s in mode %s by %s: got %v, want %v", q, mode, name, got.Hits, want.Hits)
				}
			}
		}
		if _, err := s.Prepare(sc, plantest.Parse(t, "w1 w2"), Options{Mode: mode, K: 10, Traversal: "guess"}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("unknown traversal: error %v, want ErrBadInput", err)
		}
	}
}

// A mask gives the same hits as a tree's iterators.
func TestMask(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	masked := 0
	for range 300 {
		q := plantest.Parse(t, fmt.Sprintf("%s -%s -%s", plantest.RandomWords(rng, 1+rng.IntN(3)), plantest.RandomWord(rng), plantest.RandomWord(rng)))
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			p, err := s.Prepare(sc, q, Options{Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			st := &p.stages[0]
			if st.flat && st.maskPays(&p.words, 0, nil) {
				masked++
			}
			got, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			st.flat = false
			want, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got.Hits, want.Hits) {
				t.Fatalf("%s in mode %s: got %v, want %v", q, mode, got.Hits, want.Hits)
			}
		}
	}
	if masked < 100 {
		t.Errorf("only %d of 600 queries used a mask", masked)
	}
}

func answer(t testing.TB, s *Planner, sc *Scratch, q query.Node, o Options) Answer {
	p, err := s.Prepare(sc, q, o)
	if err != nil {
		t.Fatal(err)
	}
	a, err := p.RunCPU(context.Background(), sc, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// The top k are a prefix of the top k+1, and commits do not change answers. Without deletions,
// whose effect on statistics depends on merges.
func TestMetamorphic(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var docs []corpus.Document
	for i := range 500 {
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Title: plantest.RandomWords(rng, 2), Text: plantest.RandomWords(rng, 1+rng.IntN(40))})
	}
	sc := testScratch(t, "whitespace")
	var searchers []*Planner
	for _, commits := range []int{1, 2, 7} {
		searchers = append(searchers, New(indextest.Snapshot(t, indexOf(t, docs, commits)), nil))
	}
	for range 150 {
		q := plantest.RandomNode(rng, 3)
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			want := answer(t, searchers[0], sc, q, Options{Mode: mode, K: 8}).Hits
			if more := answer(t, searchers[0], sc, q, Options{Mode: mode, K: 9}).Hits; !slices.Equal(want, more[:min(8, len(more))]) {
				t.Fatalf("%s: top 8 %v, top 9 %v", q, want, more)
			}
			for i, s := range searchers[1:] {
				if got := answer(t, s, sc, q, Options{Mode: mode, K: 8}).Hits; !slices.Equal(got, want) {
					t.Fatalf("%s in mode %s, index %d: got %v, want %v", q, mode, i+1, got, want)
				}
			}
		}
	}
}

func indexOf(t testing.TB, docs []corpus.Document, commits int) *index.Index {
	return indextest.Write(t, index.Options{Analyzer: "whitespace", Positions: true}, func(w *indextest.Writer) {
		for c := range commits {
			for i := len(docs) * c / commits; i < len(docs)*(c+1)/commits; i++ {
				w.Add(&docs[i])
			}
			w.Commit()
		}
	})
}

func TestPrepareIntoDoesNotAllocate(t *testing.T) {
	if sampletest.Race {
		t.Skip("under the race detector pools allocate")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	var p Plan
	for _, q := range []query.Node{
		&query.Words{Text: "w0 w1 w0 w2 w3", Boost: 1}, plantest.Parse(t, "w0 +w1^2 w0"), plantest.Parse(t, "w5"), plantest.Parse(t, "+w0 +w1 +w2"),
	} {
		prepare := func() {
			if err := s.PrepareInto(&p, sc, q, Options{Mode: ModeAndOr, K: 10}); err != nil {
				t.Fatal(err)
			}
		}
		prepare()
		if n := testing.AllocsPerRun(20, prepare); n != 0 {
			t.Errorf("%s: %v allocations", q, n)
		}
	}
}

// Running a prepared plan does not allocate, nor does planning and running with any traversal
// once its derived data is cached.
func TestTraversalsDoNotAllocate(t *testing.T) {
	if sampletest.Race || invariant.Enabled {
		t.Skip("under the race detector pools allocate; so do the arguments of the invariants' messages")
	}
	rng := rand.New(rand.NewPCG(4, 4))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 900, 2, true)), nil)
	sc := testScratch(t, "whitespace")
	dst := make([]base.Hit, 0, 10)
	var p Plan
	for _, text := range []string{"w0 w1 w2", "w1"} {
		q := &query.Words{Text: text, Boost: 1}
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			for _, name := range append(Traversals(mode), "") {
				run := func() {
					if err := s.PrepareInto(&p, sc, q, Options{Mode: mode, K: 10, Traversal: name}); err != nil {
						t.Fatal(err)
					}
					if _, err := p.RunCPU(context.Background(), sc, dst, nil); err != nil {
						t.Fatal(err)
					}
				}
				run()
				if n := testing.AllocsPerRun(20, run); n != 0 {
					t.Errorf("%s, mode %s, traversal %q: %v allocations", text, mode, name, n)
				}
			}
		}
	}
}

func TestRunDoesNotAllocate(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 600, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	dst := make([]base.Hit, 0, 10)
	for _, text := range []string{
		"w0 w1 w2", "+w0 +w1", "w3", `"w0 w1"`, `+w0 w1 "w2 w3" -w4`, "w0 w1 -w2", `(w0 AND w1) OR (w2 w3 -"w0 w0 w1") w5`,
	} {
		for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
			p, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			run := func() {
				if _, err := p.RunCPU(context.Background(), sc, dst, nil); err != nil {
					t.Fatal(err)
				}
			}
			run()
			if sampletest.Race || invariant.Enabled { // pools and the arguments of invariant messages allocate
				continue
			}
			if n := testing.AllocsPerRun(20, run); n != 0 {
				t.Errorf("%s in mode %s: %v allocations a run", text, mode, n)
			}
		}
	}
}

// A context that ends stops a run at its beginning or in its middle.
func TestCancelledContext(t *testing.T) {
	var docs []corpus.Document
	for i := range 20000 {
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Text: "w0 w1 w0 w2"})
	}
	s := New(indextest.Snapshot(t, indexOf(t, docs, 1)), nil)
	sc := testScratch(t, "whitespace")
	for text, checks := range map[string]int{
		"w0 w1": 3, "+w0 -w3 w1": 3,
		`"w0 w2 w1"`: 3, // no document matches, so one call does all the work
		"+w0 -w1":    2, // no document is left
	} {
		p, err := s.Prepare(sc, plantest.Parse(t, text), Options{K: 10})
		if err != nil {
			t.Fatal(err)
		}
		for after := range checks {
			ctx := &countedContext{Context: t.Context(), left: after}
			if _, err := p.RunCPU(ctx, sc, nil, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("%s: cancelled at check %d: error %v", text, after+1, err)
			}
		}
	}
}

// A named traversal applies to all segments.
func TestTraversalOfEachSegment(t *testing.T) {
	var docs []corpus.Document
	for i := range 2800 {
		text := "w0 w1"
		if i >= 1450 {
			text = "w2"
		}
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Text: text})
	}
	s := New(indextest.Snapshot(t, indexOf(t, docs, 2)), nil) // 2800 postings and 100
	sc := testScratch(t, "whitespace")
	for _, tt := range []struct {
		query, named  string
		mode          Mode
		first, second string
		answerBy      string
	}{
		{"w0 w1", "", ModeOr, "block-max-maxscore", "merged-scores", "block-max-maxscore"},
		{"w0 w1", "wand", ModeOr, "wand", "wand", "wand"},
		{"w0 w1", "", ModeAnd, "svs", "svs", "svs"},
		{"+w0 +w1", "merge", ModeOr, "merge", "merge", "merge"},
		{"w0", "", ModeAnd, "block-max-maxscore", "merged-scores", "block-max-maxscore"},
		{`"w0 w1"`, "", ModeAnd, treeTraversal, treeTraversal, treeTraversal},
	} {
		p, err := s.Prepare(sc, plantest.Parse(t, tt.query), Options{Mode: tt.mode, K: 10, Traversal: tt.named})
		if err != nil {
			t.Fatal(err)
		}
		var trace Trace
		a, err := p.RunCPU(t.Context(), sc, nil, &trace)
		if err != nil {
			t.Fatal(err)
		}
		got := [3]string{trace.Steps[0].Traversal, trace.Steps[1].Traversal, a.Traversal}
		if want := [3]string{tt.first, tt.second, tt.answerBy}; got != want {
			t.Errorf("%s, mode %s, traversal %q: by %v, want %v", tt.query, tt.mode, tt.named, got, want)
		}
	}
}

// countedContext ends at its (left+1)-th check.
type countedContext struct {
	context.Context //nolint:containedctx // a test double
	left            int
}

func (c *countedContext) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

func TestTrace(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 400, 2, false)), nil)
	sc := testScratch(t, "whitespace")
	q := plantest.Parse(t, `w0 w1 title:w2`)
	p, err := s.Prepare(sc, q, Options{Mode: ModeAndOr, K: 1000})
	if err != nil {
		t.Fatal(err)
	}
	trace := Trace{Query: q.String(), Mode: ModeAndOr}
	a, err := p.RunCPU(t.Context(), sc, nil, &trace)
	if err != nil {
		t.Fatal(err)
	}
	if len(trace.Steps) != 4 { // two stages in two segments
		t.Fatalf("%d steps, want 4:\n%s", len(trace.Steps), &trace)
	}
	if trace.Total() != a.Work || a.Work.PostingsDecoded == 0 || a.Work.BlocksDecoded == 0 {
		t.Errorf("the steps' work is %+v, the answer's %+v", trace.Total(), a.Work)
	}
	text := trace.String()
	for _, want := range []string{"mode and+or", "svs", "merged-scores", "title:w2", "seg-"} {
		if !strings.Contains(text, want) {
			t.Errorf("the text of the trace lacks %q:\n%s", want, text)
		}
	}
}

// The number of documents bounds the memory.
func TestHugeK(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 6))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 300, 2, true)), nil)
	sc := testScratch(t, "whitespace")
	for _, text := range []string{"w0 w1", "+w0 w1", `"w0 w1" w2`} {
		for _, mode := range []Mode{ModeOr, ModeAnd, ModeAndOr} {
			want := answer(t, s, sc, plantest.Parse(t, text), Options{Mode: mode, K: 1000})
			got := answer(t, s, sc, plantest.Parse(t, text), Options{Mode: mode, K: math.MaxInt})
			if !slices.Equal(got.Hits, want.Hits) || got.Mode != want.Mode || len(got.Hits) == 0 {
				t.Errorf("%s in mode %s: %d hits in mode %s, want %d in mode %s", text, mode, len(got.Hits), got.Mode, len(want.Hits), want.Mode)
			}
		}
	}
}

func TestNothing(t *testing.T) {
	ix := indextest.Create(t, index.Options{Analyzer: "whitespace"})
	sc := testScratch(t, "whitespace")
	empty := New(indextest.Snapshot(t, ix), nil)
	full := New(indextest.Snapshot(t, indexOf(t, []corpus.Document{{ID: "1", Text: "a"}}, 1)), nil)
	for _, text := range []string{"", "a", "-a", "b", "+a -a", "+a +b"} {
		for _, s := range []*Planner{empty, full} {
			k := 10
			if s == full && text == "a" {
				k = 0
			}
			if a := answer(t, s, sc, plantest.Parse(t, text), Options{K: k}); len(a.Hits) > 0 {
				t.Errorf("%q: hits %v", text, a.Hits)
			}
		}
	}
	if _, err := full.Prepare(sc, plantest.Parse(t, "a"), Options{K: -1}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("K -1: error %v, want ErrBadInput", err)
	}
}

// A conjunction with a word that no document has is known to match nothing before lists are read.
func TestMatchesNothing(t *testing.T) {
	rng := rand.New(rand.NewPCG(51, 51))
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 1000, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	for _, c := range []struct {
		query   string
		mode    Mode
		nothing bool
	}{
		{"w0 missing", ModeAnd, true},
		{"+w0 +missing", ModeOr, true},
		{"+w0 +missing -w1", ModeOr, true},
		{"w0 missing", ModeOr, false},
		{"w0 w1", ModeAnd, false},
		{"+w0 -missing", ModeAnd, false},
	} {
		p := prepare(t, s, sc, c.query, Options{Mode: c.mode, K: 10})
		if got := p.stages[0].nothing; got != c.nothing {
			t.Errorf("%s in mode %s: matches nothing: %t", c.query, c.mode, got)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil || (len(a.Hits) == 0) != c.nothing || c.nothing && a.Work != (Work{}) {
			t.Errorf("%s in mode %s: %+v, %v", c.query, c.mode, a, err)
		}
	}
}
