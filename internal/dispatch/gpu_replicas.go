package dispatch

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/plan"
)

// replica is an engine that answers queries by itself: one GPU, or with LayoutRanges all GPUs.
type replica struct {
	engine *pipeline.Engine
	held   atomic.Int64 // views that runs have, also runs that wait
}

func (r *replica) isUsable() bool { return r.engine.Lost() == nil }

// imageBytes estimates the device memory of decoded lists for a byte in the postings file.
const imageBytes = 5

// needsRanges reports whether the devices of the engines should share every query.
func needsRanges(layout string, engines []*pipeline.Engine, indexBytes int64) bool {
	if layout != "" || len(engines) == 1 {
		return layout == LayoutRanges
	}
	var least, sum int64
	for i, e := range engines {
		limit := e.Stats().Devices[0].LimitBytes
		if sum += limit; i == 0 || limit < least {
			least = limit
		}
	}
	needed := imageBytes * indexBytes
	return least < needed && needed <= sum
}

// choose returns the replica with the fewest runs among the usable ones, if there are any. Equal ones
// take turns, so that all are warm when the load rises.
func (g *GPU) choose() int {
	n := len(g.replicas)
	if n == 1 {
		return 0
	}
	best, least, first := 0, int64(-1), int(g.turn.Add(1)%uint64(n))
	for i := range n {
		at := (first + i) % n
		r := g.replicas[at]
		if held := r.held.Load(); (least < 0 || held < least) && r.isUsable() {
			best, least = at, held
		}
	}
	return best
}

// idle returns the number of usable replicas without runs.
func (g *GPU) idle() (n int) {
	for _, r := range g.replicas {
		if r.held.Load() == 0 && r.isUsable() {
			n++
		}
	}
	return n
}

// of returns the replica of a view.
func (g *GPU) of(v *pipeline.View) int {
	for i, r := range g.replicas {
		if r.engine == v.Engine() {
			return i
		}
	}
	panic("dispatch: a view of another GPU")
}

// isStranded reports whether the devices of a view are lost while other replicas are usable.
func (g *GPU) isStranded(v *pipeline.View) bool {
	return v.Engine().Lost() != nil && g.replicas[g.choose()].isUsable()
}

// attach takes a view of a query's snapshot, another one if the devices of the former are lost.
func (s *gpuState) attach(g *GPU, q *Query) (err error) {
	if s.view != nil && g.isStranded(s.view) {
		s.detach(g)
	}
	if s.view == nil {
		s.view, err = g.begin(q.Snapshot(), q.Mode() == plan.ModeSaat)
	}
	return err
}

// attachTo takes a view of a replica.
func (s *gpuState) attachTo(g *GPU, at int, q *Query) (err error) {
	if s.view != nil && g.of(s.view) != at {
		s.detach(g)
	}
	if s.view == nil {
		s.view, err = g.beginOn(at, q.Snapshot(), q.Mode() == plan.ModeSaat)
	}
	return err
}

func (s *gpuState) detach(g *GPU) {
	if s.view != nil {
		g.end(s.view)
		s.view = nil
	}
}

// Warm loads posting lists of a snapshot to the devices, the longest first, until all are
// loaded or memory is full, so that no query waits for them. It returns the numbers of lists that
// every replica has, and of all.
func (g *GPU) Warm(ctx context.Context, snapshot *index.Snapshot, o WarmOptions) (lists, total int64, err error) {
	w := warming{gpu: g, snapshot: snapshot, options: o, progress: make([]int64, len(g.replicas)), outcomes: make([]warmOutcome, len(g.replicas))}
	var group invariant.Group
	for i := range g.replicas {
		group.Go(func() { w.outcomes[i] = w.warm(ctx, i) })
	}
	group.Wait()
	for i, out := range w.outcomes {
		if out.err != nil {
			err = out.err
		}
		total = max(total, out.total)
		if i == 0 || out.lists < lists {
			lists = out.lists
		}
	}
	return lists, total, err
}

// warming loads lists to all replicas at the same time.
type warming struct {
	gpu      *GPU
	snapshot *index.Snapshot
	options  WarmOptions
	outcomes []warmOutcome

	mu       sync.Mutex
	progress []int64 // by replica; guarded by mu
}

type warmOutcome struct {
	lists, total int64
	err          error
}

func (w *warming) warm(ctx context.Context, at int) (out warmOutcome) {
	v, err := w.gpu.beginOn(at, w.snapshot, w.options.Impacts)
	if err != nil {
		return warmOutcome{err: err}
	}
	defer w.gpu.end(v)
	o := pipeline.WarmOptions{MinDocFreq: w.options.MinDocFreq}
	if w.options.Progress != nil {
		o.Progress = func(done, total int64) { w.report(at, done, total) }
	}
	out.lists, out.total, out.err = v.Warm(ctx, o)
	return out
}

// report reports the mean of the replicas.
func (w *warming) report(at int, done, total int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.progress[at] = done
	sum := int64(0)
	for _, n := range w.progress {
		sum += n
	}
	w.options.Progress(sum/int64(len(w.progress)), total)
}
