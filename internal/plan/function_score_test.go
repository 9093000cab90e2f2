package plan

import (
	"math"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/query"
)

// matchesFunctions follows the definition of query.FunctionScore for functions without columns.
func (o *oracle) matchesFunctions(d *oracleDoc, n *query.FunctionScore, mode Mode, boost float64) (bool, float64) {
	matched, s := true, boost
	if n.Node != nil {
		matched, s = o.matches(d, n.Node, mode, boost)
	}
	if !matched {
		return false, 0
	}
	var values, weights []float64
	for i := range n.Functions {
		f := &n.Functions[i]
		if f.Filter != nil {
			if ok, _ := o.matches(d, f.Filter, mode, 1); !ok {
				continue
			}
		}
		weight, value := 1.0, 1.0
		if f.Weight != nil {
			weight = *f.Weight
		}
		if f.Random != nil {
			value = uniform(f.Random.Seed, idHash([]byte(d.id)))
		}
		values, weights = append(values, weight*value), append(weights, weight)
	}
	s = boostedBy(n, s, scoreFactor(n.ScoreMode, values, weights))
	return s >= n.MinScore, s
}

func scoreFactor(mode query.ScoreMode, values, weights []float64) float64 {
	if len(values) == 0 {
		return 1
	}
	sum, product, least, most, all := 0.0, 1.0, math.Inf(1), 0.0, 0.0
	for i, v := range values {
		sum, product, least, most, all = sum+v, product*v, min(least, v), max(most, v), all+weights[i]
	}
	if all == 0 {
		all = 1
	}
	return map[query.ScoreMode]float64{
		query.ScoreMultiply: product, query.ScoreSum: sum, query.ScoreAvg: sum / all, query.ScoreFirst: values[0], query.ScoreMax: most, query.ScoreMin: least,
	}[mode]
}

func boostedBy(n *query.FunctionScore, s, factor float64) float64 {
	if n.MaxBoost > 0 {
		factor = min(factor, n.MaxBoost)
	}
	return map[query.BoostMode]float64{
		query.BoostMultiply: s * factor, query.BoostReplace: factor, query.BoostSum: s + factor, query.BoostAvg: (s + factor) / 2,
		query.BoostMax: max(s, factor), query.BoostMin: min(s, factor),
	}[n.BoostMode]
}

// scoreFunctions is in fixed point, of a planned tree.
func (o *oracle) scoreFunctions(d *oracleDoc, n *functionScore, terms []term) (bool, base.Score) {
	ok, s := o.score(d, n.child, terms)
	if !ok {
		return false, 0
	}
	values := make([]functionValue, len(n.functions))
	for i := range n.functions {
		f := &n.functions[i]
		v := functionValue{f.weight, true}
		if f.filter != nil {
			v.applies, _ = o.score(d, f.filter, terms)
		}
		if r, random := f.value.(*randomID); random {
			v.value *= uniform(r.seed, idHash([]byte(d.id)))
		}
		values[i] = v
	}
	s = n.combine(s, n.factor(values))
	return s >= n.least, s
}

// Random numbers are even, and differ by seed.
func TestUniform(t *testing.T) {
	const n = 10_000
	var counts [10]int
	same := 0
	for i := range uint64(n) {
		v := uniform(1, idHash([]byte{byte(i), byte(i >> 8)}))
		if v < 0 || v >= 1 {
			t.Fatalf("%v", v)
		}
		counts[int(10*v)]++
		if v == uniform(2, idHash([]byte{byte(i), byte(i >> 8)})) {
			same++
		}
	}
	for i, c := range counts {
		if c < n/10-200 || c > n/10+200 {
			t.Errorf("%d numbers of %d in part %d", c, n, i)
		}
	}
	if same > 3 {
		t.Errorf("%d numbers are the same with another seed", same)
	}
}

// A factor that is no number counts as 0.
func TestFactorIsNoNumber(t *testing.T) {
	factor := (&functionScore{functions: make([]function, 2)}).factor([]functionValue{{math.Inf(1), true}, {0, true}})
	for mode, want := range map[query.BoostMode]float64{
		query.BoostMultiply: 0, query.BoostReplace: 0, query.BoostSum: 3, query.BoostAvg: 1.5, query.BoostMax: 3, query.BoostMin: 0,
	} {
		n := &functionScore{boost: mode, maxBoost: math.Inf(1)}
		if got := n.combine(base.Score(3<<base.ScoreFractionBits), factor).Float64(); got != want {
			t.Errorf("mode %d, factor %g: score %g, want %g", mode, factor, got, want)
		}
	}
}
