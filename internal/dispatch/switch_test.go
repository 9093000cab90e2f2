package dispatch

import (
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
)

func tell(d *Dispatcher, took map[cost.Kind]time.Duration) {
	var samples []cost.Measured
	for i := range 400 {
		n := int64(10 + i*i)
		f := cost.Features{Lists: 1 + i%6, K: 10, Shortest: n, Second: n * 2, Longest: n * 3, Sum: n * 6, Essential: n, Tight: n, Batch: 1}
		for kind, took := range took {
			samples = append(samples, cost.Measured{Kind: kind, Features: f, Took: took})
		}
	}
	d.Costs().Calibrate(samples)
}

// slowOrs sets predictions: on the CPU 1 µs for an AND and 1 s for an OR, on the GPU 50 µs for
// either.
func slowOrs(d *Dispatcher) {
	tell(d, map[cost.Kind]time.Duration{
		cost.CPUAnd: time.Microsecond, cost.CPUBegin: time.Microsecond, cost.CPUIntersect: time.Microsecond, cost.CPUSelect: time.Microsecond,
		cost.CPUOr: time.Second, cost.GPUImagesOr: 50 * time.Microsecond, cost.GPUImagesAnd: 50 * time.Microsecond,
	})
}

// uselessCPU sets predictions: 1 s on the CPU, 50 µs on the GPU.
func uselessCPU(d *Dispatcher) {
	tell(d, map[cost.Kind]time.Duration{
		cost.CPUAnd: time.Second, cost.CPUBegin: time.Second, cost.CPUIntersect: time.Second, cost.CPUSelect: time.Second, cost.CPUTerm: time.Second,
		cost.CPUOr: time.Second, cost.GPUImagesOr: 50 * time.Microsecond, cost.GPUImagesAnd: 50 * time.Microsecond,
	})
}

// The prediction of an earlier stage is no reason for an idle processor to take back a query
// that moved.
func TestStagesStayAfterSwitch(t *testing.T) {
	g := testGPU(t, pipeline.Options{})
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 7001, 9001))
	if _, _, err := g.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []Policy{PolicyCost, PolicyQuery} { // the pool's
		p, d := dispatched(t, snapshot, g, Config{Policy: policy})
		d.overrunFactor = 0
		slowOrs(d)
		a := p.check(t, plantest.Parse(t, "e2 e7001 e9001"), Options{Mode: plan.ModeAndOr, K: 10, Policy: PolicyCost})
		if a.StepsAt != [sched.NumPlaces]int{sched.CPU: 1, sched.GPU: 1} {
			t.Errorf("pool of policy %s: steps at %v, want the AND on the CPU and the OR on the GPU", policy, a.StepsAt)
		}
		if s := d.Stats().Pool; s.Stolen != 0 {
			t.Errorf("pool of policy %s: %d stolen", policy, s.Stolen)
		}
	}
}

// The query returns to the CPU if the GPU fails or is lost, also with a policy of its own.
func TestStagesReturnAfterFailure(t *testing.T) {
	snapshot := indextest.Snapshot(t, spacedIndex(t, 30000, 2, 3, 7001, 9001))
	for _, code := range []cuda.Code{cuda.LaunchOutOfResources, cuda.IllegalAddress} {
		for _, policy := range []Policy{PolicyCost, PolicyGPU} { // the pool's
			var faults cuda.Faults
			e, err := pipeline.Open(pipeline.Options{
				Library: gputest.Library(t).Path(), Devices: pipeline.Selection{Ordinals: []int{0}}, Memory: pipeline.Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults,
			})
			if err != nil {
				t.Fatal(err)
			}
			p, d := dispatched(t, snapshot, NewGPU(e), Config{Policy: policy})
			d.overrunFactor = 0
			slowOrs(d)
			if _, _, err := d.gpu.Warm(t.Context(), snapshot, WarmOptions{}); err != nil {
				t.Fatal(err)
			}
			faults.Fail("cuLaunchKernel", 1, code)
			a := p.check(t, plantest.Parse(t, "e2 e7001 e9001"), Options{Mode: plan.ModeAndOr, K: 10, Policy: PolicyCost})
			if a.StepsAt != [sched.NumPlaces]int{sched.CPU: 2} {
				t.Errorf("%v, pool of policy %s: steps at %v, want both on the CPU", code, policy, a.StepsAt)
			}
			if s := d.Stats().Pool; s.Failed != 1 || s.Ended != s.Arrived || s.Open != 0 {
				t.Errorf("%v, pool of policy %s: %+v", code, policy, s)
			}
			_ = d.Close() // it may be lost
		}
	}
}
