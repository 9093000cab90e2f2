package ding09

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// stepSecond is the second phase in a trace.
const stepSecond = "rerank"

// second replaces the candidates of the first phase, the hits of an answer, by the best of them by the
// complete scoring function (§4). It runs on the CPU: the paper leaves the GPU to future work. code is the
// code of lists that the first phase has made.
func (c *cpu) second(ctx context.Context, q *engine.Query, stages []stage, code code, w *weights) error {
	number := slices.IndexFunc(stages, func(s stage) bool { return s.mode == q.Answer.Mode })
	st, p, began := &stages[number], q.Plan, time.Now()
	r := c.take()
	defer c.runs.Put(r)
	r.work = plan.Work{}
	r.queue.Reset(min(p.K(), p.Snapshot().NumDocs))
	candidates := q.Answer.Hits
	slices.SortFunc(candidates, func(a, b base.Hit) int { return cmp.Compare(a.DocID, b.DocID) })
	for i, left := 0, candidates; len(left) > 0; i++ {
		if err := ctx.Err(); err != nil {
			return err
		}
		view := &p.Snapshot().Segments[i]
		n, _ := slices.BinarySearchFunc(left, view.Base+base.DocID(view.NumDocs()), func(h base.Hit, end base.DocID) int { return cmp.Compare(h.DocID, end) })
		if err := r.second(view, st, i, left[:n], code, w); err != nil {
			return fmt.Errorf("segment %s: query %s: %w", view.Name, p.Query(), err)
		}
		left = left[n:]
	}
	numCandidates := len(candidates)
	q.Answer.Hits = r.queue.AppendSorted(candidates[:0])
	q.Answer.Work.Add(r.work)
	if q.Trace != nil {
		q.Trace.Add(began, plan.Step{
			Name: stepSecond, Processor: plan.CPUName, Place: sched.CPU, Mode: st.mode,
			Candidates: int64(numCandidates), Left: int64(len(q.Answer.Hits)), Work: r.work,
		})
	}
	return nil
}

// second scores the candidates of a segment, in DocID order.
func (r *cpuRun) second(view *index.View, st *stage, segment int, candidates []base.Hit, code code, w *weights) error {
	if len(candidates) == 0 {
		return nil
	}
	const defaultField = 0
	if err := view.CheckLengths(defaultField); err != nil {
		return err
	}
	lengths := view.Lengths(defaultField)
	cursors, err := r.open(code, view, st.segments[segment])
	if err != nil {
		return err
	}
	defer closeCursors(cursors)
	s := segmentRun{cursors: cursors}
	for _, h := range candidates {
		docID := uint32(h.DocID - view.Base)
		f := features{constantFeature: 1, lengthFeature: float64(lengths[docID]), logLengthFeature: math.Log(1 + float64(lengths[docID]))}
		if g := st.globals; g != nil {
			f[globalFeature] = base.Score(g[segment].scores[docID]).Float64()
		}
		var sum, best base.Score
		for i := range cursors {
			c := &cursors[i]
			if c.nextGEQ(docID); c.docID == docID {
				contribution := c.score()
				sum, best = sum+contribution, max(best, contribution)
				f[matchedFeature]++
			}
		}
		if err := s.err(); err != nil {
			return err
		}
		f[bm25Feature], f[bestFeature] = sum.Float64(), best.Float64()
		r.queue.Add(base.Hit{DocID: h.DocID, Score: w.score(&f)})
	}
	return nil
}
