package collection

import (
	"context"
	"math"
	"sync"
)

// composition is how documents are composed.
type composition struct {
	span float64   // mean number of source documents in one of ours
	keep []float64 // part of the postings of each term that are kept
	kept float64   // of all postings
}

// sampleDocs is how many documents are composed to estimate lengths of lists.
const sampleDocs = 200_000

// maxMeanSpan ends the search for a span: pages of more than 16 passages have
// nearly all frequent terms already.
const maxMeanSpan = 16

// flattening is how much more long lists are thinned than short ones, if there are
// too many postings: in proportion to the root of their lengths. Terms that tell
// something then still meet in documents, and what goes is mostly stop words,
// which the papers' engines and queries had fewer of.
const flattening = 0.5

// calibrate finds how documents are to be composed so that the queries have the
// postings that the preset says: it composes a sample of documents with all
// postings and looks which part of them is to be kept; if there are too few,
// documents are composed of more source documents.
func calibrate(ctx context.Context, o *Options, f *forward, p *plan, queries []Query, progress func(done, total int64)) (composition, error) {
	scale := float64(o.NumDocs) / float64(o.Like.NumDocs)
	wantShortest, wantPostings := o.Like.MeanShortest*scale, o.Like.MeanPostings*scale
	c := composition{span: o.Like.Span}
	const steps = 8
	for step := range int64(steps) {
		progress(step, steps)
		df, err := expectedDocFreqs(ctx, o, f, p, newSpans(c.span))
		if err != nil {
			return c, err
		}
		missing := 1.0
		switch {
		case wantShortest > 0:
			missing = wantShortest / meanShortest(queries, df)
			c.thin(df, min(1, missing), 0)
		case wantPostings > 0:
			missing = wantPostings / meanPostings(queries, df)
			c.thin(df, keptFactor(df, queries, wantPostings), flattening)
		default:
			c.thin(df, 1, 0)
		}
		if missing <= 1 || c.span >= maxMeanSpan {
			break
		}
		c.span = min(maxMeanSpan, c.span*min(2, missing*1.1))
	}
	return c, nil
}

// thin sets what is kept of lists that would have df postings: factor of each, and
// less of long ones the more flat is.
func (c *composition) thin(df []float64, factor, flat float64) {
	c.keep = make([]float64, len(df))
	before, after := 0.0, 0.0
	for t, n := range df {
		c.keep[t] = keepOf(n, factor, flat)
		before += n
		after += n * c.keep[t]
	}
	c.kept = after / max(1, before)
}

// keepOf is the part that is kept of a list of n postings: a list of 1 posting
// would keep factor, if it is at most 1, and one of n keeps factor / n^flat.
func keepOf(n, factor, flat float64) float64 {
	return min(1, factor/math.Pow(max(1, n), flat))
}

// keptFactor finds the factor of keepOf, with flattening, by which the queries have
// want postings in the mean; if there are fewer at all, one that keeps all.
func keptFactor(df []float64, queries []Query, want float64) float64 {
	longest := 1.0
	for _, n := range df {
		longest = max(longest, n)
	}
	thinned := make([]float64, len(df))
	low, high := 0.0, math.Pow(longest, flattening)
	for range 60 {
		factor := (low + high) / 2
		for t, n := range df {
			thinned[t] = n * keepOf(n, factor, flattening)
		}
		if meanPostings(queries, thinned) < want {
			low = factor
		} else {
			high = factor
		}
	}
	return high
}

// expectedDocFreqs composes a sample of documents, nothing dropped, and returns
// the lengths of lists that all documents would give.
func expectedDocFreqs(ctx context.Context, o *Options, f *forward, p *plan, s *spans) ([]float64, error) {
	n := min(sampleDocs, p.numDocs())
	counts := make([][]uint32, o.Threads)
	var wg sync.WaitGroup
	for w := range o.Threads {
		counts[w] = make([]uint32, f.numTerms)
		wg.Go(func() {
			c := newComposer(f, p, o.Seed, s, nil)
			for i := w; i < n && ctx.Err() == nil; i += o.Threads {
				g := int(int64(i) * int64(p.numDocs()) / int64(n))
				c.compose(uint32(g), p.starts[g])
				for _, t := range c.terms {
					counts[w][t]++
				}
			}
		})
	}
	wg.Wait()
	df := make([]float64, f.numTerms)
	for _, count := range counts {
		for t, n := range count {
			df[t] += float64(n)
		}
	}
	for t := range df {
		df[t] *= float64(p.numDocs()) / float64(n)
	}
	return df, ctx.Err()
}

// meanPostings is the mean number of postings in the lists of a query.
func meanPostings[N uint32 | float64](queries []Query, docFreqs []N) float64 {
	sum := 0.0
	for i := range queries {
		for _, t := range queries[i].Terms {
			sum += float64(docFreqs[t])
		}
	}
	return sum / float64(len(queries))
}

// meanShortest is the mean length of the shortest list of a query.
func meanShortest[N uint32 | float64](queries []Query, docFreqs []N) float64 {
	sum := 0.0
	for i := range queries {
		least := docFreqs[queries[i].Terms[0]]
		for _, t := range queries[i].Terms {
			least = min(least, docFreqs[t])
		}
		sum += float64(least)
	}
	return sum / float64(len(queries))
}
