package ao11

import (
	"context"
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// worker is the memory of a goroutine's call of Search.
type worker struct {
	form     *form
	pending  []*engine.Query
	batch    *batch
	operands []operand

	docIDs, at []uint32
	sums       []base.Score
	found      int // candidates of the present query
	queue      topk.Queue
}

// candidatesOf returns the ascending DocIDs that all lists of an item have. The worker may
// change them.
type candidatesOf func(ctx context.Context, i int, a *plan.Answer) ([]uint32, error)

// answer answers query number n of the batch from the candidates of its items, or sets its error. The error is the
// context's; then the query is not answered.
func (w *worker) answer(ctx context.Context, n int, by sched.Place, candidates candidatesOf) error {
	q := w.batch.queries[n]
	a := plan.Answer{Hits: q.Answer.Hits[:0], Mode: plan.ModeAnd, Traversal: name, By: by}
	w.queue.Reset(min(plan.SelectK(q.Plan), q.Plan.Snapshot().NumDocs))
	w.found = 0
	from, to := w.batch.itemsOf(n)
	for i := from; i < to; i++ {
		it := &w.batch.items[i]
		docIDs, err := candidates(ctx, i, &a)
		w.found += len(docIDs)
		if err == nil {
			err = w.rank(ctx, it, docIDs, &a)
		}
		if ended := ctx.Err(); err != nil && ended != nil {
			return ended
		}
		if err != nil {
			q.Err = w.batch.itemError(it, err)
			return nil
		}
	}
	a.Hits = w.queue.AppendSorted(a.Hits)
	q.Answer = a
	return nil
}

// rank counts the live candidates of an item, sums up their scores and adds them to the queue, a stride of
// candidates after the other. The frequencies are read alone, at positions that the search of the form finds.
func (w *worker) rank(ctx context.Context, it *item, docIDs []uint32, a *plan.Answer) error {
	p := w.batch.queries[it.query].Plan
	view := &p.Snapshot().Segments[it.segment]
	scored := w.queue.K() > 0 && len(docIDs) > 0
	var operands []operand
	if scored {
		var err error
		if operands, err = w.open(it); err != nil {
			return err
		}
	}
	for some := range slices.Chunk(docIDs, stride) {
		if err := ctx.Err(); err != nil {
			return err
		}
		some = keepLive(some, view)
		if p.Counts() {
			a.Matches += int64(len(some))
		}
		if !scored {
			continue
		}
		if err := w.score(ctx, operands, p.Stage(0).Legs(it.segment), some, a); err != nil {
			return err
		}
		for i, d := range some {
			w.queue.Add(base.Hit{DocID: view.Base + base.DocID(d), Score: w.sums[i]})
		}
	}
	return nil
}

// score sets the first of w.sums to the scores of candidates.
func (w *worker) score(ctx context.Context, operands []operand, legs []traverse.Leg, docIDs []uint32, a *plan.Answer) error {
	w.sums = slices.Grow(w.sums[:0], len(docIDs))[:len(docIDs)]
	clear(w.sums)
	for i := range legs {
		if err := w.addLeg(ctx, &operands[i], &legs[i], docIDs); err != nil {
			return fmt.Errorf("leg %d: %w", i, err)
		}
		a.Work.PostingsScored += int64(len(docIDs))
	}
	return nil
}

// keepLive moves the live documents to the front.
func keepLive(docIDs []uint32, view *index.View) []uint32 {
	if view.Live == nil {
		return docIDs
	}
	n := 0
	for _, d := range docIDs {
		if view.Live.Has(int(d)) {
			docIDs[n] = d
			n++
		}
	}
	return docIDs[:n]
}

// open makes the operands of an item, in the order of its lists.
func (w *worker) open(it *item) ([]operand, error) {
	n := it.to - it.from
	if len(w.operands) < n {
		w.operands = append(w.operands, make([]operand, n-len(w.operands))...)
	}
	for i, l := range w.batch.listsOf(it) {
		if err := w.operands[i].reset(w.form, l); err != nil {
			return nil, fmt.Errorf("leg %d: %w", i, err)
		}
	}
	return w.operands[:n], nil
}

// addLeg adds the contributions of a leg, whose list has all docIDs, to the sums.
func (w *worker) addLeg(ctx context.Context, o *operand, leg *traverse.Leg, docIDs []uint32) error {
	w.at = slices.Grow(w.at[:0], len(docIDs))[:len(docIDs)]
	if n, err := o.place(ctx, docIDs, w.at); err != nil || n != len(docIDs) {
		if err == nil {
			err = fmt.Errorf("%d of %d matches are in the list: %w", n, len(docIDs), base.ErrCorrupt)
		}
		return err
	}
	for i, d := range docIDs {
		freq, err := o.Freq(int(w.at[i]))
		if err != nil {
			return err
		}
		w.sums[i] += leg.Term.Score(freq, leg.Lengths[d])
	}
	return nil
}

// forget drops the references to lists and queries.
func (w *worker) forget() {
	w.batch.reset()
	clear(w.pending)
	w.pending = w.pending[:0]
	clear(w.operands)
}
