package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/score"
)

// Short stages give the hits of an exhaustive traversal, and the hits and the work of their steps under a trace: with
// deleted and reordered documents, several segments, boosts, other BM25 parameters, and for any k.
func TestShortStages(t *testing.T) {
	rng := rand.New(rand.NewPCG(61, 61))
	sc, other := testScratch(t, "whitespace"), testScratch(t, "whitespace")
	short := map[Mode]int{}
	for round := range 12 {
		ix := plantest.RandomIndex(t, rng, 50+rng.IntN(1500), 1+rng.IntN(4), round%2 == 0)
		if round%3 == 0 {
			plantest.Reorder(t, ix)
		}
		var bm25 *score.BM25
		if round%4 == 3 {
			bm25 = &score.BM25{K1: 2 * rng.Float32(), B: rng.Float32()}
		}
		s := New(indextest.Snapshot(t, ix), bm25)
		for range 60 {
			var words []string
			for range 1 + rng.IntN(7) {
				w := plantest.RandomWord(rng)
				switch rng.IntN(6) {
				case 0:
					w += fmt.Sprintf("^%d", 1+rng.IntN(9))
				case 1:
					w = "title:" + w
				}
				words = append(words, w)
			}
			text := strings.Join(words, " ")
			k := []int{1, 2, 10, 100, 1000}[rng.IntN(5)]
			mode := []Mode{ModeOr, ModeAnd}[rng.IntN(2)]
			p := prepare(t, s, sc, text, Options{K: k, Mode: mode})
			got, err := p.RunCPU(t.Context(), sc, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			if !p.stages[0].short {
				continue
			}
			short[mode]++
			var trace Trace
			traced, err := p.RunCPU(t.Context(), other, nil, &trace)
			work := got.Work
			if round%2 == 0 {
				work.PostingsScored = traced.Work.PostingsScored // with deleted documents, a trace begins with a guess of the threshold
			}
			if p.stages[0].nothing {
				work.BlocksSkipped = traced.Work.BlocksSkipped // the lists are not asked for
			}
			if err != nil || !slices.Equal(got.Hits, traced.Hits) || work != traced.Work || got.Traversal != traced.Traversal {
				t.Fatalf("%s, mode %s, k=%d: %+v, traced %+v, %v", text, mode, k, got, traced, err)
			}
			exact := prepare(t, s, other, text, Options{K: k, Mode: mode, Traversal: "exhaustive-daat"})
			want, err := exact.RunCPU(t.Context(), other, nil, nil)
			if err != nil || !slices.Equal(got.Hits, want.Hits) {
				t.Fatalf("%s, mode %s, k=%d:\n got %v\nwant %v, %v", text, mode, k, got.Hits, want.Hits, err)
			}
			stopped, stop := context.WithCancel(t.Context())
			stop()
			if _, err := p.RunCPU(stopped, sc, nil, nil); len(got.Hits) > 0 && !errors.Is(err, context.Canceled) {
				t.Fatalf("%s: cancelled: %v", text, err)
			}
		}
	}
	if short[ModeOr] < 150 || short[ModeAnd] < 60 {
		t.Errorf("only %v of 720 queries had short stages", short)
	}
}

// Short lists of many segments are long together: a crew searches the segments.
func TestShortListsOfManySegments(t *testing.T) {
	var lists [][]corpus.Document
	for range 30 {
		lists = append(lists, docsOf(100, "w0"))
	}
	s, sc := segmentsOf(t, lists...), testScratch(t, "whitespace")
	want := answer(t, s, sc, plantest.Parse(t, "w0"), Options{K: 10})
	for _, c := range []struct {
		worth  time.Duration
		shared bool
	}{{3000 * orTime, true}, {3001 * orTime, false}} {
		crew := eagerCrew(2, 0)
		crew.times.gate, crew.times.large = c.worth, c.worth
		s.Share(crew)
		got := answer(t, s, sc, plantest.Parse(t, "w0"), Options{K: 10})
		if !slices.Equal(got.Hits, want.Hits) {
			t.Errorf("%v, want %v", got.Hits, want.Hits)
		}
		if shared := crew.Stats().Shared > 0; shared != c.shared {
			t.Errorf("from %v on: shared is %t, want %t", c.worth, shared, c.shared)
		}
	}
}
