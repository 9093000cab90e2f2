package dispatch

import (
	"context"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/internal/vfs"
)

// This file has the segments of a query on a GPU that the CPU answers. An index that takes writes has
// many small segments, which change every second: a GPU would need a launch for each, and lists that it
// does not have yet. The CPU searches them while it waits for the GPU, with a guess of the threshold, and after the GPU,
// with the threshold of the GPU's hits.

// smallSegment is the number of documents below which a segment is small. The CPU searches one of
// that size about in the time of a launch if the threshold is known.
const smallSegment = 1 << 16

// appendSmall appends the numbers of the segments that the CPU answers: the small ones, unless they have
// most of the documents. Then the policy chooses between the processors.
func (g *GPU) appendSmall(dst []int, snapshot *index.Snapshot) []int {
	from, small := len(dst), 0
	for i := range snapshot.Segments {
		if n := snapshot.Segments[i].NumDocs(); n < g.smallDocs {
			dst = append(dst, i)
			small += n
		}
	}
	if 2*small > snapshot.NumDocs {
		return dst[:from]
	}
	return dst
}

// addSmall adds the small segments to an answer of the GPU.
func addSmall(ctx context.Context, q *Query, sc *plan.Scratch, stage int, a *plan.Answer, trace *plan.Trace) (err error) {
	if len(q.gpu.small) == 0 {
		return nil
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return plan.RunSegments(ctx, &q.Plan, sc, stage, q.gpu.small, a, trace)
}

// smallAhead searches the small segments of a query while its GPU works.
type smallAhead struct {
	plan.Ahead
	ctx     context.Context //nolint:containedctx // of the query, from begin to finish
	step    func() bool     // next, which is made once
	err     error
	isBegun bool
}

// begin returns what to do while the GPU works on a whole stage, nil without small segments.
func (s *smallAhead) begin(ctx context.Context, q *Query, sc *plan.Scratch, stage int) func() bool {
	s.err, s.isBegun = nil, len(q.gpu.small) > 0
	if !s.isBegun {
		return nil
	}
	if s.step == nil {
		s.step = s.next
	}
	s.ctx = ctx
	s.Begin(&q.Plan, sc, stage, q.gpu.small)
	return s.step
}

// next keeps the first error. It also converts a memory fault to an error.
func (s *smallAhead) next() (more bool) {
	if s.err != nil {
		return false
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &s.err)
	more, s.err = s.Step(s.ctx)
	return more
}

// finish adds the small segments to an answer of the GPU.
func (s *smallAhead) finish(ctx context.Context, a *plan.Answer, trace *plan.Trace) (err error) {
	if !s.isBegun || s.err != nil {
		return s.err
	}
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	return s.Finish(ctx, a, trace)
}

// forget ends the use of the query's memory.
func (s *smallAhead) forget() { s.Ahead, s.ctx, s.err, s.isBegun = plan.Ahead{}, nil, nil, false }

// addSmallLists runs the lists of a step of the GPU in the small segments and adds their candidates, or with the last list their hits, to the GPU's.
func addSmallLists(ctx context.Context, r *queryRun, s *pipeline.Step) error {
	p, ends := r.plan, s.End == len(r.predictor.lengths)
	if len(p.gpu.small) == 0 {
		return nil
	}
	if ends {
		plan.ResumeHits(&p.Plan, &r.sc.Scratch, s.Result.Hits)
	}
	lists := plan.Lists{Stage: p.Stage(r.stage), From: r.pos, To: s.End}
	for _, i := range p.gpu.small {
		c := &s.Out.Segments[i]
		c.DocIDs, c.Scores = c.DocIDs[:0], c.Scores[:0]
		if r.have != nil {
			from := &r.have.Segments[i]
			c.DocIDs, c.Scores = append(c.DocIDs, from.DocIDs...), append(c.Scores, from.Scores...)
		}
		if err := p.RunLists(ctx, &r.sc.Scratch, lists, i, (*traverse.Candidates)(c), &r.answer.Work); err != nil {
			return err
		}
		if ends && p.Counts() {
			s.Result.Matches += int64(len(c.DocIDs))
		}
	}
	if ends {
		s.Result.Hits = r.sc.AppendHits(s.Result.Hits[:0])
	}
	return nil
}

// queriesPerHelper is the number of answers of a batch from which another CPU adds the small segments.
const queriesPerHelper = 8

// addSmall adds the small segments to the answers of items, also on CPUs that are free.
func (b *batch) addSmall(ctx context.Context, items []int) {
	var n atomic.Int64
	work := func() {
		sc := idleScratches.Get().(*plan.Scratch)
		for i := int(n.Add(1)) - 1; i < len(items); i = int(n.Add(1)) - 1 {
			b.items[items[i]].addSmall(ctx, sc)
		}
		idleScratches.Put(sc) // not deferred: after a panic it must not serve another query
	}
	var group invariant.Group
	defer group.Wait() // also if the work here panics
	slots := b.helpers.slots
	for range min(len(items)/queriesPerHelper, cap(slots)-len(slots)) {
		select {
		case slots <- struct{}{}:
			group.Go(func() {
				defer func() { <-slots }()
				work()
			})
		default:
		}
	}
	work()
}

func (it *batchItem) addSmall(ctx context.Context, sc *plan.Scratch) {
	var trace *plan.Trace
	stage := it.stage
	if it.run != nil {
		ctx, trace, stage = it.run.ctx, it.run.trace.Trace, it.run.stage
	}
	if it.err = addSmall(ctx, it.query, sc, stage, it.answer, trace); it.err != nil {
		*sc = plan.Scratch{} // its state is unknown after a fault
	}
}
