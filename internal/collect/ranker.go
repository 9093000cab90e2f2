package collect

import (
	"context"

	"github.com/griffin-search/griffin/internal/base"
)

// Ranker keeps the best documents of each of many buckets. It is not safe for concurrent use.
type Ranker struct {
	run      run // of one bucket after another; its best are the bucket's
	segments []Segment
	segment  *segmentRun
	heaps    map[uint32]*heap // of the segment
	best     map[uint32][]Hit // of former segments

	doc   base.DocID // of row
	row   []slot
	score base.Score
}

// NewRanker returns a Ranker of the best o.K documents of each bucket. After and Collapse are not for it.
func NewRanker(ctx context.Context, segments []Segment, o Options) *Ranker {
	r := &Ranker{run: run{ctx: ctx, Options: o, needsScore: o.NeedsScores()}, segments: segments, best: map[uint32][]Hit{}}
	r.row = make([]slot, len(o.Keys))
	return r
}

// Begin opens a segment. Segments rise.
func (r *Ranker) Begin(segment int) (err error) {
	if err := r.flush(); err != nil {
		return err
	}
	r.heaps, r.doc = map[uint32]*heap{}, base.NoDocID
	r.segment, err = r.run.open(&r.segments[segment], segment)
	return err
}

// Add adds a document of the segment to a bucket. Documents do not fall.
func (r *Ranker) Add(doc base.DocID, bucket uint32) (err error) {
	if doc != r.doc {
		if r.score, _, err = r.segment.read(doc, r.row); err != nil {
			return err
		}
		r.doc = doc
	}
	h := r.heaps[bucket]
	if h == nil {
		h = &heap{k: r.run.K, keys: len(r.row)}
		r.heaps[bucket] = h
	}
	if h.k > 0 {
		h.add(r.row, entry{doc: doc, rank: r.segment.rank(doc), score: r.score})
	}
	return nil
}

// flush merges the segment's documents into the best.
func (r *Ranker) flush() error {
	for bucket, h := range r.heaps {
		r.segment.heap = *h
		hits, err := r.segment.hits(h.sorted())
		if err != nil {
			return err
		}
		r.run.best = r.best[bucket]
		r.run.merge(hits)
		r.best[bucket] = r.run.best
	}
	r.heaps = nil
	return nil
}

// Hits returns the best documents of a bucket, best first. No document may be added afterwards.
func (r *Ranker) Hits(bucket uint32) ([]Hit, error) {
	if err := r.flush(); err != nil {
		return nil, err
	}
	return r.best[bucket], nil
}
