package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// The planner has every posting scored in long queries of which little can be skipped. With any number of workers, the answers are the ones
// of exhaustive-daat. Deleted and excluded documents make it choose another traversal.
func TestLongQueriesScoreAll(t *testing.T) {
	const windows, pruning = "windowed-taat", "block-max-maxscore"
	var words []string
	for i := range 3 {
		words = append(words, fmt.Sprint("a", i)) // in 7 of 10 documents: can be skipped
	}
	for i := range 12 {
		words = append(words, fmt.Sprint("b", i)) // in 1 of 4
	}
	long := strings.Join(words, " ")
	for _, deletes := range []bool{false, true} {
		rng := rand.New(rand.NewPCG(20, 31))
		ix := indextest.Write(t, index.Options{Analyzer: "whitespace"}, func(w *indextest.Writer) {
			id := 0
			for _, n := range []int{sampletest.UnderRace(20_000, 6_000), 300} {
				for range n {
					var text []string
					for i, word := range words {
						if rng.IntN(20) < 5 || i < 3 && rng.IntN(20) < 12 {
							text = append(text, slices.Repeat([]string{word}, 1+rng.IntN(3))...)
						}
					}
					w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: strings.Join(text, " ")})
					id++
				}
				if deletes {
					w.Delete(rng.IntN(id))
				}
				w.Commit()
			}
		})
		snapshot := indextest.Snapshot(t, ix)
		sc := testScratch(t, "whitespace")
		alone, shared := New(snapshot, nil), New(snapshot, nil)
		shared.Share(eagerCrew(3, 0))
		for _, c := range []struct {
			text string
			k    int
			want string
		}{
			{long, 1000, windows},
			{long, 100, windows},
			{long, 5000, pruning}, // no list has a bound of its 5000th posting
			{long + " -zzz -b0", 1000, pruning},
			{"b0 b1 b2 b3 b4 b5 b6", 1000, pruning},
		} {
			if deletes {
				c.want = pruning
			}
			q := plantest.Parse(t, c.text)
			o := Options{Mode: ModeOr, K: c.k}
			p, err := alone.Prepare(sc, q, o)
			if err != nil {
				t.Fatal(err)
			}
			st := &p.stages[0]
			if !st.flat || st.traversals[0].Name() != c.want {
				t.Errorf("deletes: %t, %d words, k=%d: %s, want %s", deletes, len(strings.Fields(c.text)), c.k, st.traversals[0].Name(), c.want)
			}
			got, sharedGot := answer(t, alone, sc, q, o), answer(t, shared, sc, q, o)
			o.Traversal = "exhaustive-daat"
			want := answer(t, alone, sc, q, o)
			if !slices.Equal(got.Hits, want.Hits) || !slices.Equal(sharedGot.Hits, want.Hits) {
				t.Errorf("deletes: %t, %d words, k=%d: %d and, with workers, %d hits differ from %d", deletes, len(strings.Fields(c.text)), c.k, len(got.Hits), len(sharedGot.Hits), len(want.Hits))
			}
		}
	}
}
