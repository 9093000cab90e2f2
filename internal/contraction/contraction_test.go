package contraction

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// Strictly increasing, from linear to irregular.
func sequences() map[string][]uint32 {
	rng := rand.New(rand.NewPCG(1, 2))
	out := map[string][]uint32{
		"empty":    nil,
		"one":      {7},
		"two":      {0, 1<<32 - 2},
		"convex":   nil,
		"concave":  nil,
		"maximal":  nil,
		"run":      nil,
		"far away": nil,
	}
	for i := range uint32(65000) {
		out["convex"] = append(out["convex"], i*i)
		out["maximal"] = append(out["maximal"], i*66000)
		out["run"] = append(out["run"], i)
		out["far away"] = append(out["far away"], 1<<32-2-65000+i)
	}
	for _, d := range out["convex"] {
		out["concave"] = append(out["concave"], 1<<32-2-d)
	}
	slices.Reverse(out["concave"])
	for _, n := range []int{3, 64, 1000, 20000} {
		for _, spread := range []uint64{2, 300, (1<<32 - 2) / uint64(n)} {
			uniform, clustered := make([]uint32, 0, n), make([]uint32, n)
			set := map[uint32]bool{}
			for len(set) < n {
				set[uint32(rng.Uint64N(spread*uint64(n)))] = true
			}
			for d := range set {
				uniform = append(uniform, d)
			}
			slices.Sort(uniform)
			d := uint64(0)
			for i := range clustered {
				if rng.IntN(50) == 0 {
					d += rng.Uint64N(spread*20 + 1)
				}
				d = min(d+1, 1<<32-2-uint64(n-i))
				clustered[i] = uint32(d)
			}
			out[fmt.Sprintf("uniform n=%d spread=%d", n, spread)] = uniform
			out[fmt.Sprintf("clustered n=%d spread=%d", n, spread)] = clustered
		}
	}
	return out
}

// Elements, their neighbours, and extremes.
func targets(seq []uint32, rng *rand.Rand) []uint32 {
	out := []uint32{0, 1, 1<<32 - 2, 1<<32 - 1}
	step := 1 + len(seq)/500
	for i := 0; i < len(seq); i += step {
		d := seq[i]
		out = append(out, d, d+1, d-1, rng.Uint32())
	}
	return out
}

func search(seq []uint32, x uint32) int {
	for i, d := range seq {
		if d >= x {
			return i
		}
	}
	return len(seq)
}

func TestAllSearches(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	sequences := sequences()
	for _, name := range slices.Sorted(maps.Keys(sequences)) {
		seq := sequences[name]
		safe := NewSafeRange(seq)
		local := map[int]*localRange{}
		for _, g := range []int{1, 4, 32} {
			local[g] = newLocalRange(seq, g)
		}
		buckets := map[int]*Buckets{}
		for size := 16; size <= 256; size *= 2 {
			buckets[size] = NewBuckets(seq, 1<<32-1, size)
		}
		costed := counted{Seq: seq, Safe: safe, local: local[4], Buckets: buckets[16]}
		for _, x := range targets(seq, rng) {
			want, _ := slices.BinarySearch(seq, x) // itself checked below
			if len(seq) < 2000 && want != search(seq, x) {
				t.Fatalf("%s: %d: the standard library returns %d", name, x, want)
			}
			check := func(what string, got int) {
				t.Helper()
				if got != want {
					t.Fatalf("%s: %s finds %d at %d, want %d", name, what, x, got, want)
				}
			}
			ranged := func(what string, lo, hi int) {
				t.Helper()
				if lo < 0 || lo > hi || hi > len(seq) {
					t.Fatalf("%s: %s: range [%d, %d) of %d", name, what, lo, hi, len(seq))
				}
				check(what, Binary(seq, lo, hi, x))
			}
			check("Binary", Binary(seq, 0, len(seq), x))
			check("Interpolate", Interpolate(seq, x))
			lo, hi := safe.Range(x)
			ranged("SafeRange", lo, hi)
			for g, l := range local {
				lo, hi := l.Range(x)
				ranged(fmt.Sprintf("LocalRange of %d", g), lo, hi)
			}
			for size, b := range buckets {
				lo, hi := b.Range(x)
				ranged(fmt.Sprintf("HS%d", size), lo, hi)
			}
			for _, s := range []searcher{binarySearch, interpolationSearch, linearRegression, localRegression, hashSegmentation} {
				check(fmt.Sprintf("Counted searcher %d", s), costed.search(s, x))
			}
		}
	}
}

func TestFit(t *testing.T) {
	l := Fit([]uint32{3, 5, 10})
	if l.Slope != 7<<31 || l.Intercept != 2 { // 3.5, and 6 - 3.5 = 2.5 rounded
		t.Errorf("Fit(3, 5, 10) = %+v", l)
	}
	for name, seq := range sequences() {
		if len(seq) < 2 {
			continue
		}
		// Textbook sums in exact rational numbers.
		n := big.NewRat(int64(len(seq)), 1)
		x, y, xx, xy := new(big.Int), new(big.Int), new(big.Int), new(big.Int)
		for i, d := range seq {
			bi, bd := big.NewInt(int64(i)), big.NewInt(int64(d))
			x.Add(x, bi)
			y.Add(y, bd)
			xx.Add(xx, new(big.Int).Mul(bi, bi))
			xy.Add(xy, new(big.Int).Mul(bi, bd))
		}
		rat := func(i *big.Int) *big.Rat { return new(big.Rat).SetInt(i) }
		mul := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Mul(a, b) }
		sub := func(a, b *big.Rat) *big.Rat { return new(big.Rat).Sub(a, b) }
		slope := new(big.Rat).Quo(
			sub(mul(n, rat(xy)), mul(rat(x), rat(y))),
			sub(mul(n, rat(xx)), mul(rat(x), rat(x))))
		intercept := new(big.Rat).Quo(sub(rat(y), mul(slope, rat(x))), n)
		wantSlope, _ := slope.Float64()
		wantIntercept, _ := intercept.Float64()
		got := Fit(seq)
		if math.Abs(float64(got.Slope)/0x1p32/wantSlope-1) > 1e-9 || math.Abs(float64(got.Intercept)-wantIntercept) > 2+1e-6*math.Abs(wantIntercept) {
			t.Errorf("%s: %+v, want slope %g and intercept %g", name, got, wantSlope, wantIntercept)
		}
	}
}

func TestPositionNeverFalls(t *testing.T) {
	for name, seq := range sequences() {
		l := Fit(seq)
		last := l.Position(0)
		for x := uint64(0); x < 1<<32; x += 1<<16 - 1 {
			if p := l.Position(uint32(x)); p < last {
				t.Fatalf("%s: Position(%d) = %d after %d", name, x, p, last)
			} else {
				last = p
			}
		}
	}
}

func TestSafeRangeIsTight(t *testing.T) {
	for name, seq := range sequences() {
		if len(seq) == 0 {
			continue
		}
		r := NewSafeRange(seq)
		left, right := math.MinInt, math.MinInt
		for i, d := range seq {
			left, right = max(left, r.Position(d)-i), max(right, i-r.Position(d))
		}
		if left != r.Left || right != r.Right {
			t.Errorf("%s: deviations %d and %d, want %d and %d", name, r.Left, r.Right, left, right)
		}
	}
}

func TestBucketBits(t *testing.T) {
	for _, c := range []struct {
		n        int
		universe uint64
		size     int
		want     uint8
	}{
		{1000, 50000, 16, 10},
		{1024, 1 << 16, 16, 10}, // 64 buckets: 1024/16 <= 2^6
		{1025, 1 << 16, 16, 9},
		{1, 1 << 16, 16, 16},
		{16, 1 << 32, 16, 32},
		{100, 100, 1, 0}, // at most the bits of the universe
		{1, 1, 256, 0},
	} {
		if got := BucketBits(c.n, c.universe, c.size); got != c.want {
			t.Errorf("BucketBits(%d, %d, %d) = %d, want %d", c.n, c.universe, c.size, got, c.want)
		}
	}
}

func TestBucketSizes(t *testing.T) {
	for name, seq := range sequences() {
		b := NewBuckets(seq, 1<<32-1, 32)
		want := map[uint32]int{}
		for _, d := range seq {
			want[d>>b.Shift]++
		}
		h, sum := uint32(0), 0
		b.Sizes(func(size int) {
			if size != want[h] {
				t.Errorf("%s: bucket %d has %d, want %d", name, h, size, want[h])
			}
			h++
			sum += size
		})
		if sum != len(seq) {
			t.Errorf("%s: the buckets hold %d of %d", name, sum, len(seq))
		}
	}
}

func TestMeasure(t *testing.T) {
	line := make([]uint32, 1000)
	for i := range line {
		line[i] = uint32(17*i + 4)
	}
	if got := Measure(line); got.R2 < 1-1e-12 || got.Contraction > 0.002 {
		t.Errorf("a line: %+v", got)
	}
	// The slope is 2.8, R2 = 14^2/(5*50) = 0.784.
	if got := Measure([]uint32{0, 1, 2, 9}); math.Abs(got.R2-0.784) > 1e-12 {
		t.Errorf("R2 of 0, 1, 2, 9: %v", got.R2)
	}
	if got := Measure(nil); got != (Linearity{R2: 1}) {
		t.Errorf("of nothing: %+v", got)
	}
}

func TestSearchesDoNotAllocate(t *testing.T) {
	seq := sequences()["uniform n=20000 spread=300"]
	safe, buckets, local := NewSafeRange(seq), NewBuckets(seq, 6000000, 16), newLocalRange(seq, 8)
	sum := 0
	if n := testing.AllocsPerRun(10, func() {
		lo, hi := safe.Range(3000000)
		sum += Binary(seq, lo, hi, 3000000)
		lo, hi = buckets.Range(3000000)
		sum += Binary(seq, lo, hi, 3000000)
		lo, hi = local.Range(3000000)
		sum += Binary(seq, lo, hi, 3000000) + Interpolate(seq, 3000000)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func TestCountedCosts(t *testing.T) {
	seq := sequences()["uniform n=20000 spread=300"]
	costs := map[searcher]Count{}
	for _, s := range []searcher{binarySearch, interpolationSearch, linearRegression, localRegression, hashSegmentation} {
		c := counted{Seq: seq, Safe: NewSafeRange(seq), local: newLocalRange(seq, 16), Buckets: NewBuckets(seq, 6000000, 16)}
		for _, x := range seq {
			c.search(s, x)
		}
		costs[s] = c.Count
	}
	per := func(s searcher) float64 { return float64(costs[s].Comparisons) / float64(costs[s].Searches) }
	if got := per(binarySearch); got < 13.9 || got > 15 { // log2(20000) = 14.3
		t.Errorf("binary search compares %.2f times", got)
	}
	if per(linearRegression) > per(binarySearch)-4 || per(hashSegmentation) > 7 || per(interpolationSearch) > 8 {
		t.Errorf("contraction does not reduce comparisons: LR %.2f, HS16 %.2f, IS %.2f of %.2f comparisons",
			per(linearRegression), per(hashSegmentation), per(interpolationSearch), per(binarySearch))
	}
}

func BenchmarkSearch(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	seq := make([]uint32, 1<<20)
	d := uint32(0)
	for i := range seq {
		d += 1 + rng.Uint32N(40)
		seq[i] = d
	}
	xs := make([]uint32, 1<<16)
	for i := range xs {
		xs[i] = rng.Uint32N(d)
	}
	safe, local := NewSafeRange(seq), newLocalRange(seq, 64)
	run := func(name string, f func(x uint32) int) {
		b.Run("search="+name, func(b *testing.B) {
			sum, i := 0, 0
			for b.Loop() {
				sum += f(xs[i&(len(xs)-1)])
				i++
			}
		})
	}
	run("binary", func(x uint32) int { return Binary(seq, 0, len(seq), x) })
	run("interpolation", func(x uint32) int { return Interpolate(seq, x) })
	run("lr", func(x uint32) int { lo, hi := safe.Range(x); return Binary(seq, lo, hi, x) })
	run("lr-local", func(x uint32) int { lo, hi := local.Range(x); return Binary(seq, lo, hi, x) })
	for size := 16; size <= 256; size *= 2 {
		table := NewBuckets(seq, uint64(d)+1, size)
		run(fmt.Sprintf("hs%d", size), func(x uint32) int { lo, hi := table.Range(x); return Binary(seq, lo, hi, x) })
	}
}
