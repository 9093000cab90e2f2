package calibrate

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/traverse"
)

// measurer runs queries on each processor and records their times and features.
// Not safe for concurrent use.
type measurer struct {
	*dispatch.Prober
	runs    runner
	samples []cost.Measured
	// By OR and AND: queries with their images on the GPU.
	batches [2]batchOf
	// Replaces the contents of the caches before a short step.
	evicted []byte
	read    byte
}

// runner runs queries and returns their times.
type runner interface {
	Run(ctx context.Context, at sched.Place, s *dispatch.Step) (time.Duration, error)
	TryOnGPU(ctx context.Context, s *dispatch.Step) (time.Duration, error)
	RunTogether(ctx context.Context, queries []*pipeline.Query, results []pipeline.Result) (time.Duration, error)
}

// timed also times RunTogether.
type timed struct{ *dispatch.Prober }

func (p timed) RunTogether(ctx context.Context, queries []*pipeline.Query, results []pipeline.Result) (time.Duration, error) {
	began := time.Now()
	err := p.Prober.RunTogether(ctx, queries, results)
	return time.Since(began), err
}

type batchOf struct {
	queries  []*pipeline.Query
	results  []pipeline.Result
	features cost.Features
}

func newMeasurer(g *dispatch.GPU, snapshot *index.Snapshot) (*measurer, error) {
	p, err := dispatch.NewProber(g, snapshot)
	if err != nil {
		return nil, err
	}
	m := &measurer{Prober: p, runs: timed{p}, evicted: make([]byte, cacheBytes)}
	for i := range m.evicted {
		m.evicted[i] = byte(i) // otherwise all pages map to one page of zeros
	}
	return m, nil
}

// whole holds the minimum times of a whole query, 0 if not measured, and its
// features for a model tree.
type whole struct {
	features cost.Vector
	kind     [sched.NumPlaces]cost.Kind
	took     [sched.NumPlaces]time.Duration
}

const (
	// Runs after the first, which fills the caches.
	times = 2
	// If a run takes tooLong, it is the only one.
	tooLong = 20 * time.Millisecond
	// short is the time below which the caches matter: a query after others takes up to
	// four times the time of a repeated one.
	short = 250 * time.Microsecond
	// More than the cache of a core.
	cacheBytes = 4 << 20
)

func (m *measurer) evict() {
	for i := 0; i < len(m.evicted); i += 64 {
		m.read += m.evicted[i]
	}
}

// measure runs the first stage of a query on every processor that supports it.
// It ignores failures of a GPU and returns errors of the context or a damaged
// index.
func (m *measurer) measure(ctx context.Context, q *dispatch.Query) (w whole, err error) {
	st := q.Stage(0)
	if q.Mode() != plan.ModeSaat && (!st.IsFlat() || st.Excludes()) {
		return w, nil
	}
	m.Begin(q)
	defer m.End()
	if n := m.Lengths(); len(n) == 0 || slices.Contains(n, 0) && st.Kind() == traverse.And {
		return w, nil
	}
	w.features = cost.TreeFeatures(m.Features())
	w.kind[sched.CPU] = m.Kind(sched.CPU)
	onCPU := m.WholeStep()
	if w.took[sched.CPU], err = m.repeat(ctx, sched.CPU, &onCPU); err != nil {
		return w, err
	}
	if m.HasGPU() {
		if err := m.onGPU(ctx, q, &w); err != nil {
			return w, err
		}
	}
	if m.Splits() {
		err = m.inSteps(ctx)
	}
	return w, err
}

// With images and with packed lists if present.
func (m *measurer) onGPU(ctx context.Context, q *dispatch.Query, w *whole) error {
	if !m.Attach() {
		return nil
	}
	l := m.Locate()
	images := l.BytesImage == 0 || l.ImageRoom || !l.Packed
	if images {
		missing := m.Missing()
		s := m.ImagesStep()
		first, err := m.once(ctx, sched.GPU, &s)
		if err != nil {
			return gpuError(err)
		}
		took, err := m.repeat(ctx, sched.GPU, &s)
		if err != nil {
			return gpuError(err)
		}
		if missing.Lists > 0 {
			m.add(cost.BringImages, &missing, first-took)
		}
		w.kind[sched.GPU], w.took[sched.GPU] = s.Predictions()[0].Kind, took
		if err := m.inBatch(ctx, q); err != nil {
			return gpuError(err)
		}
	}
	if l = m.Locate(); !l.Packed || q.Mode() == plan.ModeSaat {
		return nil
	}
	loading := m.PackedStep()
	first, err := m.once(ctx, sched.GPU, &loading)
	if err != nil {
		return gpuError(err)
	}
	m.WaitForPromotions()
	m.Locate()
	loaded := m.PackedStep() // without loading
	took, err := m.repeat(ctx, sched.GPU, &loaded)
	if err != nil {
		return gpuError(err)
	}
	if load := &loading.Predictions()[0]; load.Kind == cost.BringHost && len(loaded.Predictions()) == 1 {
		m.add(cost.BringHost, &load.Features, first-took)
	}
	if !images {
		w.kind[sched.GPU], w.took[sched.GPU] = loaded.Predictions()[0].Kind, took
	}
	return nil
}

// inBatch adds a query with images on the GPU to a batch, and measures a full
// batch.
func (m *measurer) inBatch(ctx context.Context, q *dispatch.Query) error {
	if q.Mode() == plan.ModeSaat {
		return nil
	}
	b := &m.batches[q.Stage(0).Kind()]
	b.queries = append(b.queries, m.GPUQuery())
	b.results = append(b.results, pipeline.Result{})
	f, own := &b.features, m.Features()
	f.Lists += own.Lists
	f.K, f.Batch = own.K, len(b.queries)
	f.Shortest += own.Shortest
	f.Second += own.Second
	f.Longest += own.Longest
	f.Sum += own.Sum
	if len(b.queries) < dispatch.BatchMeasured {
		return nil
	}
	least := time.Duration(0)
	for i := range 1 + times {
		took, err := m.runs.RunTogether(ctx, b.queries, b.results)
		if err != nil {
			return err
		}
		if i == 1 || took < least {
			least = took
		}
	}
	failed := slices.ContainsFunc(b.results, func(r pipeline.Result) bool { return r.Err != nil })
	if !failed && m.HaveImages(b.queries) { // otherwise each run loaded some
		m.add(m.Kind(sched.GPU), f, least)
	}
	*b = batchOf{}
	return nil
}

// List by list on the CPU and, from each list on, the rest on the GPU.
func (m *measurer) inSteps(ctx context.Context) error {
	n := len(m.Lengths())
	for to := 1; to <= n; to++ {
		if m.HasGPU() && m.Located().Packed && to > 1 {
			for _, end := range slices.Compact([]int{to, n}) {
				if err := m.stepOnGPU(ctx, end); err != nil {
					return gpuError(err)
				}
			}
		}
		s := m.CPULists(to)
		if s.Took() <= short {
			m.evict()
		}
		took, err := m.runs.Run(ctx, sched.CPU, &s)
		if err != nil {
			return err
		}
		first := &s.Predictions()[0]
		selection := s.Took() - first.Took // of the best, after the last list
		if took -= selection; took < 4*selection {
			break // mostly the selection
		}
		m.add(first.Kind, &first.Features, took)
		if _, left := m.Done(); left == 0 {
			break
		}
	}
	return nil
}

// stepOnGPU restores the position.
func (m *measurer) stepOnGPU(ctx context.Context, to int) error {
	for i := range 1 + times {
		m.WaitForPromotions()
		m.Locate()
		s := m.GPULists(to)
		took, err := m.runs.TryOnGPU(ctx, &s)
		if err != nil {
			return err
		}
		if p := s.Predictions(); i > 0 && len(p) == 1 {
			m.add(p[0].Kind, &p[0].Features, took)
		}
	}
	return nil
}

// repeat runs a step, which loads its data, and repeats it: a short one once
// with other data in the caches, others several times. It records and returns
// the minimum of the repetitions.
func (m *measurer) repeat(ctx context.Context, at sched.Place, s *dispatch.Step) (least time.Duration, err error) {
	first, err := m.once(ctx, at, s)
	if err != nil || first > tooLong {
		m.note(s, first, err)
		return first, err
	}
	n := times
	if first <= short {
		n = 1
		m.evict()
	}
	for range n {
		took, err := m.once(ctx, at, s)
		if err != nil {
			return 0, err
		}
		if least == 0 || took < least {
			least = took
		}
	}
	m.note(s, least, nil)
	return least, nil
}

// once runs a step from the beginning of the stage.
func (m *measurer) once(ctx context.Context, at sched.Place, s *dispatch.Step) (time.Duration, error) {
	took, err := m.runs.Run(ctx, at, s)
	m.Rewind()
	if err == nil {
		err = ctx.Err()
	}
	return took, err
}

// If the step has a single prediction.
func (m *measurer) note(s *dispatch.Step, took time.Duration, err error) {
	if p := s.Predictions(); err == nil && len(p) == 1 {
		m.add(p[0].Kind, &p[0].Features, took)
	}
}

// Differences of times that are not positive are noise.
func (m *measurer) add(k cost.Kind, f *cost.Features, took time.Duration) {
	if took > 0 {
		m.samples = append(m.samples, cost.Measured{Kind: k, Features: *f, Took: took})
	}
}

func gpuError(err error) error {
	if errors.Is(err, sched.ErrFailed) || errors.Is(err, sched.ErrLost) {
		return nil
	}
	return err
}
