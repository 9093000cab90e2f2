package contraction

import (
	"math/big"
	"testing"
)

func enumerate(i, n, m, r int) *big.Rat {
	mean := big.NewRat(int64(i*(m+1)), int64(n+1))
	sum, count := new(big.Rat), int64(0)
	var choose func(next, chosen, ith int)
	choose = func(next, chosen, ith int) {
		if chosen == n {
			d := new(big.Rat).Sub(big.NewRat(int64(ith), 1), mean)
			p := big.NewRat(1, 1)
			for range r {
				p.Mul(p, d)
			}
			sum.Add(sum, p)
			count++
			return
		}
		for k := next; k <= m; k++ {
			at := ith
			if chosen+1 == i {
				at = k
			}
			choose(k+1, chosen+1, at)
		}
	}
	choose(1, 0, 0)
	return sum.Quo(sum, big.NewRat(count, 1))
}

func TestCentralMoment(t *testing.T) {
	for _, c := range []struct{ i, n, m int }{{1, 1, 5}, {1, 3, 7}, {2, 3, 7}, {3, 3, 9}, {2, 4, 10}, {5, 5, 5}} {
		for _, r := range []int{0, 1, 2, 4, 6} {
			got, want := CentralMoment(c.i, c.n, c.m, r), enumerate(c.i, c.n, c.m, r)
			if got.Cmp(want) != 0 {
				t.Errorf("%+v, order %d: %s, want %s", c, r, got, want)
			}
		}
	}
}

// variance returns E[(X - E(X))^2] in closed form (Ao et al., Equation 6).
func variance(i, n, m int) *big.Rat {
	num := big.NewInt(int64(i))
	for _, f := range []int{1 + m, 1 - i + n, m - n} {
		num.Mul(num, big.NewInt(int64(f)))
	}
	den := big.NewInt(int64(n + 1))
	den.Mul(den, den).Mul(den, big.NewInt(int64(n+2)))
	return new(big.Rat).SetFrac(num, den)
}

// Equation 6 is the moment of order 2.
func TestVariance(t *testing.T) {
	for _, c := range []struct{ i, n, m int }{{1, 1, 5}, {2, 4, 10}, {500, 1000, 1 << 20}, {50000, 100000, 1 << 24}} {
		if got, want := CentralMoment(c.i, c.n, c.m, 2), variance(c.i, c.n, c.m); got.Cmp(want) != 0 {
			t.Errorf("%+v: %s, want %s", c, got.FloatString(9), want.FloatString(9))
		}
	}
}

// Ao et al., Table 5.
func TestDeviationBits(t *testing.T) {
	want := map[int]int{100_000: 18, 200_000: 18, 400_000: 17, 800_000: 17, 1_000_000: 17, 2_000_000: 16}
	for n, bits := range want {
		if got := DeviationBits(n, 1<<24, DefaultOrder, 1e-5); got != bits {
			t.Errorf("n = %d: %d bits, want %d as in the paper", n, got, bits)
		}
	}
}

func TestLogOf(t *testing.T) {
	huge := new(big.Rat).SetInt(new(big.Int).Lsh(big.NewInt(1), 5000))
	if got, want := logOf(huge), 5000*0.6931471805599453; got != want {
		t.Errorf("log of 2^5000: %v, want %v", got, want)
	}
}
