package dispatch

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/query"
)

func boosted(rng *rand.Rand) query.Node {
	return &query.Term{Text: plantest.RandomWord(rng), Boost: []float64{1, 1, 0.3, 4}[rng.IntN(4)]}
}

func alternatives(rng *rand.Rand) query.Node {
	return query.Any(boosted(rng), boosted(rng), boosted(rng))
}

// partsOf returns words of which some are required, groups of alternatives, exclusions and filters, weighted.
func partsOf(rng *rand.Rand) query.Node {
	b := new(query.Boolean)
	add := func(n int, occur query.Occur, node func(*rand.Rand) query.Node) {
		for range n {
			b.Clauses = append(b.Clauses, query.Clause{Occur: occur, Node: node(rng)})
		}
	}
	add(rng.IntN(3), query.Must, boosted)
	add(rng.IntN(2), query.Must, alternatives)
	add(rng.IntN(3), query.Plain, boosted)
	if len(b.Clauses) == 0 {
		add(1, query.Must, boosted)
	}
	add(rng.IntN(3), query.MustNot, boosted)
	if rng.IntN(3) == 0 && b.Clauses[0].Occur == query.Must {
		add(1, query.Filter, randomFilter)
		add(rng.IntN(2), query.Must, func(rng *rand.Rand) query.Node { return &query.Constant{Node: randomFilter(rng), Score: 2.5} })
	}
	if rng.IntN(6) == 0 {
		add(1, query.MustNot, randomFilter)
	}
	return b
}

// Words with parts run on GPUs, alone and in batches, beside deleted documents, filters and several segments, and have the
// CPU's hits, scores and matches.
func TestGPUParts(t *testing.T) {
	rng := rand.New(rand.NewPCG(96, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 1500, 3))
	for _, c := range sampletest.Some(t, sampletest.UnderRace(3, 2), []struct {
		name string
		open func(t *testing.T) *GPU
	}{
		{"one", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{}) }},
		{"two replicas", twoReplicas},
		{"two ranges", func(t *testing.T) *GPU {
			return testGPU(t, pipeline.Options{Library: twoGPUs(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0, 1}}})
		}},
		{"small segments", func(t *testing.T) *GPU {
			g := testGPU(t, pipeline.Options{})
			g.smallDocs = snapshot.Segments[0].NumDocs()
			return g
		}},
		{"little memory", func(t *testing.T) *GPU { return testGPU(t, pipeline.Options{Memory: pipeline.Memory{Bytes: 24 << 10}}) }},
	}) {
		t.Run(c.name, func(t *testing.T) {
			g := c.open(t)
			g.rangeDocs = 1
			p := newGPUPair(t, snapshot, g)
			asked, onCPU := 0, int64(0)
			for round := range sampletest.Rounds(2, 12) {
				g.unaided = round%2 > 0 // else CPUs may answer every query before a GPU with little memory
				for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd, plan.ModeAndOr} {
					o := Options{Mode: mode, K: []int{0, 1, 10, 100, 1200}[rng.IntN(5)]}
					o.Count = o.K == 0 || rng.IntN(2) == 0
					batch := make([]query.Node, 12)
					for i := range batch {
						batch[i] = partsOf(rng)
						q, err := p.gpu.Prepare(p.sc, batch[i], o)
						if err != nil {
							t.Fatal(err)
						}
						if q.gpu.refusal != "" && q.gpu.refusal != cpuNothing {
							t.Errorf("%s: %s", batch[i], q.gpu.refusal)
						}
						if q.gpu.refusal != "" {
							onCPU++
						}
					}
					p.checkBatch(t, batch, o)
					before := g.Stats().OnCPU
					p.check(t, batch[0], o)
					p.check(t, batch[1], o)
					onCPU += g.Stats().OnCPU - before
					asked += 14
				}
			}
			s, least := g.Stats(), int64(asked)/2
			if c.name == "little memory" { // CPUs help
				least, onCPU = int64(asked)/20, int64(asked)
			}
			if s.OnCPU > onCPU || s.OnGPU+s.OnCPU != int64(asked) || s.OnGPU < least {
				t.Errorf("%d queries: %d on the GPU, %d on the CPU", asked, s.OnGPU, s.OnCPU)
			}
		})
	}
}

// The CPU answers if the device is lost while it works, or its launch fails.
func TestGPUPartsFail(t *testing.T) {
	rng := rand.New(rand.NewPCG(97, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 600, 1))
	var faults cuda.Faults
	g := testGPU(t, pipeline.Options{Faults: &faults})
	p := newGPUPair(t, snapshot, g)
	batch := []query.Node{
		plantest.Parse(t, "+w1 w2 -w3"), plantest.Parse(t, "+(w1 w5) +(w2 w3) w4"), plantest.Parse(t, "w1 w2 -w9"),
	}
	o := Options{K: 10, Count: true}
	p.checkBatch(t, batch, o)
	launches := faults.Calls()["cuLaunchKernel"]
	p.checkBatch(t, batch, o)
	perBatch := faults.Calls()["cuLaunchKernel"] - launches
	faults.Fail("cuLaunchKernel", perBatch, cuda.LaunchOutOfResources)
	p.checkBatch(t, batch, o)
	p.check(t, batch[0], o)
	if s := g.Stats(); s.OnGPU != 7 || s.OnCPU != 3 {
		t.Errorf("%d queries on the GPU, %d on the CPU; want 7 and 3", s.OnGPU, s.OnCPU)
	}
	if gputest.OnGPU() {
		return // other tests of this process need the device
	}
	gputest.Lose(t, 1, cuda.LaunchFailed)
	p.checkBatch(t, batch, o)
	p.check(t, batch[1], o)
	if s := g.Stats(); !g.Lost() || s.OnGPU != 7 || s.OnCPU != 7 {
		t.Errorf("%d queries on the GPU, %d on the CPU, lost: %t", s.OnGPU, s.OnCPU, g.Lost())
	}
}

// Facets are counted of a query whose exclusions the GPU looks up for hits.
func TestGPUPartsTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(98, 1))
	snapshot := indextest.Snapshot(t, filterIndex(t, rng, 900, 1))
	p := newGPUPair(t, snapshot, testGPU(t, pipeline.Options{}))
	for _, text := range []string{"w1 w2 -w3", "+w1 +w2 -w3 -w4", "w1 w2"} {
		node := plantest.Parse(t, text)
		o := Options{K: 10, Count: true}
		want := answer(t, p.cpu, p.sc, node, o)
		q, err := p.gpu.Prepare(p.sc, node, o)
		if err != nil {
			t.Fatal(err)
		}
		counts, refusal, err := CountValues(t.Context(), q, p.sc, []string{"kind"})
		if err != nil || refusal != "" {
			t.Fatalf("%s: %q, %v", text, refusal, err)
		}
		values := int64(0)
		for i := range counts.Segments {
			values += counts.Segments[i].Missing[0]
			for _, n := range counts.Segments[i].Counts[0] {
				values += int64(n)
			}
		}
		if counts.Matches != want.Matches || values != want.Matches {
			t.Errorf("%s: %d matches, %d values; want %d", text, counts.Matches, values, want.Matches)
		}
		got, err := q.Run(t.Context(), p.sc, nil) // after it
		if err != nil || got.Matches != want.Matches || len(got.Hits) != len(want.Hits) {
			t.Errorf("%s: %d matches, %v; want %d", text, got.Matches, err, want.Matches)
		}
	}
}
