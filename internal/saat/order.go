package saat

import (
	"fmt"
	"math"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/impact"
)

type segment struct {
	impact.Segment
	score uint32 // weight times impact: the contribution to each document
}

type input struct {
	segments []segment // by term, decreasing scores
	ends     []int     // ends of the terms in segments
	bound    uint64    // of a document's score
	postings int64
	opened   []impact.Segment
	heap     []head
}

type head struct {
	score   uint32
	at, end int32
}

// The error wraps base.ErrCorrupt, or base.ErrBadInput if scores could exceed 32 bits.
func (in *input) open(q *Query) error {
	in.segments, in.ends, in.bound, in.postings = in.segments[:0], in.ends[:0], 0, 0
	for i := range q.Terms {
		t := &q.Terms[i]
		in.bound += uint64(t.Weight) * uint64(t.List.Max)
		in.postings += int64(t.List.DocFreq)
	}
	if in.bound > math.MaxUint32 {
		return fmt.Errorf("a document could score %d, more than %d: use smaller weights: %w", in.bound, uint32(math.MaxUint32), base.ErrBadInput)
	}
	for i := range q.Terms {
		t := &q.Terms[i]
		var err error
		if in.opened, err = t.List.AppendSegments(in.opened[:0]); err != nil {
			return fmt.Errorf("term %d: %w", i, err)
		}
		if len(in.opened) > 0 && in.opened[0].Impact != t.List.Max {
			return fmt.Errorf("term %d: impact %d above the highest, %d: %w", i, in.opened[0].Impact, t.List.Max, base.ErrCorrupt)
		}
		for _, s := range in.opened {
			in.segments = append(in.segments, segment{s, t.Weight * uint32(s.Impact)})
		}
		in.ends = append(in.ends, len(in.segments))
	}
	return nil
}

// A score that at least k documents reach: the best k-th score of a list, or 0.
func (in *input) kth(k int) uint32 {
	best := uint32(0)
	from := 0
	for _, end := range in.ends {
		seen := int64(0)
		for i := from; i < end; i++ {
			if seen += int64(in.segments[i].Count); seen >= int64(k) {
				best = max(best, in.segments[i].score)
				break
			}
		}
		from = end
	}
	return best
}

// next then returns all segments by decreasing score, then term.
func (in *input) begin() {
	in.heap = in.heap[:0]
	from := 0
	for _, end := range in.ends {
		if from < end {
			in.heap = append(in.heap, head{in.segments[from].score, int32(from), int32(end)})
		}
		from = end
	}
	for i := len(in.heap)/2 - 1; i >= 0; i-- {
		in.down(i)
	}
}

func (h head) before(o head) bool { return h.score > o.score || h.score == o.score && h.at < o.at }

func (in *input) down(i int) {
	h := in.heap[i]
	for {
		child := 2*i + 1
		if child >= len(in.heap) {
			break
		}
		if child+1 < len(in.heap) && in.heap[child+1].before(in.heap[child]) {
			child++
		}
		if !in.heap[child].before(h) {
			break
		}
		in.heap[i] = in.heap[child]
		i = child
	}
	in.heap[i] = h
}

// The segment stays; nil after the last.
func (in *input) next() *segment {
	if len(in.heap) == 0 {
		return nil
	}
	return &in.segments[in.heap[0].at]
}

func (in *input) take() {
	top := &in.heap[0]
	if top.at++; top.at < top.end {
		top.score = in.segments[top.at].score
	} else {
		last := len(in.heap) - 1
		in.heap[0] = in.heap[last]
		in.heap = in.heap[:last]
	}
	if len(in.heap) > 0 {
		in.down(0)
	}
}

// Bounds a document's remaining contribution: one segment of each list.
func (in *input) missed() base.Score {
	sum := base.Score(0)
	for _, h := range in.heap {
		sum += base.Score(h.score)
	}
	return sum
}
