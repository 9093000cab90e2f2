package cost

import (
	"encoding/json"
	"errors"
	"math"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestLogarithms(t *testing.T) {
	last := -1.0
	for x := 1.0; x < 1e12; x *= 1.0007 {
		got := log2(x)
		if d := math.Abs(got - math.Log2(x)); d > 0.001 {
			t.Fatalf("log2(%g) = %g, off by %g", x, got, d)
		}
		if got <= last {
			t.Fatalf("log2(%g) = %g, after %g", x, got, last)
		}
		last = got
	}
	for n := range 60 {
		x := math.Ldexp(1, n)
		if got := log2(x); got != float64(n) {
			t.Errorf("log2(2^%d) = %g", n, got)
		}
		if below := log2(math.Nextafter(x, math.Inf(1))); below < float64(n) || below > float64(n)+1e-9 {
			t.Errorf("log2 jumps at 2^%d: %g", n, below)
		}
	}
	last = 0
	for x := -20.0; x < 60; x += 0.0007 {
		got := exp2(x)
		if d := math.Abs(got/math.Exp2(x) - 1); d > 2e-4 {
			t.Fatalf("exp2(%g) = %g, off by %g", x, got, d)
		}
		if got <= last {
			t.Fatalf("exp2(%g) = %g, after %g", x, got, last)
		}
		last = got
	}
	for _, x := range []float64{math.Inf(-1), math.Inf(1), -1e300, 1e300} {
		if got := exp2(x); !(got > 0) || math.IsInf(got, 0) {
			t.Errorf("exp2(%g) = %g", x, got)
		}
	}
}

// A list of 1280 postings has 10 blocks; 5 documents fall into 10*(1-e^-0.5) =
// 3.93 of them, and each is found in log2(1+256) = 8.006 steps.
func TestQuantities(t *testing.T) {
	if got := touched(5, 1280); math.Abs(got-3.9347) > 0.002 {
		t.Errorf("touched(5, 1280) = %g, not 3.9347", got)
	}
	if got := probes(5, 1280); math.Abs(got-5*8.0056) > 0.01 {
		t.Errorf("probes(5, 1280) = %g, not 40.03", got)
	}
	for _, n := range []int64{0, 1, 1 << 40} {
		if got := touched(n, 0); got != 0 {
			t.Errorf("touched(%d, 0) = %g", n, got)
		}
		if got := probes(0, n); got != 0 {
			t.Errorf("probes(0, %d) = %g", n, got)
		}
	}
	if got := touched(1<<40, 1281); math.Abs(got-11) > 1e-9 {
		t.Errorf("touched(2^40, 1281) = %g, not all 11 blocks", got)
	}
}

// Every kind has a parseable name, a basis that fits, begins with the constant
// and is nowhere negative, and all priors.
func TestKinds(t *testing.T) {
	f := Features{
		Lists: 3, K: 10, Shortest: 10, Second: 300, Longest: 5000, Sum: 5310, Essential: 310, Tight: 10, Candidates: 7,
		Blocks: 20, BytesBus: 3000, BytesFile: 2000, Batch: 2,
	}
	for k := range NumKinds {
		if got, ok := ParseKind(k.String()); !ok || got != k {
			t.Errorf("%v: read back as %v, %v", k, got, ok)
		}
		var back Kind
		if data, err := json.Marshal(k); err != nil || json.Unmarshal(data, &back) != nil || back != k || string(data) != `"`+k.String()+`"` {
			t.Errorf("%v: as JSON %s, %v, read back as %v", k, data, err, back)
		}
		var x [maxBasis]float64
		n := basis(k, &f, &x)
		if n < 2 || n > maxBasis || x[0] != 1 {
			t.Errorf("%v: basis %v of %d", k, x, n)
		}
		for i, v := range x {
			if v < 0 || i >= n && (v != 0 || priors[k][i] != 0) {
				t.Errorf("%v: quantity %d of %d is %g, its prior %g", k, i, n, v, priors[k][i])
			}
			if priors[k][i] < 0 || priors[k][i] > maxCoefficient {
				t.Errorf("%v: prior %d is %g", k, i, priors[k][i])
			}
		}
		if priors[k][0] == 0 {
			t.Errorf("%v: the prior has no constant", k)
		}
		if New(Machine{}).Predict(k, &Features{}) <= 0 {
			t.Errorf("%v: nothing takes no time", k)
		}
	}
	if _, ok := ParseKind("gpu-or"); ok {
		t.Error("there is a kind gpu-or")
	}
	var none Kind
	if err := json.Unmarshal([]byte(`"gpu-or"`), &none); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a kind gpu-or was read: %v", err)
	}
	if s := NumKinds.String(); s != "kind 17" {
		t.Errorf("kind beyond the last: %q", s)
	}
}

func TestEssential(t *testing.T) {
	for _, c := range []struct {
		f         Features
		essential float64
		tight     float64
	}{
		{Features{Sum: 100}, 100, 100},
		{Features{Sum: 100, Essential: 40}, 40, 40},
		{Features{Sum: 100, Essential: 40, Tight: 10}, 40, 10},
	} {
		if e, tight := c.f.essential(); e != c.essential || tight != c.tight {
			t.Errorf("%+v: %g, %g", c.f, e, tight)
		}
	}
}

func TestFormerNames(t *testing.T) {
	for name, want := range map[string]Kind{"gpu-direct-or": GPUPackedOr, "gpu-direct-and": GPUPackedAnd} {
		t.Run(name, func(t *testing.T) {
			var k Kind
			if err := k.UnmarshalText([]byte(name)); err != nil || k != want {
				t.Errorf("kind %v, error %v; want %v", k, err, want)
			}
		})
	}
}
