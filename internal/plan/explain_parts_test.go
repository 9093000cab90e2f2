package plan

import (
	"context"
	"errors"
	"fmt"
	"math"
	"reflect"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
)

// Of 3 documents, w1 is in two, the others in one each. The average length is 3.
func smallIndex(t *testing.T) *Planner {
	return New(indextest.Snapshot(t, indexOf(t, []corpus.Document{
		{ID: "0", Text: "w1 w2 w1"},
		{ID: "1", Text: "w1 w3"},
		{ID: "2", Text: "w4 w5 w6 w7"},
	}, 1)), nil)
}

func TestExplainParts(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	part := func(freq, length uint32, terms ...string) Part {
		p := Part{
			Terms: terms, Freq: freq, Length: length, AvgLength: 3, NumDocs: 3, Boost: 1,
			K1: score.DefaultBM25.K1, B: score.DefaultBM25.B,
		}
		for _, term := range terms {
			n := uint64(1)
			switch term {
			case "w1":
				n = 2
			case "missing":
				n = 0
			}
			p.DocFreq = append(p.DocFreq, n)
			p.IDF += score.IDF(3, n)
		}
		return p
	}
	boosted := func(p Part, boost float64) Part {
		p.Boost = boost
		return p
	}
	without := func(p Part) Part {
		p.Excluded = true
		return p
	}
	for _, c := range []struct {
		query   string
		mode    Mode
		doc     base.DocID
		matches bool
		by      Mode
		parts   []Part // without contributions
		counted []bool
	}{
		{"w1^2 w3", ModeOr, 0, true, ModeOr, []Part{boosted(part(2, 3, "w1"), 2), part(0, 3, "w3")}, []bool{true, false}},
		{"w1 w3", ModeAnd, 0, false, ModeAnd, []Part{part(2, 3, "w1"), part(0, 3, "w3")}, []bool{false, false}},
		{"w1 w3", ModeAnd, 1, true, ModeAnd, []Part{part(1, 2, "w1"), part(1, 2, "w3")}, []bool{true, true}},
		{"w1 w3", ModeAndOr, 0, true, ModeOr, []Part{part(2, 3, "w1"), part(0, 3, "w3")}, []bool{true, false}},
		{`"w1 w2" w1`, ModeOr, 0, true, ModeOr, []Part{part(1, 3, "w1", "w2"), part(2, 3, "w1")}, []bool{true, true}},
		{`"w2 w1" -missing`, ModeOr, 0, true, ModeOr, []Part{part(1, 3, "w2", "w1"), without(part(0, 3, "missing"))}, []bool{true, false}},
		{"w1 -w2", ModeOr, 0, false, ModeOr, []Part{part(2, 3, "w1"), without(part(1, 3, "w2"))}, []bool{false, false}},
		{"+w1 w5 (+w2 +w3)", ModeOr, 0, true, ModeOr, []Part{part(2, 3, "w1"), part(0, 3, "w5"), part(1, 3, "w2"), part(0, 3, "w3")}, []bool{true, false, false, false}},
		{"w4", ModeOr, 0, false, ModeOr, []Part{part(0, 3, "w4")}, []bool{false}},
		{"missing", ModeOr, 2, false, ModeOr, []Part{part(0, 4, "missing")}, []bool{false}},
	} {
		t.Run(fmt.Sprintf("%s in mode %s", c.query, c.mode), func(t *testing.T) {
			p, err := s.Prepare(sc, plantest.Parse(t, c.query), Options{Mode: c.mode, K: 10})
			if err != nil {
				t.Fatal(err)
			}
			e, err := p.Explain(t.Context(), sc, 0, c.doc)
			if err != nil {
				t.Fatal(err)
			}
			if e.Matches != c.matches || e.Mode != c.by || len(e.Parts) != len(c.parts) {
				t.Fatalf("%+v, want a match: %v, in mode %s, of %d parts", e, c.matches, c.by, len(c.parts))
			}
			sum := 0.0
			for i, got := range e.Parts {
				sum += got.Contribution
				k := float64(got.K1) * (1 - float64(got.B) + float64(got.B)*float64(got.Length)/3)
				want := 0.0
				if c.counted[i] {
					want = got.Boost * got.IDF * float64(got.Freq) / (float64(got.Freq) + k)
				}
				if math.Abs(got.Contribution-want) > 1e-4 || c.counted[i] && want == 0 {
					t.Errorf("part %d contributes %v, want %v", i, got.Contribution, want)
				}
				if got.Contribution = 0; !reflect.DeepEqual(got, c.parts[i]) {
					t.Errorf("part %d is %+v\nwant %+v", i, got, c.parts[i])
				}
			}
			if math.Abs(e.Score-sum) > 1e-9 {
				t.Errorf("score %v, the parts give %v", e.Score, sum)
			}
		})
	}
}

func TestExplainRange(t *testing.T) {
	s, sc := smallIndex(t), testScratch(t, "whitespace")
	p, err := s.Prepare(sc, plantest.Parse(t, "w1"), Options{K: 10})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		segment int
		doc     base.DocID
		ok      bool
	}{{0, 0, true}, {0, 2, true}, {0, 3, false}, {0, base.NoDocID, false}, {1, 0, false}, {-1, 0, false}} {
		if _, err := p.Explain(t.Context(), sc, c.segment, c.doc); (err == nil) != c.ok || err != nil && !errors.Is(err, base.ErrBadInput) {
			t.Errorf("document %d of segment %d: %v", c.doc, c.segment, err)
		}
	}
}

// The context ends the run that finds the stage of ModeAndOr, and a search for a phrase.
func TestExplainCancelled(t *testing.T) {
	docs := make([]corpus.Document, 2*pulsePeriod)
	for i := range docs {
		docs[i] = corpus.Document{ID: fmt.Sprint(i), Text: "w0 w2 w1"}
	}
	s, sc := New(indextest.Snapshot(t, indexOf(t, docs, 1)), nil), testScratch(t, "whitespace")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, c := range []struct {
		query string
		mode  Mode
	}{{"w0 w1", ModeAndOr}, {`"w0 w1"`, ModeOr}} {
		p, err := s.Prepare(sc, plantest.Parse(t, c.query), Options{Mode: c.mode, K: 10})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Explain(ended, sc, 0, 0); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", c.query, err)
		}
		if _, err := p.Explain(t.Context(), sc, 0, 0); err != nil {
			t.Errorf("%s with a fresh context: %v", c.query, err)
		}
	}
}

// An explanation reads only the segment of its document.
func TestExplainBesideDamage(t *testing.T) {
	s, sc := segmentsOf(t, docsOf(10, "w0 w1"), docsOf(10, "w0 w1")), testScratch(t, "whitespace")
	p := prepare(t, s, sc, "w0", Options{K: 10})
	l := p.words.list(1, 0)
	l.Codec = brokenCodec{l.Codec}
	if e, err := p.Explain(t.Context(), sc, 0, 3); err != nil || !e.Matches {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := p.Explain(t.Context(), sc, 1, 3); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("the damaged segment: %v", err)
	}
}
