package ao11

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// searchOnCPU answers queries without an error one after another on the CPU.
func (e *Engine) searchOnCPU(ctx context.Context, w *worker, queries []*engine.Query) error {
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return err
		}
		if q.Err == nil {
			if err := e.answerOnCPU(ctx, w, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// answerOnCPU answers a query alone on the CPU. The error is the context's.
func (e *Engine) answerOnCPU(ctx context.Context, w *worker, q *engine.Query) error {
	began := time.Now()
	w.batch.reset()
	if err := w.batch.add(ctx, &e.form, q); err != nil {
		if ended := ctx.Err(); ended != nil {
			return ended
		}
		q.Err = err
		return nil
	}
	if err := w.answer(ctx, 0, sched.CPU, w.intersect); err != nil || q.Err != nil {
		return err
	}
	e.counts.onCPU.Add(1)
	if q.Trace != nil {
		q.Trace.Begin()
		q.Trace.Add(began, plan.Step{
			Name: plan.StepIntersect, Processor: plan.CPUName, Mode: plan.ModeAnd, Traversal: name, Work: q.Answer.Work, Left: int64(w.found),
		})
	}
	return nil
}

// intersect searches the elements of the shortest list of item i in the others, one list after the
// other, from short to long.
func (w *worker) intersect(ctx context.Context, i int, a *plan.Answer) ([]uint32, error) {
	it := &w.batch.items[i]
	operands, err := w.open(it)
	if err != nil {
		return nil, err
	}
	order := intersect.ByLength(len(operands), func(i int) int { return operands[i].NumPostings })
	shortest := operands[order[0]].List
	if w.docIDs, err = appendDocIDs(ctx, w.docIDs[:0], shortest); err != nil {
		return nil, fmt.Errorf("leg %d: %w", order[0], err)
	}
	a.Work.PostingsDecoded += int64(shortest.NumPostings)
	docIDs := w.docIDs
	w.at = slices.Grow(w.at[:0], len(docIDs))[:len(docIDs)]
	for _, at := range order[1:] {
		n, err := operands[at].place(ctx, docIDs, w.at)
		if err != nil {
			return nil, fmt.Errorf("leg %d: %w", at, err)
		}
		docIDs = docIDs[:n]
	}
	return docIDs, nil
}
