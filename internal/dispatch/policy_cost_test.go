package dispatch

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/sched"
)

// The CPU is predicted to be faster, but its times have been many times their predictions, or a
// small part of them.
func TestUncertainStaysOnGPU(t *testing.T) {
	sampletest.SkipRace(t)
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 5))
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	p, d := dispatched(t, snapshot, g, Config{})
	prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(t, "e2 e3 e5"), Options{Mode: plan.ModeAnd, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	r := &p.sc.run
	decided := func() (first sched.Place, onCPU, onGPU time.Duration) {
		r.begin(t.Context(), d, prepared, p.sc, nil, new(plan.Trace)) // who traces sees both predictions
		defer r.end()
		r.decide()
		return r.first(), r.choices[sched.CPU].total, r.choices[sched.GPU].total
	}
	_, _, onGPU := decided()
	tell := func(times float64) {
		d.costs.Observe(cost.CPUAnd, &r.predictor.whole, time.Duration(0.7*times*float64(onGPU)))
	}
	for range 1000 {
		tell(1)
	}
	if first, onCPU, onGPU := decided(); first != sched.CPU {
		t.Fatalf("begun on the %s: %v on the CPU, %v on the GPU", first, onCPU, onGPU)
	}
	for range 200 {
		tell(4)
		tell(0.25)
	}
	if first, onCPU, onGPU := decided(); first != sched.GPU {
		t.Errorf("times scatter: begun on the %s, %v on the CPU, %v on the GPU", first, onCPU, onGPU)
	}
}
