package lab

import (
	"context"
	"runtime"
	"slices"
	"time"
)

// Variant is a way to do the same work.
type Variant struct {
	Name string
	Do   func() error
}

// Timing is the measured times of a variant.
type Timing struct {
	Min, Median time.Duration
}

// Compare measures each variant once as a warm-up, then rounds times in turn,
// so that disturbances affect all. The garbage collector runs before the
// rounds, and in them only if the variants allocate a lot.
func Compare(ctx context.Context, rounds int, variants ...Variant) ([]Timing, error) {
	times := make([][]int64, len(variants))
	runtime.GC()
	for round := range rounds + 1 {
		for i, v := range variants {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			start := time.Now()
			if err := v.Do(); err != nil {
				return nil, err
			}
			if round > 0 {
				times[i] = append(times[i], time.Since(start).Nanoseconds())
			}
		}
	}
	timings := make([]Timing, len(variants))
	for i, t := range times {
		slices.Sort(t)
		timings[i] = timingOf(t)
	}
	return timings, nil
}

func timingOf(sorted []int64) Timing {
	return Timing{Min: time.Duration(sorted[0]), Median: time.Duration(sorted[len(sorted)/2])}
}

// Per returns the minimum time per unit in nanoseconds.
func (t Timing) Per(units int) float64 { return float64(t.Min.Nanoseconds()) / float64(max(units, 1)) }

// PerSecond returns the units per second at the minimum time.
func (t Timing) PerSecond(units int) float64 { return float64(units) / max(t.Min.Seconds(), 1e-9) }
