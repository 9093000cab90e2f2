package sched

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"
)

func BenchmarkDo(b *testing.B) {
	for _, c := range []struct {
		name string
		o    Options
	}{
		{"policy=cpu", Options{Policy: PolicyCPU, Lanes: 1}},
		{"policy=cost", Options{Lanes: 1}},
		{"policy=cost/cpus=16/lanes=4", Options{CPUs: 16, Lanes: 4}},
		{"policy=cost/deadline=1s", Options{Lanes: 1, Deadline: time.Second}},
		{"policy=query", Options{Policy: PolicyQuery, Lanes: 1}},
		{"policy=cost/pin", Options{Lanes: 1, Pin: true}},
	} {
		b.Run(c.name, func(b *testing.B) {
			p := newPool(b, c.o)
			j := &Job{Cost: both(ms, 2*ms)} // pinned, if Pin is set
			ctx := b.Context()
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Do(ctx, j, nothing{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkDoAtOnce(b *testing.B) {
	p := newPool(b, Options{CPUs: 64, Lanes: 1})
	b.RunParallel(func(pb *testing.PB) {
		j := &Job{Cost: both(ms, 2*ms)}
		for pb.Next() {
			if err := p.Do(b.Context(), j, nothing{}); err != nil {
				b.Error(err)
			}
		}
	})
}

type scan struct {
	data []uint32
	n    int
	sum  uint32
}

func (s *scan) Run(context.Context, Place) error {
	for _, v := range s.data[:s.n] {
		s.sum = s.sum*31 + v
	}
	return nil
}

func (*scan) RunBatch(context.Context, []Work, []error) {}

// BenchmarkPin alternates slices with and without pinned threads, at half of
// the capacity, with one job server per core.
func BenchmarkPin(b *testing.B) {
	for _, postings := range []int{1 << 14, 1 << 16, 1 << 18} {
		b.Run(fmt.Sprintf("postings=%d", postings), func(b *testing.B) { benchmarkPin(b, postings) })
	}
}

func benchmarkPin(b *testing.B, postings int) {
	data := make([]uint32, 4*postings)
	latencies := [2][]time.Duration{}
	pools := [2]*Pool{newPool(b, Options{Policy: PolicyCPU, CPUs: runtime.NumCPU(), MaxQueue: -1}), newPool(b, Options{Policy: PolicyCPU, CPUs: runtime.NumCPU(), MaxQueue: -1, Pin: true})}
	alone := &scan{data: data, n: postings}
	_ = alone.Run(b.Context(), CPU)
	start := time.Now()
	for range 100 {
		_ = alone.Run(b.Context(), CPU)
	}
	mean := time.Since(start) / 100
	var mu sync.Mutex
	random := rand.New(rand.NewPCG(1, 1))
	for round := 0; b.Loop(); round++ {
		for i := range pools {
			pinned := (i + round) % 2
			pool := pools[pinned]
			var group sync.WaitGroup
			next := time.Now()
			for range 200 {
				gap := random.ExpFloat64() * float64(mean) / float64(pool.Options().CPUs) * 2
				next = next.Add(time.Duration(gap))
				time.Sleep(time.Until(next))
				at, n := next, int(min(random.ExpFloat64(), 4)*float64(alone.n))
				group.Go(func() {
					w := &scan{data: data, n: n}
					if err := pool.Do(b.Context(), &Job{Cost: both(time.Duration(n)*mean/time.Duration(postings), Never)}, w); err != nil {
						b.Error(err)
					}
					took := time.Since(at)
					mu.Lock()
					latencies[pinned] = append(latencies[pinned], took)
					mu.Unlock()
				})
			}
			group.Wait()
		}
	}
	quantile := func(pinned int, q float64) float64 {
		slices.Sort(latencies[pinned])
		return float64(latencies[pinned][int(q*float64(len(latencies[pinned])-1))])
	}
	b.ReportMetric(quantile(1, 0.5)/quantile(0, 0.5), "pinned/free-p50")
	b.ReportMetric(quantile(1, 0.99)/quantile(0, 0.99), "pinned/free-p99")
	b.ReportMetric(quantile(0, 0.99)/1e6, "free-p99-ms")
	b.ReportMetric(float64(mean)/1e6, "mean-job-ms")
}
