package aggregate

import (
	"context"
	"math/bits"

	"github.com/griffin-search/griffin/internal/base"
	kernels "github.com/griffin-search/griffin/internal/simd/column"
)

// env is the state that the collectors of a Run share.
type env struct {
	ctx    context.Context
	index  *Index
	budget *budget
}

// batchSize is the number of documents that aggregations get at once.
const batchSize = 1024

// topBucket holds all matching documents.
const topBucket = 0

// Run evaluates requests over the matching documents: one bitmap a segment, of live documents; none if Index.Counts has
// counts of all CountedFields. The answers are in the order of the requests. Errors wrap base.ErrBadInput for requests that do not fit the index or
// the limits, base.ErrCorrupt for damaged columns, or are the context's.
func Run(ctx context.Context, ix *Index, requests []*Request, matches [][]uint64, limits Limits) ([]*Result, error) {
	e := &env{ctx: ctx, index: ix, budget: newBudget(limits)}
	all, err := e.collectors(requests)
	if err != nil {
		return nil, err
	}
	for i := range ix.Segments {
		var words []uint64
		if matches != nil {
			words = matches[i]
		}
		if err := e.segment(all, i, words); err != nil {
			return nil, err
		}
	}
	out := make([]*Result, len(all))
	for i, c := range all {
		if err := c.finish(); err != nil {
			return nil, err
		}
		if out[i], err = c.build(topBucket); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (e *env) collectors(requests []*Request) ([]collector, error) {
	var out []collector
	for _, r := range requests {
		c, err := r.make(e)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	return out, nil
}

// segment runs the collectors over a segment.
func (e *env) segment(all []collector, segment int, words []uint64) error {
	var rest []collector
	for _, c := range all {
		if err := c.begin(segment); err != nil {
			return err
		}
		done := false
		if w, ok := c.(wholeCollector); ok {
			var err error
			if done, err = w.whole(segment, words); err != nil {
				return err
			}
		}
		if !done {
			rest = append(rest, c)
		}
	}
	if err := e.batches(rest, words); err != nil {
		return err
	}
	for _, c := range all {
		if err := c.end(); err != nil {
			return err
		}
	}
	return nil
}

// batches hands the documents of a bitmap, all in topBucket, to the collectors.
func (e *env) batches(all []collector, words []uint64) error {
	if len(all) == 0 {
		return e.ctx.Err()
	}
	buckets := make([]uint32, batchSize)
	return eachBatch(words, func(docs []base.DocID) error {
		if err := e.ctx.Err(); err != nil {
			return err
		}
		for _, c := range all {
			if err := c.collect(docs, buckets[:len(docs)]); err != nil {
				return err
			}
		}
		return nil
	})
}

// eachBatch calls f with the documents of a bitmap; with none, it is not called.
func eachBatch(words []uint64, f func(docs []base.DocID) error) error {
	var batch [batchSize]base.DocID
	n := 0
	for i, w := range words {
		for ; w != 0; w &= w - 1 {
			batch[n] = base.DocID(i*64 + bits.TrailingZeros64(w))
			if n++; n == batchSize {
				if err := f(batch[:n]); err != nil {
					return err
				}
				n = 0
			}
		}
	}
	if n == 0 {
		return nil
	}
	return f(batch[:n])
}

// live is the bitmap of a segment's documents that are not deleted.
func (s *Segment) live() []uint64 {
	if s.Live != nil {
		return s.Live
	}
	words := make([]uint64, (s.NumDocs+63)/64)
	for i := range words {
		words[i] = ^uint64(0)
	}
	if rest := s.NumDocs % 64; rest != 0 {
		words[len(words)-1] = 1<<rest - 1
	}
	return words
}

func has(words []uint64, doc base.DocID) bool {
	i := int(doc / 64)
	return i < len(words) && words[i]&(1<<(doc%64)) != 0
}

func ones(words []uint64) int64 { return int64(kernels.Ones(words)) }
