package pipeline

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/residency"
	"github.com/griffin-search/griffin/internal/leg"
)

// guessing is the state of a batch whose queries begin with guessed thresholds. Without a filter or deletions, a query begins
// with the best K-th score of its lists; with them, the K best documents of a list may not match.
type guessing struct {
	todo    []int   // query numbers of a run
	numbers []int   // of the launch, by number in the batch
	guesses []guess // likewise
	again   []int   // queries whose guesses were not reached
	off     bool    // in the run that repeats these
}

// guess is a threshold, 0 for none, and who learns its outcome.
type guess struct {
	score base.Score
	of    *residency.Guesses
}

// deviations of a random choice by which a guess is lower than expected: with two, one guess of 44 would fail, and almost each
// batch would have a second launch, for few queries.
const deviations = 3

// guess returns a score that K documents of the target probably reach by query i, or none.
func (b *batchRun) guess(i int, asked *imagesearch.Query) (none guess) {
	q, p := b.queries[i], b.target
	if q.Conjunctive || q.K == 0 || asked.Threshold > 0 || asked.Required != 0 || len(asked.Clauses) > 0 || b.lane.guessing.off {
		return none
	}
	of, guesses := p.segment.NumDocs, b.guesses(i, asked)
	if !guesses.Allowed() {
		return none
	}
	share := float64(of) / float64(p.numDocs) // random, if there are several devices
	if p.live != nil {
		if !p.live.Guesses().Allowed() {
			return none
		}
		share *= float64(p.live.NumLive()) / float64(of)
	}
	if filter := b.lane.filterOf(q, i, b.segment); filter != nil {
		share *= float64(filter.NumDocs()) / float64(of)
	}
	for j := range asked.Excluded {
		share *= 1 - float64(asked.Excluded[j].DocFreq())/float64(p.numDocs)
	}
	if share <= 0 || share >= 1 { // the lists' scores are known
		return none
	}
	n := leg.LikelyRank(q.K, share, deviations)
	best := base.Score(0)
	for i := range asked.Terms {
		best = max(best, asked.Terms[i].LikelyKth(n))
	}
	return guess{best, guesses}
}

// guesses returns the guesses to which one of query i belongs: of its filter, else of its exclusions, else of the deletions. So
// a filter without the best documents ends no other guesses.
func (b *batchRun) guesses(i int, asked *imagesearch.Query) *residency.Guesses {
	p := b.target
	if filter := b.lane.filterOf(b.queries[i], i, b.segment); filter != nil {
		return filter.Guesses()
	}
	switch {
	case len(asked.Excluded) > 0:
		return &p.shard.Excluding
	case p.live != nil:
		return p.live.Guesses()
	default:
		return &p.shard.Plain
	}
}

// reached reports whether K hits have a score, so that a run that left out lower ones has the best.
func reached(hits, more []base.Hit, k int, score base.Score) bool {
	n := 0
	for _, h := range [...][]base.Hit{hits, more} {
		i, _ := slices.BinarySearchFunc(h, score, func(hit base.Hit, score base.Score) int {
			if hit.Score >= score {
				return -1
			}
			return 1
		})
		n += i
	}
	return n >= k
}

// confirm reports whether the hits of query i in a launch are the best in spite of a guess, and records that.
func (b *batchRun) confirm(i int, g *guess) bool {
	q := b.queries[i]
	ok := reached(b.results[i].Hits, b.lane.merged, q.K, g.score)
	g.of.Add(ok)
	b.lane.d.guesses.Add(1)
	if !ok {
		b.lane.d.missed.Add(1)
	}
	return ok
}
