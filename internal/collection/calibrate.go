package collection

import (
	"context"
	"sync"
)

// composition are the parameters that calibration finds.
type composition struct {
	Span float64 // mean number of source documents in one of ours
	Keep float64 // part of their postings that are kept
}

// sampleDocs is how many documents are composed to estimate lengths of lists.
const sampleDocs = 200_000

// maxMeanSpan ends the search for a span: pages of more than 16 passages have
// nearly all frequent terms already.
const maxMeanSpan = 16

// calibrate finds how documents are to be composed so that the queries have the
// postings that the preset says. Each posting is kept with the same probability,
// so that one sample of documents with all postings gives it; if there are too
// few postings, documents are composed of more source documents.
func calibrate(ctx context.Context, o *Options, f *forward, p *plan, queries []Query, progress func(done, total int64)) (composition, error) {
	scale := float64(o.NumDocs) / float64(o.Like.NumDocs)
	c := composition{Span: o.Like.Span, Keep: 1}
	const steps = 8
	for step := range int64(steps) {
		progress(step, steps)
		df, err := expectedDocFreqs(ctx, o, f, p, newSpans(c.Span))
		if err != nil {
			return c, err
		}
		c.Keep = 1
		if want := o.Like.MeanPostings * scale; want > 0 {
			c.Keep = want / meanPostings(queries, df)
		}
		if want := o.Like.MeanShortest * scale; want > 0 {
			c.Keep = want / meanShortest(queries, df)
		}
		if c.Keep <= 1 || c.Span >= maxMeanSpan {
			break
		}
		c.Span = min(maxMeanSpan, c.Span*min(2, c.Keep*1.1))
	}
	c.Keep = min(1, c.Keep)
	return c, nil
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
			c := newComposer(f, p, o.Seed, s, 1)
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
