package exec

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// measurer runs queries at every place there is and notes what they took, beside what
// they would be predicted from: both by the code that runs them otherwise. It is of one
// goroutine.
type measurer struct {
	d        *Dispatcher // its own, with the GPU of another
	searcher *Searcher
	sc       *Scratch
	dst      []base.Hit
	samples  []cost.Measured
	// batches holds, by OR and AND, queries whose images are on the GPU.
	batches [2]batchOf
	// others is what lies in the caches when a short piece begins.
	others []byte
	read   byte
}

// batchOf are queries that are measured together.
type batchOf struct {
	queries  []*pipeline.Query
	results  []pipeline.Result
	features cost.Features
}

// newMeasurer returns a measurer for a snapshot, on the CPU and on a GPU, if that is not
// nil.
func newMeasurer(g *GPU, snapshot *index.Snapshot) (*measurer, error) {
	sc, err := NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		return nil, err
	}
	m := &measurer{sc: sc, dst: make([]base.Hit, 0, pipeline.MaxK), searcher: NewSearcher(snapshot, nil), others: make([]byte, cacheBytes)}
	for i := range m.others {
		m.others[i] = byte(i) // else all of it would be one page of zeros
	}
	// Admit has plans made ready for places, without a GPU too.
	if m.d, err = NewDispatcher(g, DispatchOptions{Policy: PolicyCost, Admit: true}); err != nil {
		return nil, err
	}
	m.d.patience = 0
	m.searcher.Use(m.d)
	return m, nil
}

// whole holds the least times of a whole query, 0 where it was not measured, and what it
// has for a model tree.
type whole struct {
	features cost.Vector
	kind     [sched.NumPlaces]cost.Kind
	took     [sched.NumPlaces]time.Duration
}

const (
	// times is how often work is measured after it ran once, which brings what it needs
	// to the caches.
	times = 2
	// tooLong is from when on once is enough.
	tooLong = 20 * time.Millisecond
	// short is up to when work depends on whether what it needs is in the caches: a
	// query that comes after others takes up to four times as long as one that is
	// repeated.
	short = 250 * time.Microsecond
	// cacheBytes is more than the cache of a core.
	cacheBytes = 4 << 20
)

// distract leaves the caches as they are after other work: lines of 64 bytes.
func (m *measurer) distract() {
	for i := 0; i < len(m.others); i += 64 {
		m.read += m.others[i]
	}
}

// measure runs the first stage of a plan wherever it can. The error is the context's, or
// that of an index that is damaged; what a GPU fails at is left out.
func (m *measurer) measure(ctx context.Context, p *Plan) (w whole, err error) {
	st := &p.stages[0]
	if p.mode != ModeSaat && (st.root == nil || !st.flat || len(st.excluded) > 0) {
		return w, nil
	}
	r := &m.sc.placed
	r.begin(m.d, p, m.sc, m.dst, nil)
	defer r.end()
	r.look()
	if len(r.lengths) == 0 || slices.Contains(r.lengths, 0) && st.kind == traverse.And {
		return w, nil
	}
	w.features = cost.TreeFeatures(&r.whole)
	w.kind[sched.CPU] = r.kind(sched.CPU)
	var onCPU choice
	r.wholeOn(&onCPU, sched.CPU)
	if w.took[sched.CPU], err = m.repeat(ctx, r, sched.CPU, onCPU); err != nil {
		return w, err
	}
	if r.refusal == "" {
		if err := m.onGPU(ctx, r, &w); err != nil {
			return w, err
		}
	}
	if r.splits() {
		err = m.inSteps(ctx, r)
	}
	return w, err
}

// onGPU measures the whole query on the GPU, by images and by lists where they lie.
func (m *measurer) onGPU(ctx context.Context, r *placedRun, w *whole) error {
	if attached := r.attach() == nil; !attached {
		return nil
	}
	q := &r.plan.stages[0].gpu
	r.view.Locate(q, &r.located)
	images := r.located.BytesImage == 0 || r.located.ImageRoom || !r.located.Direct
	if images {
		brought := r.bringing()
		c := choice{to: len(r.lengths), path: pipeline.PathImages}
		c.add(r.kind(sched.GPU), &r.whole, 0)
		first, err := m.once(ctx, r, sched.GPU, c)
		if err != nil {
			return gpuError(err)
		}
		took, err := m.repeat(ctx, r, sched.GPU, c)
		if err != nil {
			return gpuError(err)
		}
		if brought.Lists > 0 && first > took {
			m.add(cost.BringImages, &brought, first-took)
		}
		w.kind[sched.GPU], w.took[sched.GPU] = c.parts[0].kind, took
		if err := m.inBatch(ctx, r); err != nil {
			return gpuError(err)
		}
	}
	r.view.Locate(q, &r.located)
	if !r.located.Direct || r.plan.mode == ModeSaat {
		return nil
	}
	var c, again choice
	r.wholeDirect(&c)
	first, err := m.once(ctx, r, sched.GPU, c)
	if err != nil {
		return gpuError(err)
	}
	r.view.WaitForPromotions()
	r.view.Locate(q, &r.located)
	r.wholeDirect(&again) // nothing is to be brought any more
	took, err := m.repeat(ctx, r, sched.GPU, again)
	if err != nil {
		return gpuError(err)
	}
	if brought := &c.parts[0]; brought.kind == cost.BringHost && again.numParts == 1 && first > took {
		m.add(cost.BringHost, &brought.features, first-took)
	}
	if !images {
		w.kind[sched.GPU], w.took[sched.GPU] = again.parts[0].kind, took
	}
	return nil
}

// inBatch measures batches of queries whose images are there, when enough have come.
func (m *measurer) inBatch(ctx context.Context, r *placedRun) error {
	if r.plan.mode == ModeSaat {
		return nil
	}
	b := &m.batches[r.plan.stages[0].kind]
	b.queries = append(b.queries, &r.plan.stages[0].gpu)
	b.results = append(b.results, pipeline.Result{})
	f := &b.features
	f.Lists += r.whole.Lists
	f.K, f.Batch = r.whole.K, len(b.queries)
	f.Shortest += r.whole.Shortest
	f.Second += r.whole.Second
	f.Longest += r.whole.Longest
	f.Sum += r.whole.Sum
	if len(b.queries) < batchMeasured {
		return nil
	}
	least := time.Duration(0)
	for i := range 1 + times {
		began := time.Now()
		if err := r.view.Run(ctx, b.queries, b.results, nil, nil); err != nil {
			return err
		}
		if took := time.Since(began); i == 1 || took < least {
			least = took
		}
	}
	failed := slices.ContainsFunc(b.results, func(r pipeline.Result) bool { return r.Err != nil })
	if !failed && m.haveImages(r, b.queries) { // else there was no room for all, and some were brought each time
		m.add(r.kind(sched.GPU), f, least)
	}
	*b = batchOf{}
	return nil
}

// haveImages reports whether the images of all lists of queries are there.
func (m *measurer) haveImages(r *placedRun, queries []*pipeline.Query) bool {
	return !slices.ContainsFunc(queries, func(q *pipeline.Query) bool {
		r.view.Locate(q, &r.located)
		return r.located.BytesImage > 0
	})
}

// inSteps measures a conjunction list by list on the CPU and, from every list on, what
// is left of it on the GPU.
func (m *measurer) inSteps(ctx context.Context, r *placedRun) error {
	n := len(r.lengths)
	for to := 1; to <= n; to++ {
		from := r.pos
		if r.refusal == "" && r.view != nil && r.located.Direct && to > 1 {
			for _, end := range slices.Compact([]int{to, n}) {
				if err := m.stepOnGPU(ctx, r, end); err != nil {
					return gpuError(err)
				}
			}
		}
		r.expect()
		c := choice{to: to}
		r.onCPUFrom(&c, from, to)
		if c.took <= short {
			m.distract()
		}
		began := time.Now()
		if err := r.onCPU(ctx, &c, began); err != nil {
			return err
		}
		took := time.Since(began)
		if c.numParts > 1 { // the selection comes with the last
			selection := c.took - c.parts[0].took
			if took -= selection; took < 4*selection {
				break // there is little else in it
			}
		}
		m.add(c.parts[0].kind, &c.parts[0].features, took)
		if r.pos == n || r.have.Len() == 0 {
			break
		}
	}
	m.rewind(r)
	return nil
}

// stepOnGPU measures the lists from where the run is up to a number on the GPU, and leaves
// the run where it was.
func (m *measurer) stepOnGPU(ctx context.Context, r *placedRun, to int) error {
	pos, have := r.pos, r.have
	if pos == 0 && to == len(r.lengths) {
		return nil // the whole
	}
	for i := range 1 + times {
		r.view.WaitForPromotions()
		r.view.Locate(&r.plan.stages[0].gpu, &r.located)
		r.expect()
		c := choice{to: to, path: pipeline.PathDirect}
		r.onGPUFrom(&c, pos, to)
		began := time.Now()
		err := r.onGPU(ctx, &c, began)
		took := time.Since(began)
		r.pos, r.have = pos, have
		if err != nil {
			return err
		}
		if i > 0 && c.numParts == 1 {
			m.add(c.parts[0].kind, &c.parts[0].features, took)
		}
	}
	return nil
}

// repeat runs a piece, which brings what it needs to memory, then, if it is short, once
// more after a distraction, or else a few times. Of these it notes and returns the least.
func (m *measurer) repeat(ctx context.Context, r *placedRun, at sched.Place, c choice) (least time.Duration, err error) {
	first, err := m.once(ctx, r, at, c)
	if err != nil || first > tooLong {
		m.note(&c, first, err)
		return first, err
	}
	n := times
	if first <= short {
		n = 1
		m.distract()
	}
	for range n {
		took, err := m.once(ctx, r, at, c)
		if err != nil {
			return 0, err
		}
		if least == 0 || took < least {
			least = took
		}
	}
	m.note(&c, least, nil)
	return least, nil
}

// once runs a piece from the beginning of the stage and returns its time.
func (m *measurer) once(ctx context.Context, r *placedRun, at sched.Place, c choice) (time.Duration, error) {
	began := time.Now()
	var err error
	if at == sched.GPU {
		err = r.onGPU(ctx, &c, began)
	} else {
		err = r.onCPU(ctx, &c, began)
	}
	took := time.Since(began)
	m.rewind(r)
	if err == nil {
		err = ctx.Err()
	}
	return took, err
}

// rewind takes the run back to its beginning.
func (m *measurer) rewind(r *placedRun) { r.pos, r.have, r.dst = 0, nil, m.dst }

// note notes the time of a piece that is of one part.
func (m *measurer) note(c *choice, took time.Duration, err error) {
	if err == nil && c.numParts == 1 {
		m.add(c.parts[0].kind, &c.parts[0].features, took)
	}
}

func (m *measurer) add(k cost.Kind, f *cost.Features, took time.Duration) {
	if took > 0 {
		m.samples = append(m.samples, cost.Measured{Kind: k, Features: *f, Took: took})
	}
}

// gpuError returns an error but for one that says that a GPU did not do its piece.
func gpuError(err error) error {
	if errors.Is(err, sched.ErrFailed) || errors.Is(err, sched.ErrLost) {
		return nil
	}
	return err
}
