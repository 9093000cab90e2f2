package aggregate

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/mapping"
)

// TestCardinality: exact up to the threshold, then within three standard errors, whatever the order.
func TestCardinality(t *testing.T) {
	const threshold = 3000
	for _, n := range []int{0, 1, threshold, threshold + 1, 20_000, 100_000} {
		var d, backwards distinct
		for i := range n {
			d.add(mix(uint64(i)), threshold)
			d.add(mix(uint64(i/2)), threshold)
			backwards.add(mix(uint64(n-1-i)), threshold)
		}
		got := d.count()
		if got != backwards.count() {
			t.Errorf("%d different values: %d, backwards %d", n, got, backwards.count())
		}
		if n <= threshold && got != int64(n) {
			t.Errorf("%d different values: %d", n, got)
		}
		if off := math.Abs(float64(got)-float64(n)) / max(float64(n), 1); off > 0.025 {
			t.Errorf("%d different values: %d, off by %.3f", n, got, off)
		}
	}
}

// TestQuantilesBeyondExact: ranks are off by less than one in 10,000, and the state depends on the values
// only.
func TestQuantilesBeyondExact(t *testing.T) {
	n := 2 * maxDistinct
	for _, c := range []struct {
		name  string
		kind  mapping.Type
		value func(r *rand.Rand) int64
	}{
		{"dates of ten years", mapping.Date, func(r *rand.Rand) int64 { return r.Int64N(3e11) }},
		{"normal", mapping.Double, func(r *rand.Rand) int64 { return mapping.EncodeDouble(r.NormFloat64()) }},
		{"over many powers", mapping.Double, func(r *rand.Rand) int64 { return mapping.EncodeDouble(math.Exp(40*r.Float64() - 20)) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 1))
			values := make([]int64, n)
			var q, backwards quantiles
			for i := range values {
				values[i] = c.value(r)
				q.add(values[i])
			}
			for i := range values {
				backwards.add(values[n-1-i])
			}
			q.finish()
			backwards.finish()
			if !slices.Equal(q.keys, backwards.keys) || !slices.Equal(q.counts, backwards.counts) || q.shift != backwards.shift {
				t.Error("the state depends on the order")
			}
			if len(q.keys) > maxDistinct || q.shift == 0 {
				t.Fatalf("%d keys, shift %d", len(q.keys), q.shift)
			}
			slices.Sort(values)
			for _, share := range []float64{0, 0.001, 0.25, 0.5, 0.9, 0.999, 1} {
				got := q.value(share, c.kind)
				at, _ := slices.BinarySearchFunc(values, got, func(v int64, target float64) int {
					if c.kind.Float64(v) < target {
						return -1
					}
					return 1
				})
				if off := math.Abs(float64(at)/float64(n) - share); off > 1e-4 {
					t.Errorf("share %g: value %g has rank %g", share, got, float64(at)/float64(n))
				}
				if rank := q.rank(got, c.kind); math.Abs(rank-share) > 1e-4 {
					t.Errorf("share %g: value %g, rank %g", share, got, rank)
				}
			}
		})
	}
}

// TestQuantilesOfFew has worked numbers.
func TestQuantilesOfFew(t *testing.T) {
	var q quantiles
	for _, v := range []int64{5, 1, 4, 2, 3} {
		q.add(v)
	}
	q.finish()
	for share, want := range map[float64]float64{0: 1, 0.25: 1.75, 0.5: 3, 0.9: 5, 1: 5} {
		if got := q.value(share, mapping.Long); got != want {
			t.Errorf("share %g: %g, want %g", share, got, want)
		}
	}
	for v, want := range map[float64]float64{0: 0, 1: 0.1, 1.75: 0.25, 3: 0.5, 5: 0.9, 6: 1} {
		if got := q.rank(v, mapping.Long); math.Abs(got-want) > 1e-12 {
			t.Errorf("rank of %g: %g, want %g", v, got, want)
		}
	}
}

func BenchmarkQuantiles(b *testing.B) {
	for _, spread := range []int64{1000, 1 << 40} {
		b.Run(fmt.Sprintf("values=%d", spread), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 1))
			values := make([]int64, 1<<20)
			for i := range values {
				values[i] = r.Int64N(spread)
			}
			for b.Loop() {
				var q quantiles
				for _, v := range values {
					q.add(v)
				}
				q.finish()
			}
			b.ReportMetric(float64(b.N)*float64(len(values))/b.Elapsed().Seconds(), "values/s")
		})
	}
}
