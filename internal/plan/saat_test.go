package plan

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

func withImpacts(t testing.TB, rng *rand.Rand) (*Planner, *index.Snapshot) {
	t.Helper()
	ix := plantest.RandomIndex(t, rng, 500, 3, true)
	if _, err := ix.BuildImpacts(t.Context(), index.ImpactOptions{}); err != nil {
		t.Fatal(err)
	}
	s := indextest.Snapshot(t, ix)
	return New(s, nil), s
}

// impactOracle sums impacts by definition, from the stored texts.
type impactOracle struct {
	*oracle
	quantizer impact.Quantizer
}

func newImpactOracle(t testing.TB, s *index.Snapshot) *impactOracle {
	t.Helper()
	o := &impactOracle{newOracle(t, s, score.DefaultBM25), impact.NewQuantizer()}
	words := map[string]bool{}
	for i := range o.docs {
		for _, w := range o.docs[i].tokens[0] {
			words[w] = true
		}
	}
	delete(words, "")
	for w := range words {
		for i := range o.docs {
			if d := &o.docs[i]; d.live && d.freq(0, []string{w}) > 0 {
				o.quantizer.See(o.score(d, w))
			}
		}
	}
	return o
}

func (o *impactOracle) score(d *oracleDoc, word string) base.Score {
	return o.bm25.NewTerm(o.idf(0, []string{word}), 1, o.avgLen[0]).Score(d.freq(0, []string{word}), d.length[0])
}

// best returns the best k documents, for boosts in units of 2^-bits.
func (o *impactOracle) best(k int, words map[string]int, bits int) []base.Hit {
	var hits []base.Hit
	for i := range o.docs {
		d := &o.docs[i]
		sum := 0
		for w, boost := range words {
			if d.live && d.freq(0, []string{w}) > 0 {
				sum += boost * int(o.quantizer.Impact(o.score(d, w)))
			}
		}
		if sum > 0 {
			hits = append(hits, base.Hit{DocID: d.docID, Score: base.Score(sum) << (base.ScoreFractionBits - bits)})
		}
	}
	slices.SortFunc(hits, func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	})
	return hits[:min(k, len(hits))]
}

func TestSaatAgainstOracle(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 1))
	s, snapshot := withImpacts(t, rng)
	o := newImpactOracle(t, snapshot)
	sc := testScratch(t, "whitespace")
	for range 60 {
		text := plantest.RandomWords(rng, 1+rng.IntN(4))
		words := map[string]int{}
		for _, w := range strings.Fields(text) {
			words[w]++
		}
		k := 1 + rng.IntN(20)
		want := o.best(k, words, 0)
		for _, accumulators := range append(saat.Accumulators(), "array:heap=1,outlined") {
			got := answer(t, s, sc, &query.Words{Text: text, Boost: 1}, Options{Mode: ModeSaat, K: k, Accumulators: accumulators})
			if !slices.Equal(got.Hits, want) {
				t.Fatalf("%q, k=%d, %s: got %v, want %v", text, k, accumulators, got.Hits, want)
			}
			if v, err := saat.ParseVariant(accumulators); err != nil || got.Mode != ModeSaat || got.Traversal != v.String() || got.Missed != 0 {
				t.Fatalf("%q: %+v", text, got)
			}
		}
	}
}

func TestSaatBoosts(t *testing.T) {
	s, snapshot := withImpacts(t, rand.New(rand.NewPCG(32, 1)))
	o := newImpactOracle(t, snapshot)
	sc := testScratch(t, "whitespace")
	for text, want := range map[string][]base.Hit{
		"w0 w1^2 w0":    o.best(10, map[string]int{"w0": 2, "w1": 2}, 0),
		"w0 w1^1.5":     o.best(10, map[string]int{"w0": 64, "w1": 96}, 6),
		"w3^0.001 w5":   o.best(10, map[string]int{"w3": 1, "w5": 64}, 6),
		"w0 missing":    o.best(10, map[string]int{"w0": 1}, 0),
		"missing":       nil,
		"+w4":           o.best(10, map[string]int{"w4": 1}, 0),
		"w0 (w1 OR w2)": o.best(10, map[string]int{"w0": 1, "w1": 1, "w2": 1}, 0),
	} {
		t.Run(text, func(t *testing.T) {
			if got := answer(t, s, sc, plantest.Parse(t, text), Options{Mode: ModeSaat, K: 10}); !slices.Equal(got.Hits, want) {
				t.Errorf("%s: got %v, want %v", text, got.Hits, want)
			}
		})
	}
}

func TestSaatRefuses(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 1))
	s, _ := withImpacts(t, rng)
	sc := testScratch(t, "whitespace")
	for text, reason := range map[string]string{
		`"w0 w1"`:     "bags of words",
		"+w0 w1":      "bags of words",
		"w0 AND w1":   "bags of words",
		"w0 -w1":      "bags of words",
		"title:w0 w1": "default field",
	} {
		t.Run(text, func(t *testing.T) {
			_, err := s.Prepare(sc, plantest.Parse(t, text), Options{Mode: ModeSaat, K: 10})
			if !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), reason) {
				t.Errorf("%s: %v", text, err)
			}
		})
	}
	for _, o := range []Options{
		{Mode: ModeSaat, K: 10, Traversal: "svs"},
		{Mode: ModeSaat, K: 10, Accumulators: "none"},
		{Mode: ModeSaat, K: -1},
	} {
		if _, err := s.Prepare(sc, plantest.Parse(t, "w0 w1"), o); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%+v: %v", o, err)
		}
	}
	without := New(indextest.Snapshot(t, plantest.RandomIndex(t, rng, 50, 1, false)), nil)
	if _, err := without.Prepare(sc, plantest.Parse(t, "w0"), Options{Mode: ModeSaat, K: 10}); !errors.Is(err, index.ErrNoImpacts) {
		t.Errorf("without impact-ordered lists: %v", err)
	}
	p, err := s.Prepare(sc, plantest.Parse(t, "w0 w1"), Options{Mode: ModeSaat, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("explain: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.RunCPU(ctx, sc, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("after the context ended: %v", err)
	}
}

// BM25 parameters of a search do not change impacts; a note reports this.
func TestSaatWithOtherBM25(t *testing.T) {
	s, snapshot := withImpacts(t, rand.New(rand.NewPCG(36, 1)))
	other := New(snapshot, &score.BM25{K1: 3, B: 1})
	sc := testScratch(t, "whitespace")
	o := Options{Mode: ModeSaat, K: 10}
	q := plantest.Parse(t, "w0 w1")
	if got, want := answer(t, other, sc, q, o), answer(t, s, sc, q, o); !slices.Equal(got.Hits, want.Hits) {
		t.Errorf("got %v, want %v", got.Hits, want.Hits)
	}
	p, err := other.Prepare(sc, q, o)
	if err != nil || len(p.Notes()) != 1 || !strings.Contains(p.Notes()[0], "k1=0.9") {
		t.Errorf("notes %q, %v", p.Notes(), err)
	}
}

func TestSaatBudgetAndTrace(t *testing.T) {
	s, _ := withImpacts(t, rand.New(rand.NewPCG(34, 1)))
	sc := testScratch(t, "whitespace")
	o := Options{Mode: ModeSaat, K: 10, Budget: saat.Budget{Postings: 20}}
	p, err := s.Prepare(sc, plantest.Parse(t, "w0 w1 w2"), o)
	if err != nil {
		t.Fatal(err)
	}
	var trace Trace
	a, err := p.RunCPU(t.Context(), sc, nil, &trace)
	if err != nil {
		t.Fatal(err)
	}
	if a.Missed == 0 || a.Work.PostingsScored > 20 || a.Work.PostingsLeft == 0 || a.Work.BytesMoved == 0 {
		t.Errorf("%+v", a)
	}
	if len(trace.Steps) != 1 || trace.Steps[0].Name != "impacts" || len(trace.Steps[0].Lists) != 3 || trace.Total() != a.Work {
		t.Errorf("%+v", trace)
	}
	if text := trace.String(); !strings.Contains(text, "postings added") || !strings.Contains(text, "segments") {
		t.Errorf("the trace reads %s", text)
	}
	if sought := p.Sought(false); len(sought.Terms) != 3 || sought.Terms[0].IDF <= 0 {
		t.Errorf("sought %+v", sought)
	}
	o.Budget = saat.Budget{Time: time.Hour}
	if a := answer(t, s, sc, plantest.Parse(t, "w0 w1 w2"), o); a.Missed != 0 || a.Work.PostingsLeft != 0 {
		t.Errorf("a budget of an hour ended the query: %+v", a)
	}
}

func TestSaatDoesNotAllocate(t *testing.T) {
	s, _ := withImpacts(t, rand.New(rand.NewPCG(35, 1)))
	sc := testScratch(t, "whitespace")
	var p Plan
	q := &query.Words{Text: "w0 w1 w0 w7", Boost: 1}
	hits := make([]base.Hit, 0, 10)
	for _, accumulators := range saat.Accumulators() {
		ask := func() {
			if err := s.PrepareInto(&p, sc, q, Options{Mode: ModeSaat, K: 10, Accumulators: accumulators}); err != nil {
				t.Fatal(err)
			}
			if _, err := p.RunCPU(t.Context(), sc, hits, nil); err != nil {
				t.Fatal(err)
			}
		}
		ask()
		if n := testing.AllocsPerRun(20, ask); n != 0 {
			t.Errorf("%s: %v allocations", accumulators, n)
		}
	}
}

// The error is the context's, without the query.
func TestSaatCancelled(t *testing.T) {
	rng := rand.New(rand.NewPCG(49, 49))
	s, _ := withImpacts(t, rng)
	sc := testScratch(t, "whitespace")
	p, err := s.Prepare(sc, plantest.Parse(t, "w0 w1"), Options{Mode: ModeSaat, K: 5})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.RunCPU(ctx, sc, nil, nil); !errors.Is(err, context.Canceled) || err.Error() != context.Canceled.Error() {
		t.Errorf("got the error %v", err)
	}
}
