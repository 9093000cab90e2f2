package ding09

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/papers/scoring"
	"github.com/griffin-search/griffin/internal/papers/selection"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/topk"
)

// run enqueues the work of a query.
type run[S scoring.Sum, K selection.Key | selection.WideKey] struct {
	*gpu
	ranker    *ranker[S, K]
	query     *deviceQuery
	structure *structure
}

// answer runs a query and sets its answer. The device is idle when it returns.
func answer[S scoring.Sum, K selection.Key | selection.WideKey](ctx context.Context, g *gpu, ranker *ranker[S, K], d *deviceQuery) error {
	r := &run[S, K]{gpu: g, ranker: ranker, query: d}
	g.timer.start(d.query.Trace != nil)
	err := r.enqueue(ctx)
	if err = errors.Join(err, g.stream.Synchronize()); err != nil {
		if ctx.Err() != nil && !isFault(err) {
			return ctx.Err()
		}
		return fmt.Errorf("query %s: %w", d.query.Plan.Query(), err)
	}
	steps, err := g.timer.steps()
	if err != nil {
		return err
	}
	r.finish()
	d.trace(steps)
	return nil
}

func (r *run[S, K]) enqueue(ctx context.Context) (err error) {
	d, w := r.query, &r.work
	if err := r.mark(stepInitialization, d.stages[0].mode); err != nil {
		return err
	}
	if r.structure, err = d.structure(); err != nil {
		return err
	}
	keys := r.ranker.keys.Slice(0, d.sizes.keys)
	if err := errors.Join(cuda.Fill(r.stream, w.matches, 0), fill(r.stream, keys)); err != nil {
		return err
	}
	if err := r.mark(stepInitialization, d.stages[0].mode); err != nil {
		return err
	}
	for i := range d.stages {
		for j := range d.stages[i].segments {
			if err := ctx.Err(); err != nil {
				return err
			}
			if err := r.segment(i, j); err != nil {
				return err
			}
		}
	}
	return errors.Join(
		cuda.CopyToHost(r.stream, w.hostMatches.Data(), w.matches.Slice(0, numStages)),
		copyBack(r.stream, r.ranker.back, keys),
	)
}

func fill[T any](s *cuda.Stream, b cuda.Buffer[T]) error {
	if b.Len() == 0 {
		return nil
	}
	return cuda.Fill(s, b, 0)
}

func copyBack[T any](s *cuda.Stream, back cuda.HostBuffer[T], b cuda.Buffer[T]) error {
	if b.Len() == 0 {
		return nil
	}
	return cuda.CopyToHost(s, back.Data(), b)
}

// segment runs a stage in a segment.
func (r *run[S, K]) segment(stage, segment int) error {
	st := &r.query.stages[stage]
	s := &st.segments[segment]
	if len(s.terms) == 0 {
		return nil
	}
	slot := stage*len(st.segments) + segment
	if st.conjunctive {
		source, err := r.and(st.mode, s)
		if err != nil {
			return err
		}
		return r.best(stage, slot, source)
	}
	unless := r.unless(stage)
	source, err := r.or(st.mode, s, unless)
	if err != nil {
		return err
	}
	source.Matches, source.Enough = unless.Matches, unless.Enough
	return r.best(stage, slot, source)
}

// unless is the condition for an OR after an AND (§8.3): too few matches in all segments.
func (r *run[S, K]) unless(stage int) scoring.Unless {
	if stage == 0 {
		return scoring.Unless{}
	}
	return scoring.Unless{Matches: r.work.matches.Slice(stage-1, stage), Enough: uint32(min(r.query.query.Plan.K(), math.MaxUint32))}
}

// best counts and selects among the sums of a segment.
func (r *run[S, K]) best(stage, slot int, source selection.Source[S]) error {
	d := r.query
	if d.query.Plan.Counts() || stage+1 < len(d.stages) {
		if err := r.ranker.count(r.kernels, r.stream, source, r.work.matches.Slice(stage, stage+1)); err != nil {
			return err
		}
	}
	if d.k > 0 {
		out := r.ranker.keys.Slice(slot*d.k, (slot+1)*d.k)
		if err := r.ranker.choose(r.kernels, r.stream, source, d.k, out, r.work.scratch); err != nil {
			return err
		}
	}
	return r.mark(stepTopK, d.stages[stage].mode)
}

// decodeExceptions enqueues decoding the exceptions of a recursive list, all of them (§8.1), and returns
// the list for decoding.
func (r *run[S, K]) decodeExceptions(t *deviceTerm) (decode.Source, error) {
	source := t.list.source()
	if t.recursion < 0 {
		return source, nil
	}
	const words = decode.RecArrayWords
	source.Side = r.work.sides.Slice(t.recursion*words, (t.recursion+1)*words)
	for _, level := range r.structure.levels[t.recursion] {
		if level.from == level.to {
			continue
		}
		if err := r.kernels.decoders.DecodeArrays(r.stream, r.work.arrays.Slice(level.from, level.to), level.batch); err != nil {
			return source, err
		}
	}
	return source, nil
}

// decode enqueues decoding a whole list, or its first *count blocks if count is set.
func (r *run[S, K]) decode(t *deviceTerm, out, count cuda.Buffer[uint32]) error {
	source, err := r.decodeExceptions(t)
	if err != nil {
		return err
	}
	l, err := decode.NewList(source, cuda.Buffer[uint32]{}, out.Slice(0, source.NumBlocks()*codec.BlockLen))
	if err != nil {
		return err
	}
	if !count.IsZero() {
		l = l.Counted(count)
	}
	return r.kernels.decoders.DecodeList(r.stream, r.codec, decode.DocIDs, l)
}

func (r *run[S, K]) mark(step string, mode plan.Mode) error {
	return r.timer.mark(r.device, r.stream, step, mode)
}

// finish sets the answer from the results of the device.
func (r *run[S, K]) finish() {
	d, p := r.query, r.query.query.Plan
	a := plan.Answer{Hits: d.query.Answer.Hits[:0], Traversal: engineName, By: sched.GPU}
	var queue topk.Queue
	var hits []base.Hit
	for i := range d.stages {
		a.Mode = d.stages[i].mode
		queue.Reset(d.k)
		for j := range d.stages[i].segments {
			slot := i*len(d.stages[i].segments) + j
			hits = r.ranker.hits(hits[:0], r.ranker.back.Data()[slot*d.k:(slot+1)*d.k])
			for _, h := range hits {
				queue.Add(h)
			}
		}
		a.Hits = queue.AppendSorted(a.Hits[:0])
		if !fallsBack(p, i, len(a.Hits)) {
			if p.Counts() {
				a.Matches = int64(r.work.hostMatches.Data()[i])
			}
			break
		}
	}
	d.query.Answer = a
}
