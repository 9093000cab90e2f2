package plan

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Segments that are searched ahead of the others, some of them or all, give the same answer, whether the guessed threshold
// is reached or not.
func TestAhead(t *testing.T) {
	guessed, missed := 0, 0
	for i, c := range []struct{ weights, deletes, reorder bool }{{deletes: true}, {weights: true}, {reorder: true}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(20, uint64(i)))
			snapshot := crewIndex(t, rng, c.weights, c.deletes, c.reorder)
			var ahead, others []int
			for s := range snapshot.Segments {
				if snapshot.Segments[s].NumDocs() < 1000 {
					ahead = append(ahead, s)
				} else {
					others = append(others, s)
				}
			}
			planner, sc, second := New(snapshot, nil), testScratch(t, "whitespace"), testScratch(t, "whitespace")
			for range sampletest.Rounds(40, 1000) {
				o := Options{Mode: []Mode{ModeOr, ModeAnd}[rng.IntN(2)], K: []int{1, 10, 100, 3000}[rng.IntN(4)], Count: rng.IntN(3) == 0}
				q := crewNode(t, rng, c.weights)
				want := answer(t, planner, sc, q, o)
				p, err := planner.Prepare(sc, q, o)
				if err != nil {
					t.Fatal(err)
				}
				var a Answer
				if err := RunSegments(t.Context(), p, second, 0, others, &a, nil); err != nil {
					t.Fatal(err)
				}
				var run Ahead
				run.Begin(p, sc, 0, ahead)
				for range rng.IntN(len(ahead) + 2) {
					if _, err := run.Step(t.Context()); err != nil {
						t.Fatal(err)
					}
					if run.floor > 0 {
						guessed++
					}
					if rng.IntN(4) == 0 {
						run.floor += base.Score(rng.Uint64N(1 << 18))
					}
				}
				r := sc.stage(p, &p.stages[0], t.Context())
				if run.next > 0 && run.floor > 0 && !r.reached(run.floor) {
					missed++
				}
				if err := run.Finish(t.Context(), &a, nil); err != nil {
					t.Fatal(err)
				}
				AddFilterScores(p, 0, a.Hits)
				if !slices.Equal(a.Hits, want.Hits) || a.Matches != want.Matches {
					t.Fatalf("%s, %+v: %d hits, %d matches, want %d, %d\n%v\n%v", q, o, len(a.Hits), a.Matches, len(want.Hits), want.Matches, a.Hits, want.Hits)
				}
			}
		})
	}
	if guessed == 0 || missed == 0 {
		t.Errorf("%d thresholds were guessed, %d missed", guessed, missed)
	}
}

// After an error, nothing more is searched, and Finish returns the error although its own context is not cancelled.
func TestAheadError(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 1))
	snapshot := crewIndex(t, rng, false, false, false)
	sc := testScratch(t, "whitespace")
	p, err := New(snapshot, nil).Prepare(sc, crewNode(t, rng, false), Options{Mode: ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var run Ahead
	run.Begin(p, sc, 0, []int{0, 1})
	for range 3 {
		if more, err := run.Step(ctx); more || !errors.Is(err, context.Canceled) || run.next != 1 {
			t.Errorf("more %v, error %v, segment %d is next", more, err, run.next)
		}
	}
	if err := run.Finish(t.Context(), new(Answer), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("Finish: %v", err)
	}
}
