package index

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// termSampler draws terms from a stream: n with equal probabilities, and n with probabilities that
// rise with the document frequency (Efraimidis and Spirakis, Weighted random sampling with a
// reservoir, Information Processing Letters, 2006: the greatest n keys u^(1/weight)).
type termSampler struct {
	n       int
	rng     *rand.Rand
	uniform []keyedTerm // by key, the greatest first
	byFreq  []keyedTerm
}

type keyedTerm struct {
	key  float64
	term SampledTerm
}

func newTermSampler(n int, seed uint64) *termSampler {
	return &termSampler{n: n, rng: rand.New(rand.NewPCG(seed, 0))}
}

func (t *termSampler) add(field string, term []byte, docFreq uint64) {
	if t.n == 0 {
		return
	}
	t.keep(&t.uniform, t.rng.Float64(), field, term)
	t.keep(&t.byFreq, math.Log(t.rng.Float64())/float64(docFreq), field, term)
}

func (t *termSampler) keep(all *[]keyedTerm, key float64, field string, term []byte) {
	if len(*all) == t.n && key <= (*all)[t.n-1].key {
		return
	}
	if len(*all) == t.n {
		*all = (*all)[:t.n-1]
	}
	at, _ := slices.BinarySearchFunc(*all, key, func(k keyedTerm, key float64) int { return cmp.Compare(key, k.key) })
	*all = slices.Insert(*all, at, keyedTerm{key, SampledTerm{field, string(term)}})
}

// terms returns the terms in random order.
func (t *termSampler) terms() []SampledTerm {
	var out []SampledTerm
	for _, all := range [][]keyedTerm{t.uniform, t.byFreq} {
		for _, k := range all {
			out = append(out, k.term)
		}
	}
	t.rng.Shuffle(len(out), func(i, j int) { out[i], out[j] = out[j], out[i] })
	return out
}
