package imagesearch

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// BenchmarkPassPlan plans the bands of 1,561 lists over 25 million documents in two buffers of 30 MB.
func BenchmarkPassPlan(b *testing.B) {
	s := gputest.NewSession(b)
	k, err := Load(s.Device)
	must(b, err)
	defer func() { must(b, k.Close()) }()
	p, err := k.NewPass()
	must(b, err)
	defer func() { must(b, p.Close()) }()
	const numDocs = 25_200_000
	p.segment.NumDocs = numDocs
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range 1561 {
		share := 0.25 / float64(1+i/4) // of the documents
		docFreq := int(share * numDocs)
		shape := Shape{NumDocs: numDocs, DocFreq: docFreq}
		cuts := &Cuts{unit: k.passes.unit, at: make([]uint32, p.numUnits()+1)}
		for u := range cuts.at {
			blocks := float64(u*p.unitDocs()) * share / blockLen
			cuts.at[u] = uint32(min(blocks, float64(docFreq/blockLen)))<<1 | rng.Uint32N(2)
		}
		p.lists = append(p.lists, bandList{docFreq: uint32(docFreq), kind: uint32(shape.kind()), shift: uint32(shape.bucketShift()), freqBytes: 1})
		p.cuts = append(p.cuts, cuts)
		p.byFreq, p.cutsByFreq = append(p.byFreq, int32(i)), append(p.cutsByFreq, cuts.at)
	}
	must(b, p.memory.reserve(passSizes{1, 1, len(p.lists), 1, p.mostTiles(), 1, 1, 1}))
	bands := 0
	for b.Loop() {
		planner, err := p.startPlanner(30 << 20)
		must(b, err)
		for i := range planner.bands {
			step, _ := planner.step(i)
			step.free <- struct{}{}
			bands++
		}
		planner.stop()
	}
	b.ReportMetric(float64(bands)/float64(b.N), "bands")
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(bands), "µs/band")
}
