package trec

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// Comparison reports whether two runs differ in a measure. Both tests are paired and
// two-tailed: PValue is the probability of this or a larger difference between equal runs.
type Comparison struct {
	Measure    string
	NumQueries int // judged queries that either run answers; all judged if complete
	MeanA      float64
	MeanB      float64
	Better     int // queries with a greater value in B
	Worse      int
	// T is the paired t statistic of B - A. T and TPValue are NaN with fewer than two queries;
	// if all differences are equal, T is 0 or ±Inf.
	T       float64
	TPValue float64
	// RandomPValue is of Fisher's randomisation test.
	RandomPValue float64
}

// MarshalJSON writes lower-case names, num_q for the number of queries, and null for values
// that are not finite.
func (c Comparison) MarshalJSON() ([]byte, error) {
	finite := func(v float64) *float64 {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil
		}
		return &v
	}
	return json.Marshal(struct {
		Measure      string   `json:"measure"`
		NumQueries   int      `json:"num_q"`
		MeanA        float64  `json:"mean_a"`
		MeanB        float64  `json:"mean_b"`
		Better       int      `json:"better"`
		Worse        int      `json:"worse"`
		T            *float64 `json:"t"`
		TPValue      *float64 `json:"p_t"`
		RandomPValue float64  `json:"p_randomisation"`
	}{
		c.Measure, c.NumQueries, c.MeanA, c.MeanB, c.Better, c.Worse,
		finite(c.T), finite(c.TPValue), c.RandomPValue,
	})
}

// numPermutations gives a standard error under 0.0007 at p = 0.05.
const numPermutations = 100_000

// Compare tests the difference between evaluations of the same qrels, deterministically; a
// query missing from one counts 0 there. Smucker, Allan, Carterette, A comparison of
// statistical significance tests for information retrieval evaluation, CIKM 2007, recommends
// both tests.
//
// An error wraps ErrUnknownMeasure or ErrNotMean.
func Compare(a, b *Evaluation, measure string) (Comparison, error) {
	ia, ib := a.index(measure), b.index(measure)
	if ia < 0 || ib < 0 {
		return Comparison{}, fmt.Errorf("%w %q: not in both evaluations", ErrUnknownMeasure, measure)
	}
	if a.Measures[ia].family.summary != summaryMean {
		return Comparison{}, fmt.Errorf("%s: %w", measure, ErrNotMean)
	}
	pairs := make(map[string][2]float64)
	if a.complete && b.complete {
		for _, query := range a.Missing {
			pairs[query] = [2]float64{}
		}
	}
	for _, q := range a.Queries {
		pairs[q.Query] = [2]float64{q.Values[ia], 0}
	}
	for _, q := range b.Queries {
		pairs[q.Query] = [2]float64{pairs[q.Query][0], q.Values[ib]}
	}
	queries := make([]string, 0, len(pairs))
	for query := range pairs {
		queries = append(queries, query)
	}
	slices.Sort(queries)

	c := Comparison{Measure: measure, NumQueries: len(pairs)}
	differences := make([]float64, len(queries))
	for i, query := range queries {
		va, vb := pairs[query][0], pairs[query][1]
		c.MeanA += va / float64(len(queries))
		c.MeanB += vb / float64(len(queries))
		differences[i] = vb - va
		switch {
		case vb > va:
			c.Better++
		case vb < va:
			c.Worse++
		}
	}
	c.T, c.TPValue = pairedT(differences)
	c.RandomPValue = randomisation(differences, numPermutations)
	return c, nil
}

// pairedT is Student's test of the differences' mean against 0.
//
// Differences 1, 2, 3, 4: mean 2.5, deviation 1.2910, t = 2.5/(1.2910/2) = 3.8730 with 3
// degrees of freedom, p = 0.0305.
func pairedT(differences []float64) (t, p float64) {
	n := float64(len(differences))
	if n < 2 {
		return math.NaN(), math.NaN()
	}
	mean, squares := 0.0, 0.0
	for _, d := range differences {
		mean += d / n
	}
	for _, d := range differences {
		squares += (d - mean) * (d - mean)
	}
	deviation := math.Sqrt(squares / (n - 1))
	switch {
	case mean == 0:
		return 0, 1
	case deviation == 0:
		return math.Inf(int(math.Copysign(1, mean))), 0
	}
	t = mean / (deviation / math.Sqrt(n))
	freedom := n - 1
	return t, incompleteBeta(freedom/2, 0.5, freedom/(freedom+t*t))
}

// incompleteBeta is the regularised incomplete beta function I_x(a, b), by its continued
// fraction (Press et al., Numerical Recipes, 3rd edition, 2007, §6.4, with Lentz's method).
func incompleteBeta(a, b, x float64) float64 {
	if x <= 0 || x >= 1 {
		return min(max(x, 0), 1)
	}
	if x > (a+1)/(a+b+2) {
		return 1 - incompleteBeta(b, a, 1-x)
	}
	const (
		tiny     = 1e-300
		epsilon  = 1e-14
		maxTerms = 1000
	)
	notTiny := func(v float64) float64 {
		if math.Abs(v) < tiny {
			return tiny
		}
		return v
	}
	c, d := 1.0, 1/notTiny(1-(a+b)*x/(a+1))
	fraction := d
	for m := 1.0; m < maxTerms; m++ {
		even := m * (b - m) * x / ((a + 2*m - 1) * (a + 2*m))
		odd := -(a + m) * (a + b + m) * x / ((a + 2*m) * (a + 2*m + 1))
		d = 1 / notTiny(1+even*d)
		c = notTiny(1 + even/c)
		fraction *= c * d
		d = 1 / notTiny(1+odd*d)
		c = notTiny(1 + odd/c)
		fraction *= c * d
		if math.Abs(c*d-1) < epsilon {
			break
		}
	}
	la, _ := math.Lgamma(a)
	lb, _ := math.Lgamma(b)
	lab, _ := math.Lgamma(a + b)
	return math.Exp(lab-la-lb+a*math.Log(x)+b*math.Log1p(-x)) * fraction / a
}

// The share of random sign assignments with an absolute sum of at least the observed, which is
// included.
func randomisation(differences []float64, permutations int) float64 {
	sum := 0.0
	for _, d := range differences {
		sum += d
	}
	// Sums of the same terms with different signs differ by rounding.
	seen := math.Abs(sum) * (1 - 1e-12)
	random := rand.New(rand.NewPCG(2007, 0))
	extreme := 1
	for range permutations {
		sum, bits := 0.0, uint64(0)
		for i, d := range differences {
			if i%64 == 0 {
				bits = random.Uint64()
			}
			if bits&1 == 1 {
				d = -d
			}
			bits >>= 1
			sum += d
		}
		if math.Abs(sum) >= seen {
			extreme++
		}
	}
	return float64(extreme) / float64(permutations+1)
}
