package collection

import (
	"context"
	"math"
	"sync"
)

type composition struct {
	span float64   // mean number of source documents in a generated one
	keep []float64 // share of postings kept, by term
	kept float64   // share over all postings
}

// Composed to estimate list lengths.
const sampleDocs = 200_000

// Pages of more than 16 passages already contain nearly all frequent terms.
const maxMeanSpan = 16

// If there are too many postings, long lists lose more of them, in proportion to their lengths
// to the power of flattening, so that informative terms still co-occur. Most are stop words, of
// which the papers' engines and queries had fewer.
const flattening = 0.5

// calibrate finds the composition that gives queries the preset's postings: a sample with all
// postings gives the share to keep; if there are too few, documents combine more source
// documents.
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

// thin keeps factor of lists of df postings, and less of long ones by the exponent flat.
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

// factor / n^flat, at most 1.
func keepOf(n, factor, flat float64) float64 {
	return min(1, factor/math.Pow(max(1, n), flat))
}

// keptFactor finds keepOf's factor, with flattening, for which queries have want postings on
// average, or keeps all.
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

func meanPostings[N uint32 | float64](queries []Query, docFreqs []N) float64 {
	sum := 0.0
	for i := range queries {
		for _, t := range queries[i].Terms {
			sum += float64(docFreqs[t])
		}
	}
	return sum / float64(len(queries))
}

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
