package griffin18

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/papers/lists"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// The lists of both processors, with the numbers of their codes.
var kept = lists.NewKind(name)

const (
	codePForDelta = iota
	codeEF
)

var codes = [...]codec.Codec{codePForDelta: codec.PForDelta{Plain: true}, codeEF: codec.EF{Plain: true}}

// workspace is the memory of one running query.
type workspace struct {
	legs       []*traverse.Leg // of the segment, the shortest list first
	lists      []*lists.List   // of legs, in the code of the processor that read them
	candidates candidates
	block      [codec.BlockLen]uint32
	matches    matches
	queue      topk.Queue
	memory     *memory // of the device; nil: not used yet, or freed
	idleBytes  int64   // in the pool
}

// forget drops references to posting lists.
func (w *workspace) forget() {
	clear(w.legs[:cap(w.legs)])
	clear(w.lists[:cap(w.lists)])
	w.legs, w.lists = w.legs[:0], w.lists[:0]
}

// run is a query that is being answered, segment by segment.
type run struct {
	*workspace
	engine *Engine
	query  *engine.Query
	view   *index.View // of the segment
	// alone: the GPU failed, and the CPU answers the rest of the query.
	alone  bool
	ended  [sched.NumPlaces]bool // segments ended on the processor
	tracer tracer
}

func (r *run) all(ctx context.Context) error {
	p := r.query.Plan
	st := p.Stage(0)
	if !st.IsFlat() || p.K() == 0 && !p.Counts() {
		return nil
	}
	segments := p.Snapshot().Segments
	for i := range segments {
		r.view = &segments[i]
		if err := r.segment(ctx, st.Legs(i)); err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("segment %s: query %s: %w", r.view.Name, p.Query(), err)
		}
	}
	if r.ended[sched.GPU] && !r.ended[sched.CPU] {
		r.query.Answer.By = sched.GPU
	}
	return nil
}

// segment adds the segment's hits to the queue.
func (r *run) segment(ctx context.Context, legs []traverse.Leg) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.tracer.beginSegment(r.view.Name)
	if empty, err := r.open(legs); err != nil || empty {
		return err
	}
	if r.beginsOnGPU() {
		completed, err := r.tryGPU(ctx)
		switch {
		case err == nil && completed:
			r.ended[sched.GPU] = true
			r.tracer.unread(len(r.lists))
			return nil
		case err == nil:
			r.migrated()
		case !r.survives(err):
			return err
		}
	}
	r.ended[sched.CPU] = true
	err := r.completeOnCPU(ctx)
	if err == nil {
		r.tracer.unread(len(r.lists))
	}
	return err
}

// tryGPU is beginOnGPU. If memory runs out, it frees all memory that no other running query needs and begins
// once more.
func (r *run) tryGPU(ctx context.Context) (completed bool, err error) {
	completed, err = r.beginOnGPU(ctx)
	if !errors.Is(err, cuda.ErrOutOfMemory) || r.engine.device.lost() {
		return completed, err
	}
	m := r.memory
	if r.memory = nil; m != nil {
		if closed := m.close(); closed != nil {
			return false, errors.Join(closed, err)
		}
	}
	if freed := r.engine.freeMemory(); freed != nil {
		return false, errors.Join(freed, err)
	}
	r.tracer.note("begun again after an error for lack of GPU memory")
	r.restart()
	return r.beginOnGPU(ctx)
}

// restart drops the intermediate result of the segment.
func (r *run) restart() {
	clear(r.lists)
	r.lists = r.lists[:0]
	r.candidates.reset()
}

// migrated counts a migration.
func (r *run) migrated() {
	r.query.Answer.Migrations++
	if t := r.query.Trace; t != nil {
		t.Migrations++
	}
}

// open sorts the legs by the length of their lists, stable, and reports whether a list is empty.
func (r *run) open(legs []traverse.Leg) (empty bool, err error) {
	r.forget()
	r.candidates.reset()
	numDocs := r.view.NumDocs()
	for i := range legs {
		l := &legs[i]
		switch {
		case l.List.DocFreq == 0:
			r.tracer.missing(i)
			return true, nil
		case int64(l.List.LastDocID()) >= int64(numDocs) || len(l.Lengths) < numDocs:
			return false, fmt.Errorf("word %d: list up to DocID %d, lengths of %d documents of %d: %w", i, l.List.LastDocID(), len(l.Lengths), numDocs, base.ErrCorrupt)
		}
		r.legs = append(r.legs, l)
	}
	slices.SortStableFunc(r.legs, func(a, b *traverse.Leg) int { return cmp.Compare(a.List.DocFreq, b.List.DocFreq) })
	r.tracer.open(legs, r.legs)
	return false, nil
}

// list appends the next list, in a code.
func (r *run) list(code int) (*lists.List, error) {
	leg := r.legs[len(r.lists)]
	l, err := kept.Get(leg.Derived, leg.List, codes[code], uint64(code))
	if err != nil {
		return nil, err
	}
	r.lists = append(r.lists, l)
	return l, nil
}

// beginsOnGPU reports whether the segment begins on the GPU: by the ratio of the two shortest lists. A single
// list has a ratio of 1. Sums above 32 bits, which need extreme boosts, are for the CPU.
func (r *run) beginsOnGPU() bool {
	d := r.engine.device
	if d == nil || d.lost() || r.alone {
		return false
	}
	most := base.Score(0)
	for _, l := range r.legs {
		most += min(l.MaxScore, 1<<32)
	}
	return most <= math.MaxUint32 && r.staysOnGPU(int(r.legs[0].List.DocFreq), r.legs[min(1, len(r.legs)-1)])
}

// staysOnGPU is the scheduler of §3.2, for n candidates and the next list.
func (r *run) staysOnGPU(n int, next *traverse.Leg) bool {
	o := &r.engine.options
	return o.on == onGPU || int(next.List.DocFreq) < o.ratio*n
}

// survives reports whether the CPU can answer after an error of the GPU, and prepares that.
func (r *run) survives(err error) bool {
	var failed *cuda.Error
	if !errors.As(err, &failed) || !failed.CPUValid() {
		return false
	}
	if !r.alone {
		r.alone = true
		r.engine.faults.Add(1)
	}
	r.tracer.note("answered by the CPU: %v", failed)
	r.restart()
	return true
}

// add queues a document of the segment, unless it is deleted.
func (r *run) add(docID uint32, s base.Score) {
	if r.view.Live != nil && !r.view.Live.Has(int(docID)) {
		return
	}
	r.queue.Add(base.Hit{DocID: r.view.Base + base.DocID(docID), Score: s})
	r.matched(1)
}

// matched counts matches, if that is requested.
func (r *run) matched(n int) {
	if r.query.Plan.Counts() {
		r.query.Answer.Matches += int64(n)
	}
}

// step adds the step since the last one to the trace, if there is one, and its work to the answer.
func (r *run) step(s plan.Step) {
	r.query.Answer.Work.Add(s.Work)
	r.tracer.add(s)
}
