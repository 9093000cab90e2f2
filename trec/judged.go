package trec

import (
	"math"
	"slices"
)

// judgedRanking is a ranking with its query's judgements, the input of all measures. Cutoff 0
// means the whole ranking.
type judgedRanking struct {
	relevances []int // by rank; unjudged: notJudged
	level      int   // minimum relevance that counts as relevant
	gains      []int // the positive judgements of the query, descending
	numRel     int   // number of judgements of at least level
	numNonrel  int   // number of judgements from 0 to below level
}

// notJudged stands for absent and negative judgements.
const notJudged = -1

// A depth of 0 means all.
func judge(ranking []RunEntry, judgments map[string]int, level, depth int) *judgedRanking {
	if depth > 0 && len(ranking) > depth {
		ranking = ranking[:depth]
	}
	j := &judgedRanking{level: level, relevances: make([]int, len(ranking))}
	for i, e := range ranking {
		relevance, ok := judgments[e.DocNo]
		if !ok || relevance < 0 {
			relevance = notJudged
		}
		j.relevances[i] = relevance
	}
	for _, relevance := range judgments {
		switch {
		case relevance >= level:
			j.numRel++
		case relevance >= 0:
			j.numNonrel++
		}
		if relevance > 0 {
			j.gains = append(j.gains, relevance)
		}
	}
	slices.SortFunc(j.gains, func(a, b int) int { return b - a })
	return j
}

func (j *judgedRanking) top(cutoff int) []int {
	if cutoff == 0 || cutoff > len(j.relevances) {
		return j.relevances
	}
	return j.relevances[:cutoff]
}

func (j *judgedRanking) found(cutoff int) int {
	n := 0
	for _, relevance := range j.top(cutoff) {
		if relevance >= j.level {
			n++
		}
	}
	return n
}

func (j *judgedRanking) numRet(int) float64      { return float64(len(j.relevances)) }
func (j *judgedRanking) numRelevant(int) float64 { return float64(j.numRel) }
func (j *judgedRanking) numRelRet(int) float64   { return float64(j.found(0)) }

// averagePrecision is the mean, over all relevant documents, of the precision at their ranks, 0
// if not retrieved (map, map_cut).
//
// Relevant at ranks 1 and 3, three relevant in total: (1/1 + 2/3 + 0)/3 = 0.5556.
func (j *judgedRanking) averagePrecision(cutoff int) float64 {
	if j.numRel == 0 {
		return 0
	}
	found, sum := 0, 0.0
	for i, relevance := range j.top(cutoff) {
		if relevance >= j.level {
			found++
			sum += float64(found) / float64(i+1)
		}
	}
	return sum / float64(j.numRel)
}

func (j *judgedRanking) rPrecision(int) float64 {
	if j.numRel == 0 {
		return 0
	}
	return float64(j.found(j.numRel)) / float64(j.numRel)
}

// Missing ranks are not relevant.
func (j *judgedRanking) precision(cutoff int) float64 {
	return float64(j.found(cutoff)) / float64(cutoff)
}

func (j *judgedRanking) recall(cutoff int) float64 {
	if j.numRel == 0 {
		return 0
	}
	return float64(j.found(cutoff)) / float64(j.numRel)
}

func (j *judgedRanking) success(cutoff int) float64 {
	if j.found(cutoff) > 0 {
		return 1
	}
	return 0
}

func (j *judgedRanking) reciprocalRank(cutoff int) float64 {
	for i, relevance := range j.top(cutoff) {
		if relevance >= j.level {
			return 1 / float64(i+1)
		}
	}
	return 0
}

// ndcg is the discounted cumulative gain, sum over ranks r of relevance/log2(r+1), divided by
// the ideal ranking's (ndcg, ndcg_cut). Järvelin and Kekäläinen, Cumulated gain-based
// evaluation of IR techniques, TOIS 20(4), 2002; we differ, as trec_eval does, by also
// discounting rank 2.
//
// Judged 2 and 1; the run has the 1 at rank 1 and the 2 at rank 3: (1/1 + 2/2) / (2/1 +
// 1/1.58496) = 0.7602.
func (j *judgedRanking) ndcg(cutoff int) float64 {
	ideal := j.gains
	if cutoff > 0 && len(ideal) > cutoff {
		ideal = ideal[:cutoff]
	}
	if len(ideal) == 0 {
		return 0
	}
	return discountedGain(j.top(cutoff)) / discountedGain(ideal)
}

func discountedGain(gains []int) float64 {
	sum := 0.0
	for i, gain := range gains {
		if gain > 0 {
			sum += float64(gain) / math.Log2(float64(i+2))
		}
	}
	return sum
}

// bpref uses only judged documents: the share of relevant ones, each weighted by the first R
// judged non-relevant ones above it. Buckley and Voorhees, Retrieval evaluation with incomplete
// information, SIGIR 2004, with the denominator of trec_eval 8.0 and later: 1/R · sum over
// relevant retrieved of 1 - min(n, R)/min(N, R).
//
// R = 2 relevant, N = 3 not; ranking: not, relevant, not, relevant: ((1 - 1/2) + (1 - 2/2))/2 =
// 0.25.
func (j *judgedRanking) bpref(int) float64 {
	if j.numRel == 0 {
		return 0
	}
	above, sum := 0, 0.0
	for _, relevance := range j.relevances {
		switch {
		case relevance == notJudged:
		case relevance < j.level:
			above++
		case above == 0:
			sum++
		default:
			sum += 1 - float64(min(above, j.numRel))/float64(min(j.numNonrel, j.numRel))
		}
	}
	return sum / float64(j.numRel)
}
