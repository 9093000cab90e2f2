package dispatch

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// Prober runs steps of queries where its caller says, with the code of normal queries, so that
// package calibrate can time them. One goroutine at a time may use it.
type Prober struct {
	searcher *Searcher
	sc       *Scratch
	dst      []base.Hit
	run      *queryRun
}

// NewProber returns a Prober for a snapshot, on the CPU and, unless g is nil, on g.
func NewProber(g *GPU, snapshot *index.Snapshot) (*Prober, error) {
	sc, err := NewScratch(snapshot.Options.Analyzer)
	if err != nil {
		return nil, err
	}
	// Admit has queries prepared for a choice of places, also without a GPU.
	d, err := NewDispatcher(g, Config{Policy: PolicyCost, Admit: true, WorkersPerQuery: 1})
	if err != nil {
		return nil, err
	}
	d.overrunFactor = 0
	p := &Prober{searcher: NewSearcher(snapshot, nil), sc: sc, dst: make([]base.Hit, 0, pipeline.MaxK), run: &sc.run}
	p.searcher.Use(d)
	return p, nil
}

// Prepare plans a query.
func (p *Prober) Prepare(node query.Node, opts Options) (*Query, error) {
	return p.searcher.Prepare(p.sc, node, opts)
}

// Begin begins with the first stage of a query; End ends it.
func (p *Prober) Begin(q *Query) {
	p.run.begin(context.Background(), p.searcher.dispatcher, q, p.sc, p.dst, nil)
	p.run.describe()
}

// End releases the resources of the query.
func (p *Prober) End() { p.run.end() }

// Lengths returns the lengths of the stage's lists, rising if it is flat.
func (p *Prober) Lengths() []int64 { return p.run.predictor.lengths }

// Features describes the whole stage, for a pruned OR completely only after WholeStep of the
// CPU.
func (p *Prober) Features() *cost.Features { return &p.run.predictor.whole }

// Kind returns the kind of the whole stage at a place, on a GPU by images.
func (p *Prober) Kind(at sched.Place) cost.Kind { return p.run.predictor.kind(at) }

// Splits reports whether the stage is a conjunction that can run in several steps.
func (p *Prober) Splits() bool { return p.run.splits() }

// HasGPU reports whether the whole query can run on a GPU.
func (p *Prober) HasGPU() bool { return p.run.gpu.refusal == "" && !p.run.plan.gpu.hasCommon() }

// Attach makes the snapshot known to the GPU, if that is possible.
func (p *Prober) Attach() bool { return p.run.attach() == nil }

// IsAttached reports whether the GPU knows the snapshot.
func (p *Prober) IsAttached() bool { return p.run.gpu.view != nil }

// Locate finds out where the lists of the stage are, valid until the next call.
func (p *Prober) Locate() *pipeline.Located {
	p.run.gpu.view.Locate(p.run.gpuQuery(), &p.run.predictor.located)
	return &p.run.predictor.located
}

// Located returns the result of the last Locate.
func (p *Prober) Located() *pipeline.Located { return &p.run.predictor.located }

// HaveImages reports whether all lists of queries have images.
func (p *Prober) HaveImages(queries []*pipeline.Query) bool {
	for _, q := range queries {
		if p.run.gpu.view.Locate(q, &p.run.predictor.located); p.run.predictor.located.BytesImage > 0 {
			return false
		}
	}
	return true
}

// WaitForPromotions waits until the GPU has changed the forms of lists as it intended.
func (p *Prober) WaitForPromotions() { p.run.gpu.view.WaitForPromotions() }

// Missing describes the lists without images, after Locate.
func (p *Prober) Missing() cost.Features { return p.run.predictor.missingImages() }

// GPUQuery returns the stage's query for a GPU.
func (p *Prober) GPUQuery() *pipeline.Query { return p.run.gpuQuery() }

// RunTogether answers queries in one batch on the GPU.
func (p *Prober) RunTogether(ctx context.Context, queries []*pipeline.Query, results []pipeline.Result) error {
	return p.run.gpu.view.Run(ctx, queries, results, nil, nil)
}

// WholeStep returns the whole stage on the CPU as one step.
func (p *Prober) WholeStep() (s Step) {
	p.run.syncPredictor()
	p.run.predictor.wholeOn(&s, sched.CPU)
	return s
}

// ImagesStep returns the whole stage on the GPU by images, without a prediction.
func (p *Prober) ImagesStep() Step {
	s := Step{to: len(p.run.predictor.lengths), path: pipeline.PathImages}
	s.add(p.run.predictor.kind(sched.GPU), &p.run.predictor.whole, 0)
	return s
}

// PackedStep returns the whole stage on the GPU, by lists where they are, after Locate.
func (p *Prober) PackedStep() (s Step) {
	p.run.predictor.wholePacked(&s)
	return s
}

// CPULists returns the step through the remaining lists before number to, on the CPU.
func (p *Prober) CPULists(to int) Step {
	p.run.syncPredictor()
	p.run.predictor.expectCandidates()
	s := Step{to: to}
	p.run.predictor.addCPULists(&s, p.run.pos, to)
	return s
}

// GPULists is CPULists on the GPU, after Locate.
func (p *Prober) GPULists(to int) Step {
	p.run.syncPredictor()
	p.run.predictor.expectCandidates()
	s := Step{to: to, path: pipeline.PathPacked}
	p.run.predictor.addGPULists(&s, p.run.pos, to)
	return s
}

// Run runs a step and returns its time.
func (p *Prober) Run(ctx context.Context, at sched.Place, s *Step) (time.Duration, error) {
	began := time.Now()
	var err error
	if at == sched.GPU {
		err = p.run.onGPU(ctx, s, began)
	} else {
		err = p.run.onCPU(ctx, s, began)
	}
	return time.Since(began), err
}

// TryOnGPU is Run on the GPU, but does not advance the query.
func (p *Prober) TryOnGPU(ctx context.Context, s *Step) (time.Duration, error) {
	pos, have := p.run.pos, p.run.have
	took, err := p.Run(ctx, sched.GPU, s)
	p.run.pos, p.run.have = pos, have
	return took, err
}

// Done returns the finished lists of a conjunction and the candidates left.
func (p *Prober) Done() (lists, left int) {
	if p.run.have == nil {
		return p.run.pos, 0
	}
	return p.run.pos, p.run.have.Len()
}

// Rewind takes the query back to its beginning.
func (p *Prober) Rewind() { p.run.pos, p.run.have, p.run.dst = 0, nil, p.dst }
