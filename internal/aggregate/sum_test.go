package aggregate

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestExactSum compares with rational numbers, in several orders.
func TestExactSum(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		list := make([]float64, 1+r.IntN(30))
		want := new(big.Rat)
		for i := range list {
			for {
				list[i] = math.Float64frombits(r.Uint64())
				if r.IntN(2) == 0 {
					list[i] = math.Ldexp(r.Float64()-0.5, r.IntN(100)-50)
				}
				if !math.IsNaN(list[i]) && !math.IsInf(list[i], 0) {
					break
				}
			}
			if i > 0 && r.IntN(3) == 0 {
				list[i] = -list[r.IntN(i)]
			}
			want.Add(want, new(big.Rat).SetFloat64(list[i]))
		}
		expected, _ := want.Float64()
		for range 3 {
			var s exactSum
			for _, v := range list {
				s.add(v)
				if r.IntN(5) == 0 {
					s.propagate()
				}
			}
			if got := s.value(); got != expected {
				t.Fatalf("sum of %g is %g, want %g", list, got, expected)
			}
			r.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		}
	}
}

func TestExactSumOfSpecials(t *testing.T) {
	for _, c := range []struct{ list []float64 }{
		{[]float64{1, math.Inf(1), -5}},
		{[]float64{math.Inf(1), math.Inf(-1)}},
		{[]float64{math.NaN(), 1}},
		{nil},
		{[]float64{0, math.Copysign(0, -1)}},
		{[]float64{math.MaxFloat64, math.MaxFloat64, -math.MaxFloat64}},
		{[]float64{5e-324, 5e-324}},
	} {
		var s exactSum
		want := 0.0
		for _, v := range c.list {
			s.add(v)
		}
		switch {
		case len(c.list) == 3 && c.list[0] == math.MaxFloat64: // plain addition overflows
			want = math.MaxFloat64
		default:
			for _, v := range c.list {
				want += v
			}
		}
		if got := s.value(); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
			t.Errorf("sum of %g is %g, want %g", c.list, got, want)
		}
	}
}

// TestManyAdditions passes the number of additions after which carries are propagated.
func TestManyAdditions(t *testing.T) {
	s := exactSum{adds: maxAdds - 10}
	for range 20 {
		s.add(math.MaxUint32)
	}
	if got := s.value(); got != 20*math.MaxUint32 {
		t.Errorf("sum %g", got)
	}
	if s.adds != 10 {
		t.Errorf("%d additions since carries were propagated, want 10", s.adds)
	}
}

func TestSumOfIntegers(t *testing.T) {
	var s sumOf
	want := new(big.Int)
	for range 3 {
		for _, v := range []int64{math.MaxInt64, math.MaxInt64, math.MinInt64, -1, 7} {
			s.addInteger(v)
			want.Add(want, big.NewInt(v))
		}
		expected, _ := new(big.Float).SetInt(want).Float64()
		if got := s.value(); got != expected {
			t.Errorf("sum %g, want %g", got, expected)
		}
	}
}

func BenchmarkExactSum(b *testing.B) {
	r := rand.New(rand.NewPCG(5, 6))
	list := make([]float64, 4096)
	for i := range list {
		list[i] = r.Float64() * 1000
	}
	var s exactSum
	for b.Loop() {
		for _, v := range list {
			s.add(v)
		}
	}
	b.ReportMetric(float64(b.N)*float64(len(list))/b.Elapsed().Seconds(), "values/s")
}
