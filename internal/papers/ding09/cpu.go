package ding09

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// cpu answers queries document at a time (§2): a cursor in each list, forward seeks that skip
// blocks, and a heap of the best k. An OR scores all postings (§8.3).
type cpu struct {
	code code
	runs sync.Pool // of *cpuRun
}

type cpuRun struct {
	cursors []cursor
	queue   topk.Queue
	work    plan.Work
	matches int64
}

func (c *cpu) take() *cpuRun {
	if r, ok := c.runs.Get().(*cpuRun); ok {
		return r
	}
	return new(cpuRun)
}

// search answers a query. The error is the context's, or wraps base.ErrCorrupt.
func (c *cpu) search(ctx context.Context, q *engine.Query, stages []stage) error {
	r := c.take()
	defer c.runs.Put(r)
	a := plan.Answer{Hits: q.Answer.Hits[:0], Traversal: engineName, By: sched.CPU}
	for i := range stages {
		a.Mode = stages[i].mode
		if err := c.stage(ctx, r, q, stages, i); err != nil {
			return err
		}
		a.Hits = r.queue.AppendSorted(a.Hits[:0])
		a.Work.Add(r.work)
		if q.Plan.Counts() {
			a.Matches = r.matches
		}
		if !fallsBack(q.Plan, i, len(a.Hits)) {
			break
		}
	}
	q.Answer = a
	return nil
}

// encode makes the lists of a query, unless they are kept from another.
func (c *cpu) encode(p *plan.Plan, stages []stage) error {
	for i := range stages {
		for j, terms := range stages[i].segments {
			view := &p.Snapshot().Segments[j]
			for _, t := range terms {
				if _, err := c.code.list(t, view.NumDocs()); err != nil {
					return fmt.Errorf("segment %s: query %s: %w", view.Name, p.Query(), err)
				}
			}
		}
	}
	return nil
}

func (c *cpu) stage(ctx context.Context, r *cpuRun, q *engine.Query, stages []stage, number int) error {
	p, st := q.Plan, &stages[number]
	r.queue.Reset(st.k)
	r.work, r.matches = plan.Work{}, 0
	if p.K() == 0 && !p.Counts() {
		return nil
	}
	for i := range st.segments {
		if err := ctx.Err(); err != nil {
			return err
		}
		view := &p.Snapshot().Segments[i]
		began, before := time.Now(), r.work
		if err := c.segment(ctx, r, view, st, i); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("segment %s: query %s: %w", view.Name, p.Query(), err)
		}
		if q.Trace != nil {
			q.Trace.Add(began, plan.Step{
				Name: plan.StepSegment, Processor: plan.CPUName, Place: sched.CPU, Segment: view.Name, Traversal: engineName, Mode: st.mode,
				Work: since(r.work, before), Lists: plan.SegmentLists(p, number, i),
			})
		}
	}
	return nil
}

// since returns the work that the CPU has added.
func since(w, before plan.Work) plan.Work {
	return plan.Work{
		PostingsDecoded: w.PostingsDecoded - before.PostingsDecoded, PostingsScored: w.PostingsScored - before.PostingsScored,
		BlocksDecoded: w.BlocksDecoded - before.BlocksDecoded, BlocksSkipped: w.BlocksSkipped - before.BlocksSkipped,
	}
}

func (c *cpu) segment(ctx context.Context, r *cpuRun, view *index.View, st *stage, segment int) error {
	terms := st.segments[segment]
	if len(terms) == 0 {
		return nil
	}
	cursors, err := r.open(c.code, view, terms)
	if err != nil {
		return err
	}
	defer closeCursors(cursors)
	s := segmentRun{cpuRun: r, view: view, cursors: cursors}
	if st.globals != nil {
		s.globals = st.globals[segment].scores
	}
	if st.conjunctive {
		return s.and(ctx)
	}
	return s.or(ctx)
}

// open places a cursor on the first posting of each list. closeCursors must follow.
func (r *cpuRun) open(code code, view *index.View, terms []*traverse.Leg) ([]cursor, error) {
	for len(r.cursors) < len(terms) {
		r.cursors = append(r.cursors, cursor{})
	}
	cursors := r.cursors[:len(terms)]
	for i, t := range terms {
		l, err := code.list(t, view.NumDocs())
		if err != nil {
			closeCursors(cursors[:i])
			return nil, err
		}
		cursors[i].reset(t, l, &r.work)
	}
	return cursors, nil
}

func closeCursors(cursors []cursor) {
	for i := range cursors {
		cursors[i].close()
	}
}

// pollEvery is the number of documents between looks at the context, about 100 µs.
const pollEvery = 4096

// segmentRun has at least one cursor.
type segmentRun struct {
	*cpuRun
	view    *index.View
	cursors []cursor
	globals []uint32 // by DocID; nil: none
}

// and seeks each document of the shortest list in the others.
func (s *segmentRun) and(ctx context.Context) error {
	shortest := &s.cursors[0]
	for n := 1; shortest.docID != noDocID; n++ {
		if n%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if docID := s.seek(shortest.docID); docID != shortest.docID {
			shortest.nextGEQ(docID)
			continue
		}
		var sum base.Score
		for i := range s.cursors {
			sum += s.cursors[i].score()
		}
		if err := s.err(); err != nil {
			return err
		}
		s.found(shortest.docID, sum)
		shortest.next()
	}
	return s.err()
}

// seek returns docID if all lists have it. Otherwise it returns the first greater document of a list
// that lacks it.
func (s *segmentRun) seek(docID uint32) uint32 {
	for i := 1; i < len(s.cursors); i++ {
		c := &s.cursors[i]
		if c.nextGEQ(docID); c.docID != docID {
			return c.docID
		}
	}
	return docID
}

// or visits all documents of all lists.
func (s *segmentRun) or(ctx context.Context) error {
	for n := 1; ; n++ {
		docID := noDocID
		for i := range s.cursors {
			docID = min(docID, s.cursors[i].docID)
		}
		if docID == noDocID || s.err() != nil {
			return s.err()
		}
		var sum base.Score
		for i := range s.cursors {
			if c := &s.cursors[i]; c.docID == docID {
				sum += c.score()
				c.next()
			}
		}
		s.found(docID, sum)
		if n%pollEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// found adds a matching document unless it is deleted.
func (s *segmentRun) found(docID uint32, sum base.Score) {
	if s.view.Live == nil || s.view.Live.Has(int(docID)) {
		s.matches++
		if s.globals != nil {
			sum += base.Score(s.globals[docID])
		}
		s.queue.Add(base.Hit{DocID: s.view.Base + base.DocID(docID), Score: sum})
	}
}

// err returns the first error of the cursors.
func (s *segmentRun) err() error {
	for i := range s.cursors {
		if err := s.cursors[i].err; err != nil {
			return err
		}
	}
	return nil
}
