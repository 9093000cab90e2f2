package dispatch

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
)

// slowCPU makes the CPU take tens of microseconds for anything.
func slowCPU(d *Dispatcher) {
	var samples []cost.Measured
	for i := range 400 {
		n := int64(10 + i*i)
		f := cost.Features{Lists: 1 + i%6, K: 10, Shortest: n, Second: n * 2, Longest: n * 3, Sum: n * 6, Essential: n + n/int64(1+i%5), Tight: n, Batch: 1}
		samples = append(samples, cost.Measured{Kind: cost.CPUOr, Features: f, Took: time.Duration(2000 + 40*f.Essential + f.Tight*f.Tight/5000)})
		samples = append(samples, cost.Measured{Kind: cost.CPUAnd, Features: f, Took: time.Duration(3000 + 50*n + n*n/50000)})
	}
	d.Costs().Calibrate(samples)
}

// A decision with loaded lists takes less than a microsecond and allocates nothing. The
// difference between cost and gpu is the comparison.
func BenchmarkDecide(b *testing.B) {
	for _, there := range []bool{true, false} {
		benchmarkDecisions(b, there, fmt.Sprintf("images=%v", there), func(b *testing.B, decide func()) {
			b.ReportAllocs()
			for b.Loop() {
				decide()
			}
		})
	}
}

// BenchmarkDecideCold has the median of decisions while other work fills the processor's
// caches.
func BenchmarkDecideCold(b *testing.B) {
	other := make([]byte, 3<<20)
	benchmarkDecisions(b, true, "images=true", func(b *testing.B, decide func()) {
		var took []time.Duration
		for b.Loop() {
			for i := 0; i < len(other); i += 64 {
				other[i]++
			}
			began := time.Now()
			decide()
			took = append(took, time.Since(began))
		}
		slices.Sort(took)
		b.ReportMetric(float64(took[len(took)/2]), "median-ns")
	})
}

// benchmarkDecisions measures queries whose lists have images, or no room for them.
func benchmarkDecisions(b *testing.B, there bool, name string, measure func(b *testing.B, decide func())) {
	o := pipeline.Options{}
	if !there {
		o.Memory.Bytes = 1 << 16
	}
	g := testGPU(b, o)
	snapshot := indextest.Snapshot(b, spacedIndex(b, 30000, 2, 3, 4, 5, 6, 7))
	if _, _, err := g.Warm(b.Context(), snapshot, WarmOptions{}); err != nil {
		b.Fatal(err)
	}
	p, d := dispatched(b, snapshot, g, Config{CPUs: 1})
	slowCPU(d)
	for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeOr} {
		for _, terms := range []int{1, 2, 4, 6} {
			for _, policy := range []Policy{PolicyGPU, PolicyCost} {
				prepared, err := p.gpu.Prepare(p.sc, plantest.Parse(b, "e2 e3 e4 e5 e6 e7"[:3*terms-1]), Options{Mode: mode, K: 10, Policy: policy})
				if err != nil {
					b.Fatal(err)
				}
				b.Run(fmt.Sprintf("%s/mode=%s/terms=%d/policy=%s", name, mode, terms, policy), func(b *testing.B) {
					r := &p.sc.run
					measure(b, func() {
						r.begin(b.Context(), d, prepared, p.sc, nil, nil)
						r.decide()
						r.end()
					})
				})
			}
		}
	}
}
