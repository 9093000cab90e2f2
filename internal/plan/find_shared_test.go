package plan

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// shortRanges is an eagerCrew with ranges of a few words of a bitmap. They are too short for traversals.
func shortRanges(workers int) *Crew {
	c := eagerCrew(workers, 0)
	c.least = 128
	return c
}

// Counts and the documents of a query are the same with any number of workers, and so are the hits where positions decide.
func TestFindTogether(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 31))
	random := indextest.Snapshot(t, plantest.RandomIndex(t, rng, 2000, 3, true))
	cache := derived.NewCache(16 << 20)
	for i := range random.Segments {
		random.Segments[i].Derived = cache.NewSegment()
	}
	var shared atomic.Int64
	ranked := 0
	for _, alone := range []*Planner{New(random, nil), foundIndex(t, rng, true)} {
		sc := testScratch(t, "whitespace")
		for range sampletest.UnderRace(400, 40) {
			q := findNode(t, rng)
			mode, k := []Mode{ModeOr, ModeAnd, ModeAndOr}[rng.IntN(3)], []int{1, 10, 100}[rng.IntN(3)]
			p, err := alone.Prepare(sc, q, Options{Mode: mode, K: k})
			if err != nil {
				t.Fatal(err)
			}
			count := int64(0)
			var bits [][]uint64
			if err := p.Matches(t.Context(), sc, func(_ int, words []uint64) error {
				bits, count = append(bits, slices.Clone(words)), count+ones(words)
				return nil
			}); err != nil {
				t.Fatal(err)
			}
			want := make([]Answer, 2)
			for i := range want {
				want[i] = answer(t, alone, sc, q, Options{Mode: mode, K: k, Count: i == 1})
			}
			for _, workers := range []int{1, 2, 3, 8} {
				crew := shortRanges(workers)
				s := New(alone.Snapshot(), nil)
				s.Share(crew)
				p, err := s.Prepare(sc, q, Options{Mode: mode, K: k})
				if err != nil {
					t.Fatal(err)
				}
				if n, err := CountMatches(t.Context(), p, sc); err != nil || n != count {
					t.Fatalf("%s in mode %s, %d workers: %d matches, %v, want %d", q, mode, workers, n, err, count)
				}
				stage, err := matchingStage(t.Context(), p, sc)
				if err != nil {
					t.Fatal(err)
				}
				for i := range bits {
					checkFound(t, p, sc, stage, i, bits[i])
				}
				if !slices.ContainsFunc(p.stages, func(st Stage) bool { return st.flat || st.preferring() != nil }) {
					for i := range want {
						got := answer(t, s, sc, q, Options{Mode: mode, K: k, Count: i == 1})
						if !slices.Equal(got.Hits, want[i].Hits) || got.Matches != want[i].Matches {
							t.Fatalf("%s in mode %s, %d workers, count %t: %d matches\n%v\nwant %d\n%v", q, mode, workers, i == 1, got.Matches, got.Hits, want[i].Matches, want[i].Hits)
						}
						ranked += len(got.Hits)
					}
				}
				if n := crew.busy.Load(); n != 0 {
					t.Fatalf("%s: %d processors are busy afterwards", q, n)
				}
				shared.Add(crew.Stats().Shared)
			}
		}
	}
	if shared.Load() == 0 || ranked == 0 {
		t.Errorf("%d parts were shared, %d hits ranked", shared.Load(), ranked)
	}
}

func checkFound(t *testing.T, p *Plan, sc *Scratch, stage, segment int, want []uint64) {
	t.Helper()
	st := &p.stages[stage]
	if st.root == nil {
		return
	}
	p.ResetHits(sc)
	r := sc.stage(p, st, t.Context())
	r.crew = p.planner.crew
	r.crew.enter()
	defer r.crew.leave()
	var work Work
	found, err := findAll(r, segment, counted(st.root), &work)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]uint64, len(want))
	found.addTo(got)
	if !slices.Equal(got, want) || found.count != int(ones(want)) {
		t.Fatalf("%s: segment %d has other documents: %d, want %d", p.query, segment, found.count, ones(want))
	}
	if work.BlocksSkipped < 0 {
		t.Errorf("%s: %d blocks are skipped", p.query, work.BlocksSkipped)
	}
}

func findNode(t testing.TB, rng *rand.Rand) query.Node {
	p, words := rng.IntN(8), plantest.RandomWords(rng, 1+rng.IntN(3))
	phrase := []string{fmt.Sprintf(`"p%d p%d"`, p, p+1), `"` + plantest.RandomWords(rng, 2) + `"`}[rng.IntN(2)]
	switch rng.IntN(10) {
	case 0:
		return plantest.Parse(t, fmt.Sprintf("+%s -%s", phrase, plantest.RandomWord(rng)))
	case 1:
		return plantest.Parse(t, fmt.Sprintf(`+%s -"%s" -p%d`, phrase, plantest.RandomWords(rng, 2), p))
	case 2:
		return plantest.Parse(t, fmt.Sprintf("+%s +%s +w%d^=2 -w5", phrase, words, p))
	case 3:
		return plantest.Parse(t, fmt.Sprintf("+%s +(%s p%d)", phrase, words, p))
	case 4:
		return plantest.Parse(t, fmt.Sprintf("%s p%d %s", words, p, phrase))
	case 5:
		return plantest.Parse(t, fmt.Sprintf("+p%d +%s -%s", p, words, phrase))
	}
	return plantest.RandomNode(rng, 3)
}
