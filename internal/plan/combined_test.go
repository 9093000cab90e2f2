package plan

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/query"
)

// bm25F returns the numbers of a word in weighted fields, and the idf of the combined field.
func (o *oracle) bm25F(d *oracleDoc, word string, fields []int, weights []float64) (freq, length, avgLen, idf float64) {
	for i, f := range fields {
		freq += weights[i] * float64(d.freq(f, []string{word}))
		length += weights[i] * float64(d.length[f])
		avgLen += weights[i] * o.avgLen[f]
	}
	n := uint64(0)
	for i := range o.docs {
		if o.docs[i].live && slices.ContainsFunc(fields, func(f int) bool { return o.docs[i].freq(f, []string{word}) > 0 }) {
			n++
		}
	}
	if avgLen == 0 {
		avgLen = 1
	}
	return freq, length, avgLen, score.IDF(o.numLive, n)
}

// matchesCombined follows the definition of query.Combined, word by word.
func (o *oracle) matchesCombined(d *oracleDoc, n *query.Combined, mode Mode, boost float64) (bool, float64) {
	var fields []int
	var weights []float64
	for _, f := range n.Fields {
		field := slices.Index(o.fields, f.Name)
		if i := slices.Index(fields, field); i >= 0 {
			weights[i] += factor(f.Weight)
			continue
		}
		fields, weights = append(fields, field), append(weights, factor(f.Weight))
	}
	words := strings.Fields(n.Text)
	matched, sum := 0, 0.0
	for _, w := range words {
		freq, length, avgLen, idf := o.bm25F(d, w, fields, weights)
		if freq == 0 {
			continue
		}
		matched++
		k := float64(o.bm25.K1) * (1 - float64(o.bm25.B) + float64(o.bm25.B)*length/avgLen)
		sum += idf * boost * freq / (freq + k)
	}
	least := 1
	switch {
	case n.Occur == query.Must, n.Occur == query.Plain && mode == ModeAnd && n.AtLeast == "":
		least = len(words)
	case n.AtLeast != "":
		count, err := n.AtLeast.Of(len(words))
		if err != nil {
			panic(err)
		}
		least = max(count, 1)
	}
	return matched >= least, sum
}

// scoreCombined is in fixed point.
func (o *oracle) scoreCombined(d *oracleDoc, n *combined, terms []term) (bool, base.Score) {
	var fields []int
	for _, l := range n.leaves {
		fields = append(fields, int(l.field))
	}
	freq, length, avgLen, idf := o.bm25F(d, string(terms[n.leaves[0].terms[0]].bytes), fields, n.weights)
	if freq == 0 {
		return false, 0
	}
	return true, o.bm25.NewTerm(idf*n.boost, 1, avgLen).ScoreCombined(float32(freq), float32(length))
}

// The worked number of combined.
func TestCombinedScore(t *testing.T) {
	got := score.DefaultBM25.NewTerm(2, 1, 2*3+14).ScoreCombined(2*1+3, 2*2+16)
	if want := 1.6949; math.Abs(got.Float64()-want) > 1e-4 {
		t.Errorf("score %v, want %v", got.Float64(), want)
	}
	if limit := score.DefaultBM25.NewTerm(2, 1, 20).Limit(); limit < got || limit.Float64() > 2.1 {
		t.Errorf("limit %v", limit.Float64())
	}
}
