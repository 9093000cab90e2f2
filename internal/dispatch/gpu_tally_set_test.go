package dispatch

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

// matchesOf returns the matches of a query on the CPU.
func (p *gpuPair) matchesOf(t *testing.T, node query.Node, o Options) [][]uint64 {
	t.Helper()
	q, err := p.cpu.Prepare(p.sc, node, o)
	if err != nil {
		t.Fatal(err)
	}
	out := make([][]uint64, len(q.Snapshot().Segments))
	err = q.Matches(t.Context(), &p.sc.Scratch, func(segment int, words []uint64) error {
		out[segment] = slices.Clone(words)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// Counts over matches that the CPU has found are the CPU's: of trees, of all documents and of words, in every mode, with
// filters of 0.1 to 99 %, deleted documents and small segments, on one GPU and on two with ranges.
func TestCountMatches(t *testing.T) {
	rng := rand.New(rand.NewPCG(98, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 1500, 2))
	for _, name := range []string{"one", "two ranges", "small segments"} {
		t.Run(name, func(t *testing.T) {
			options := pipeline.Options{}
			if name == "two ranges" {
				options = pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}}
			}
			g := testGPU(t, options)
			if name == "small segments" {
				g.smallDocs = snapshot.Segments[0].NumDocs()
			}
			p := newGPUPair(t, snapshot, g)
			for range sampletest.Rounds(20, 400) {
				node := []query.Node{
					&query.MatchAll{Boost: 1}, &query.Prefix{Text: plantest.RandomWord(rng)}, filtered(rng), plantest.Words(rng, 2),
					query.Any(plantest.Words(rng, 2), &query.Prefix{Text: plantest.RandomWord(rng)}, randomFilter(rng)),
				}[rng.IntN(5)]
				o := Options{Mode: []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr}[rng.IntN(3)], K: 10}
				fields := slices.Clone(facetFields[:1+rng.IntN(3)])
				want := countsOnCPU(t, p.cpu, p.sc, node, o, fields)
				matches := p.matchesOf(t, node, o)
				q, err := p.gpu.Prepare(p.sc, node, o)
				if err != nil {
					t.Fatal(err)
				}
				got, refusal, err := CountMatches(t.Context(), q, fields, matches)
				if err != nil || (got == nil) != (want.Matches == 0) || got == nil && refusal != cpuNothing {
					t.Fatalf("%s, %+v: %v, %q, %v, %d matches", node, o, got, refusal, err, want.Matches)
				}
				if got != nil && !got.equal(want) {
					t.Fatalf("%s, %+v: %d matches, want %d, or other counts of %v", node, o, got.Matches, want.Matches, fields)
				}
			}
			for _, d := range g.Stats().Devices {
				if d.Filters != 0 || d.Columns == 0 {
					t.Errorf("%d bitmaps are kept, which no query can ask for, with %d columns", d.Filters, d.Columns)
				}
			}
		})
	}
}

func TestCountMatchesRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(99, 1))
	snapshot := indextest.Snapshot(t, facetIndex(t, rng, 300, 1))
	g := testGPU(t, pipeline.Options{})
	p := newGPUPair(t, snapshot, g)
	tree := &query.Prefix{Text: "w"}
	matches := p.matchesOf(t, tree, Options{K: 10})
	for _, c := range []struct {
		name   string
		o      Options
		fields []string
		want   string
	}{
		{"CPU", Options{K: 10, CPU: true}, facetFields, cpuAsked},
		{"policy", Options{K: 10, Policy: PolicyCPU}, facetFields, cpuNoPolicy},
		{"cost", Options{K: 10, Policy: PolicyCost}, facetFields, cpuCheaper},
		{"numbers", Options{K: 10}, []string{"n"}, cpuColumns},
	} {
		q, err := p.gpu.Prepare(p.sc, tree, c.o)
		if err != nil {
			t.Fatal(err)
		}
		if got, refusal, err := CountMatches(t.Context(), q, c.fields, matches); got != nil || refusal != c.want || err != nil {
			t.Errorf("%s: %v, %q, %v; want %q", c.name, got, refusal, err, c.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, _, err := CountMatches(ctx, mustPrepare(t, p.gpu, p.sc, tree), facetFields, matches); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v, %v", got, err)
	}
}
