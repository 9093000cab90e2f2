package plan

import (
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/query"
)

// A score, also an explained one, is the sum of the products of weights.
func TestWeights(t *testing.T) {
	weights := [][3]float64{{1, 0.5, 0}, {0.25, 2, 3}, {0, 0, 5.75}, {4, 0, 0.25}}
	terms := [...]string{"sea", "wind", "salt"}
	snapshot := indextest.Snapshot(t, indextest.Write(t, index.Options{WeightScale: 4}, func(w *indextest.Writer) {
		for i, of := range weights {
			d := corpus.Document{ID: fmt.Sprint(i)}
			for j, weight := range of {
				if weight > 0 {
					d.Vector = append(d.Vector, corpus.TermWeight{Term: terms[j], Weight: weight})
				}
			}
			w.Add(&d)
		}
		w.Commit()
	}))
	s, sc := New(snapshot, nil), testScratch(t, "whitespace")
	q := &query.Weights{Terms: []query.TermWeight{{Term: "sea", Weight: 2}, {Term: "salt", Weight: 0.5}}}
	want := map[base.DocID]float64{0: 2, 1: 2, 2: 2.875, 3: 8.125}
	for _, name := range append(Traversals(ModeOr), "") {
		p, err := s.Prepare(sc, q, Options{Mode: ModeOr, K: 10, Traversal: name})
		if err != nil {
			t.Fatal(err)
		}
		a, err := p.RunCPU(t.Context(), sc, nil, nil)
		if err != nil {
			t.Fatal(err)
		}
		if len(a.Hits) != len(want) {
			t.Errorf("%q: hits %v, want %v", name, a.Hits, want)
		}
		for _, h := range a.Hits {
			e, err := p.Explain(t.Context(), sc, 0, h.DocID)
			if err != nil {
				t.Fatal(err)
			}
			if h.Score.Float64() != want[h.DocID] || e.Score != want[h.DocID] || !e.Matches {
				t.Errorf("%q: document %d has the score %v, explained as %v, want %v", name, h.DocID, h.Score, e.Score, want[h.DocID])
			}
			for i, part := range e.Parts {
				term := 2 * i // of terms
				if part.IDF != 0 || part.K1 != 0 || part.B != 0 || part.Scale != 4 || part.Boost != q.Terms[i].Weight ||
					part.Freq != uint32(4*weights[h.DocID][term]) || part.Contribution != q.Terms[i].Weight*weights[h.DocID][term] {
					t.Errorf("%q: document %d, term %s: %+v", name, h.DocID, q.Terms[i].Term, part)
				}
			}
		}
	}
	huge := &query.Weights{Terms: []query.TermWeight{{Term: "salt", Weight: 20000}}}
	if _, err := s.Prepare(sc, huge, Options{Mode: ModeOr, K: 1}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a product of %v: %v", 20000*5.75, err)
	}
}
