package griffin18

import (
	"context"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/plan"
)

// Names of steps, besides plan.StepIntersect.
const (
	stepDecode = "decode"
	stepScore  = "score"
	stepRank   = "rank"
)

// matches are common DocIDs of the candidates and a block.
type matches struct {
	of, at [codec.BlockLen]uint32 // index of the candidate, index of the posting in the block
}

// completeOnCPU intersects the candidates with the lists that are left, or all lists, and queues the
// result.
func (r *run) completeOnCPU(ctx context.Context) error {
	if len(r.lists) == 0 {
		if err := r.decodeFirst(ctx); err != nil {
			return err
		}
	}
	for len(r.lists) < len(r.legs) && len(r.candidates.docIDs) > 0 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.intersectOnCPU(ctx); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil || len(r.candidates.docIDs) == 0 {
		return err
	}
	return r.rankOnCPU(ctx)
}

// ended returns the context's error, at every 64th step of a loop: after 8,192 postings, if a step is a
// block.
func ended(ctx context.Context, step int) error {
	if step%64 != 0 {
		return nil
	}
	return ctx.Err()
}

// decodeFirst makes all postings of the shortest list candidates.
func (r *run) decodeFirst(ctx context.Context) error {
	l, err := r.list(codePForDelta)
	if err != nil {
		return err
	}
	c := &r.candidates
	c.room(l.NumPostings, 1)
	for b := range l.NumBlocks() {
		if err := ended(ctx, b); err != nil {
			return err
		}
		to := c.docIDs[b*codec.BlockLen:]
		if len(to) >= codec.BlockLen {
			if _, err := l.DecodeBlock(b, (*[codec.BlockLen]uint32)(to)); err != nil {
				return err
			}
			continue
		}
		n, err := l.DecodeBlock(b, &r.block)
		if err != nil {
			return err
		}
		copy(to, r.block[:n])
	}
	r.step(plan.Step{Name: stepDecode, Processor: plan.CPUName, Lists: r.tracer.list(0), Work: decoded(l)})
	for i := range c.rows[0] {
		c.rows[0][i] = uint32(i)
	}
	return nil
}

// decoded is the work of decoding a whole list.
func decoded(l *lists.List) plan.Work {
	return plan.Work{PostingsDecoded: int64(l.NumPostings), BlocksDecoded: int64(l.NumBlocks())}
}

// intersectOnCPU intersects the candidates with the next list (§2.2).
func (r *run) intersectOnCPU(ctx context.Context) error {
	l, err := r.list(codePForDelta)
	if err != nil {
		return err
	}
	n := len(r.candidates.docIDs)
	r.candidates.addRow()
	var w plan.Work
	if l.NumPostings < r.engine.options.cpuCrossing*n {
		w, err = r.merge(ctx, l)
	} else {
		w, err = r.search(ctx, l)
	}
	if err != nil {
		return err
	}
	r.step(plan.Step{
		Name: plan.StepIntersect, Processor: plan.CPUName, Lists: r.tracer.list(len(r.lists) - 1), Candidates: int64(n), Left: int64(len(r.candidates.docIDs)), Work: w,
	})
	return nil
}

// merge decodes the blocks one after another, up to the last candidate.
func (w *workspace) merge(ctx context.Context, l *lists.List) (work plan.Work, err error) {
	c := &w.candidates
	left, i := 0, 0
	for b := 0; b < l.NumBlocks() && i < len(c.docIDs); b++ {
		if err := ended(ctx, b); err != nil {
			return work, err
		}
		n, err := l.DecodeBlock(b, &w.block)
		if err != nil {
			return work, err
		}
		work.BlocksDecoded++
		work.PostingsDecoded += int64(n)
		var found int
		i, found = w.matches.merge(c.docIDs, i, w.block[:n])
		for k := range found {
			c.keep(left, int(w.matches.of[k]), b*codec.BlockLen+int(w.matches.at[k]))
			left++
		}
	}
	c.cut(left)
	work.BlocksSkipped = int64(l.NumBlocks()) - work.BlocksDecoded
	return work, nil
}

// merge finds the documents of a block from document i on. It returns the first document behind the
// block, and the number of matches.
func (m *matches) merge(docIDs []uint32, i int, block []uint32) (next, found int) {
	// Without branches, because both steps are unpredictable.
	for at := 0; i < len(docIDs) && at < len(block); {
		a, b := docIDs[i], block[at]
		m.of[found&(codec.BlockLen-1)], m.at[found&(codec.BlockLen-1)] = uint32(i), uint32(at)
		if a == b {
			found++
		}
		if a <= b {
			i++
		}
		if b <= a {
			at++
		}
	}
	return i, found
}

// search finds each candidate's block by the skip pointers, and the candidate in the block by a binary
// search. It decodes no other blocks.
func (w *workspace) search(ctx context.Context, l *lists.List) (work plan.Work, err error) {
	c := &w.candidates
	left, block, inMemory, n := 0, -1, -1, 0
	for i, d := range c.docIDs {
		if block < 0 || d > l.Last(block) {
			if block = l.FindBlock(block+1, d); block == l.NumBlocks() {
				break
			}
		}
		if d < l.First(block) {
			continue
		}
		if inMemory != block {
			if err := ended(ctx, int(work.BlocksDecoded)); err != nil {
				return work, err
			}
			if n, err = l.DecodeBlock(block, &w.block); err != nil {
				return work, err
			}
			inMemory = block
			work.BlocksDecoded++
			work.PostingsDecoded += int64(n)
		}
		if at, found := slices.BinarySearch(w.block[:n], d); found {
			c.keep(left, i, block*codec.BlockLen+at)
			left++
		}
	}
	c.cut(left)
	work.BlocksSkipped = int64(l.NumBlocks()) - work.BlocksDecoded
	return work, nil
}

// rankOnCPU scores the candidates and queues them: the partial sort of §3.1.3.
func (r *run) rankOnCPU(ctx context.Context) error {
	c := &r.candidates
	for i, d := range c.docIDs {
		if err := ended(ctx, i); err != nil {
			return err
		}
		sum := base.Score(0)
		for l, list := range r.lists {
			freq, err := list.Freq(int(c.rows[l][i]))
			if err != nil {
				return err
			}
			leg := r.legs[l]
			sum += leg.Term.Score(freq, leg.Lengths[d])
		}
		r.add(d, sum)
	}
	r.step(plan.Step{Name: stepRank, Processor: plan.CPUName, Work: plan.Work{PostingsScored: int64(len(c.docIDs) * len(r.lists))}})
	return nil
}
