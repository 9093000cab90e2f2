package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// weightedIndex has one document with the weight 6 of each term.
func weightedIndex(t *testing.T, terms ...string) *Planner {
	return New(indextest.Snapshot(t, indextest.Write(t, index.Options{WeightScale: 4}, func(w *indextest.Writer) {
		d := corpus.Document{ID: "0"}
		for _, term := range terms {
			d.Vector = append(d.Vector, corpus.TermWeight{Term: term, Weight: 6})
		}
		w.Add(&d)
		w.Commit()
	})), nil)
}

func weighted(term string, weight float64) *query.Weights {
	return &query.Weights{Terms: []query.TermWeight{{Term: term, Weight: weight}}}
}

func TestLargestWeight(t *testing.T) {
	s, sc := weightedIndex(t, "a"), testScratch(t, "whitespace")
	if s.OwnBounds() || New(s.snapshot, &score.BM25{K1: 2, B: 1}).OwnBounds() {
		t.Error("an index of weights has bounds by BM25 parameters")
	}
	a := answer(t, s, sc, weighted("a", 9_999), Options{K: 1})
	if len(a.Hits) != 1 || a.Hits[0].Score.Float64() != 59_994 {
		t.Errorf("hits %v, want one of 59994", a.Hits)
	}
	if _, err := s.Prepare(sc, weighted("a", 10_001), Options{K: 1}); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), `term "a": the query weight times the largest document weight is 60006 and exceeds 60000`) {
		t.Errorf("a product of 60006: %v", err)
	}
}

// A weight that is too large in one part of a tree fails a run and an explanation, wherever the
// part is and whatever comes after it.
func TestErrorsOfTreeParts(t *testing.T) {
	s, sc := weightedIndex(t, "a", "b", "c", "d"), testScratch(t, "whitespace")
	clause := func(o query.Occur, n query.Node) query.Clause { return query.Clause{Occur: o, Node: n} }
	group := func(clauses ...query.Clause) *query.Boolean { return &query.Boolean{Clauses: clauses, Boost: 1} }
	for bad := range 4 {
		weight := func(i int) float64 {
			if i == bad {
				return 20_000
			}
			return 1
		}
		a, b, c, d := weighted("a", weight(0)), weighted("b", weight(1)), weighted("c", weight(2)), weighted("d", weight(3))
		for _, q := range []query.Node{
			group(clause(query.Must, a), clause(query.Should, b), clause(query.Should, c), clause(query.Should, d)),
			group(clause(query.Must, a), clause(query.Must, b), clause(query.Must, c), clause(query.Should, d)),
			group(clause(query.Should, group(clause(query.Must, a), clause(query.Must, b))), clause(query.Should, c), clause(query.Should, d)),
			group(clause(query.Must, weighted("missing", 1)), clause(query.Should, weighted("missing", 2)), clause(query.MustNot, group(clause(query.Must, a), clause(query.Must, b), clause(query.Should, c), clause(query.Should, d)))),
		} {
			p, err := s.Prepare(sc, q, Options{Mode: ModeOr, K: 10, Count: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%v, term %d: explained with %v", q, bad, err)
			}
			if p.words.docFreqs[0] == 0 {
				continue // the required term has no document, so no other list is read
			}
			if _, err := p.RunCPU(t.Context(), sc, nil, nil); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%v, term %d: %v", q, bad, err)
			}
		}
	}
}

// With parameters other than the index's, a list without its frontiers has no bounds.
func TestMissingFrontiers(t *testing.T) {
	ix := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(51, 51)), 300, 1, false))
	s, sc := New(ix, &score.BM25{K1: 3, B: 0.2}), testScratch(t, "whitespace")
	for _, text := range []string{`"w0 w1"`, "+w0 (w1 w2)", "+w0 -(+w1 +w2)"} {
		for term := range 2 {
			p := prepare(t, s, sc, text, Options{K: 10})
			plain := prepare(t, New(ix, nil), sc, text, Options{K: 10})
			*p.words.list(0, term) = *plain.words.list(0, term)
			if _, err := p.RunCPU(t.Context(), sc, nil, nil); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("%s, term %d: %v", text, term, err)
			}
			if _, err := p.Explain(t.Context(), sc, 0, 0); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("%s, term %d: explained with %v", text, term, err)
			}
		}
	}
}

// A damaged list fails the step that reads it, and an ended context every step.
func TestRunListsFails(t *testing.T) {
	snapshot := indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(52, 52)), 2000, 1, false))
	s, sc := New(snapshot, nil), testScratch(t, "whitespace")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, steps := range [][]int{{0, 1, 2, 3}, {0, 2, 3}, {0, 1, 3}} {
		p := prepare(t, s, sc, "w0 w1 w2", Options{Mode: ModeAnd, K: 10, Count: true})
		p.SortTerms()
		p.ResetHits(sc)
		st := p.Stage(0)
		var c traverse.Candidates
		var w Work
		for i, from := range steps[:len(steps)-1] {
			lists := Lists{Stage: st, From: from, To: steps[i+1]}
			for bad := lists.From; bad < lists.To; bad++ {
				l := st.Legs(0)[st.Order()[bad]].List
				good := l.Codec
				l.Codec = brokenCodec{good}
				failed := c
				err := p.RunLists(t.Context(), sc, lists, 0, &failed, &w)
				if !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(err.Error(), "segment "+snapshot.Segments[0].Name+": query ") {
					t.Errorf("lists [%d,%d), list %d is damaged: %v", lists.From, lists.To, bad, err)
				}
				l.Codec = good
			}
			failed := c
			if err := p.RunLists(ended, sc, lists, 0, &failed, &w); err != context.Canceled { //nolint:errorlint // exactly this one
				t.Errorf("lists [%d,%d) with an ended context: %v", lists.From, lists.To, err)
			}
			if lists.From > 0 {
				break // the candidates share memory with those of the failed steps
			}
			c = traverse.Candidates{}
			if err := p.RunLists(t.Context(), sc, lists, 0, &c, &w); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A run and a count end with exactly the error of the context at its n-th check, for every n,
// and with the whole answer if the context ends later.
func TestEndAtEveryCheck(t *testing.T) {
	s := New(indextest.Snapshot(t, plantest.RandomIndex(t, rand.New(rand.NewPCG(53, 53)), 4000, 3, true)), nil)
	sc := testScratch(t, "whitespace")
	for _, text := range []string{"w0 w1", "+w0 +w1", "w0 -w3", "+w0 w1", `"w0 w1"`, `w2 (+w0 -"w1 w2")`} {
		p := prepare(t, s, sc, text, Options{Mode: ModeOr, K: 5, Count: true})
		want, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		for n := 0; ; n++ {
			if n > 500 {
				t.Fatalf("%s: no end after %d checks", text, n)
			}
			stop := &endsAfter{n: n}
			var a Answer
			err := p.RunStage(t.Context(), stop, sc, 0, nil, &a, nil)
			if stop.calls <= n {
				if err != nil || !slices.Equal(a.Hits, want.Hits) || a.Matches != want.Matches || n < 4 {
					t.Errorf("%s: %d checks, error %v, hits %v of %d, want %v of %d", text, stop.calls, err, a.Hits, a.Matches, want.Hits, want.Matches)
				}
				break
			}
			if err != context.Canceled { //nolint:errorlint // exactly this one
				t.Errorf("%s: ended at check %d: %v", text, n+1, err)
			}
		}
	}
}

// Damaged impact-ordered lists fail the search and, if only its second reading finds the
// damage, the count.
func TestDamagedImpacts(t *testing.T) {
	s, _ := withImpacts(t, rand.New(rand.NewPCG(54, 54)))
	sc := testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w0 w1", Options{Mode: ModeSaat, K: 10, Count: true})
	p.saat.Terms[1].List.DocFreq++
	a, err := p.RunCPU(t.Context(), sc, nil, nil)
	if !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(err.Error(), "query w0 w1: ") {
		t.Errorf("%d hits, %v", len(a.Hits), err)
	}
	if _, err := sc.counter.impacts(&p.saat.Query); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("counted: %v", err)
	}
	p.saat.Terms[1].List.DocFreq--
	if _, err := p.RunCPU(t.Context(), sc, nil, nil); err != nil {
		t.Errorf("repaired: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := p.RunCPU(ended, sc, nil, nil); err != context.Canceled { //nolint:errorlint // exactly this one
		t.Errorf("an ended context: %v", err)
	}
}

type brokenFreqs struct{ codec.Codec }

func (brokenFreqs) DecodeFreqs(*[codec.BlockLen]uint32, []byte, int, uint8) error { return errBroken }
func (brokenFreqs) FreqAt([]byte, int, int, uint8) (uint32, error)                { return 0, errBroken }

// A posting without a frequency is not scored; the end reports the error.
func TestDamagedFrequencies(t *testing.T) {
	docs := make([]corpus.Document, 600)
	for i := range docs {
		docs[i] = corpus.Document{ID: fmt.Sprint(i), Text: strings.Repeat("w0 ", 1+i%3)}
	}
	s, sc := New(indextest.Snapshot(t, indexOf(t, docs, 1)), nil), testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w0", Options{K: 10})
	l := p.words.list(0, 0)
	l.Codec = brokenFreqs{l.Codec}
	sc.begin(&p.words, 0, t.Context())
	it, err := sc.tree.build(p.stages[0].root)
	if err != nil {
		t.Fatal(err)
	}
	var w Work
	if doc, s := it.NextGEQ(0), it.Score(); doc != 0 || s != 0 {
		t.Errorf("document %d has the score %d", doc, s)
	}
	if err := sc.tree.finish(&w); !errors.Is(err, base.ErrCorrupt) || w.PostingsScored != 0 {
		t.Errorf("error %v after %+v", err, w)
	}
}
