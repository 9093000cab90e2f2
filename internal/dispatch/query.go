package dispatch

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/pipeline"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/saat"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/traverse"
	"github.com/griffin-search/griffin/query"
)

// Options describe the wanted answer of a query, and how it is found. They repeat the fields of
// plan.Options, so that callers fill one struct.
type Options struct {
	// See plan.Options for Mode, K, Traversal, Accumulators, Budget, Count, MatchesOnly and Stop.
	Mode         plan.Mode
	K            int
	Traversal    string
	Accumulators string
	Budget       saat.Budget
	Count        bool
	MatchesOnly  bool
	Stop         traverse.Interrupt
	// CPU keeps the query off GPUs.
	CPU bool
	// Cached lets the answer come from the Searcher's result cache and be stored there. It has
	// no effect with a Budget, a Traversal, Accumulators, CPU, a Policy or a Placement. A query
	// prepared with it can only be run alone and without a trace.
	Cached bool
	// Refusal is whether the query may be refused before it is planned.
	Refusal Refusal
	// Policy chooses where the steps of the query run ("": the Dispatcher's policy). Policies that
	// gather or group queries (query, batch) do so only as the Dispatcher's policy.
	Policy Policy
	// Placement, if not nil, replaces the policy.
	Placement *Placement
}

func (o *Options) plan() plan.Options {
	return plan.Options{Mode: o.Mode, K: o.K, Traversal: o.Traversal, Accumulators: o.Accumulators, Budget: o.Budget, Count: o.Count, MatchesOnly: o.MatchesOnly, Stop: o.Stop}
}

func (o *Options) cacheable() bool {
	return o.Cached && o.Budget == (saat.Budget{}) && o.Traversal == "" && o.Accumulators == "" && !o.CPU && o.Policy == "" && o.Placement == nil
}

// Searcher answers queries over one snapshot, which must be held until the last Query has run.
// It is safe for concurrent use.
type Searcher struct {
	planner    *plan.Planner
	dispatcher *Dispatcher        // nil: all queries run on the CPU
	results    *resultcache.Cache // nil: none
	leafCheck  func(query.Node) error
}

// NewSearcher returns a Searcher that scores with bm25, or with the parameters of the index if bm25
// is nil.
func NewSearcher(snapshot *index.Snapshot, bm25 *score.BM25) *Searcher {
	s := &Searcher{planner: plan.New(snapshot, bm25)}
	if m := snapshot.Options.Mapping; m != nil {
		s.leafCheck = func(leaf query.Node) error { return plan.CheckLeaf(m, leaf) }
	}
	return s
}

// Use lets d, or with nil the CPU, run queries. It must be called before the first Prepare.
func (s *Searcher) Use(d *Dispatcher) {
	s.dispatcher = d
	if d != nil {
		s.planner.Share(d.crew)
	}
}

// UseResults gives queries with Options.Cached the cache c, which belongs to the Searcher's
// index and may be nil. It must be called before the first Prepare.
func (s *Searcher) UseResults(c *resultcache.Cache) { s.results = c }

// Snapshot returns the snapshot that the Searcher answers queries over.
func (s *Searcher) Snapshot() *index.Snapshot { return s.planner.Snapshot() }

// Dispatcher returns the Dispatcher of Use, nil without one.
func (s *Searcher) Dispatcher() *Dispatcher { return s.dispatcher }

// Fields returns the field names that a query may use, the default field ("") first.
func (s *Searcher) Fields() []string { return s.planner.Names() }

// LeafCheck is plan.CheckLeaf for the mapping of the snapshot; nil: there is none.
func (s *Searcher) LeafCheck() func(leaf query.Node) error { return s.leafCheck }

// BM25 returns the scoring parameters.
func (s *Searcher) BM25() score.BM25 { return s.planner.BM25() }

// Query is a plan with the data that executors need. Several goroutines may run it at the same
// time, each with its own Scratch.
type Query struct {
	plan.Plan
	searcher  *Searcher
	policy    policy     // nil: the Dispatcher's
	placement *Placement // replaces the policy, if not nil
	key       []byte     // of the answer in the result cache; empty: it is not cached
	cached    *resultcache.Entry
	gpu       gpuPlan
}

func (q *Query) policyOf(d *Dispatcher) policy {
	if q.policy != nil {
		return q.policy
	}
	return d.policy
}

func (q *Query) splits(stage int) bool {
	st := q.Stage(stage)
	return q.Impacts() == nil && st.IsFlat() && st.Kind() == traverse.And && len(st.Order()) > 1 && !q.gpu.stages[stage].Wide && !st.Excludes()
}

// Scratch is the memory for preparing and running a query. One goroutine at a time may use it,
// with any Searcher whose index has its analyzer.
type Scratch struct {
	plan.Scratch
	run    queryRun
	batch  queryInBatch
	engine engineRun
}

// NewScratch returns a Scratch for indexes with the analyzer of that name.
func NewScratch(analyzer string) (*Scratch, error) {
	sc := new(Scratch)
	if err := sc.Begin(analyzer); err != nil {
		return nil, err
	}
	return sc, nil
}

// Prepare plans a query. Errors wrap base.ErrBadInput, or base.ErrCorrupt if the dictionary or a
// list is damaged.
func (s *Searcher) Prepare(sc *Scratch, node query.Node, opts Options) (*Query, error) {
	q := new(Query)
	if err := s.PrepareInto(q, sc, node, opts); err != nil {
		return nil, err
	}
	return q, nil
}

// PrepareInto is Prepare into the memory of a former query of any Searcher or none. A query that is not in the result cache
// may be refused (Dispatcher.Refuse); without the cache, callers ask before they parse it. For a flat
// query that is not larger than any former one it allocates nothing. After an error q may only
// be prepared again.
func (s *Searcher) PrepareInto(q *Query, sc *Scratch, node query.Node, opts Options) error {
	q.policy = nil
	if opts.Policy != "" {
		p, err := findPolicy(opts.Policy)
		if err != nil {
			return err
		}
		q.policy = p
	}
	if opts.Placement != nil {
		if err := opts.Placement.check(s.dispatcher); err != nil {
			return err
		}
	}
	q.searcher, q.placement = s, opts.Placement
	q.key, q.cached = q.key[:0], nil
	o := opts.plan()
	e := s.dispatcher.Engine()
	if e != nil {
		adapted := o // escapes
		if err := opts.adapt(&adapted, e); err != nil {
			return err
		}
		o = adapted
	}
	if err := s.planner.Compile(&q.Plan, &sc.Scratch, node, o); err != nil {
		return err
	}
	if opts.cacheable() && s.results != nil {
		q.key = q.AppendKey(q.key, &sc.Scratch)
		if q.cached = s.results.Find(q.Snapshot().Serial, q.key); q.cached != nil {
			q.SetDocFreqs(q.cached.DocFreqs(), &sc.Scratch)
			return nil
		}
		if err := s.dispatcher.Refuse(&opts); err != nil {
			return err
		}
	}
	if err := q.Bind(o); err != nil {
		return err
	}
	if e == nil && s.dispatcher.active() {
		q.prepareGPU(&sc.Scratch, &opts)
	}
	return nil
}

var errCached = fmt.Errorf("a query whose answer may be a cached one can only be run by itself: %w", base.ErrBadInput)

// Run answers the query where the Dispatcher chooses, and appends the hits to dst[:0]. It
// allocates nothing under the conditions of plan.Plan.RunCPU, or on a GPU that has all lists.
//
// The error is the context's if it ends, and wraps base.ErrCorrupt if a list is damaged. A
// Dispatcher with limits adds *sched.Overload.
func (q *Query) Run(ctx context.Context, sc *Scratch, dst []base.Hit) (plan.Answer, error) {
	if q.cached != nil {
		return q.cached.Answer(dst), nil
	}
	if len(q.key) > 0 {
		return q.searcher.results.Answer(ctx, q.key, &q.Plan, dst, func() (plan.Answer, error) { return q.run(ctx, sc, dst, nil) })
	}
	if d := q.searcher.dispatcher; d.Engine() == nil && !d.active() { // saves a copy of the answer
		return q.RunCPU(ctx, &sc.Scratch, dst, nil)
	}
	return q.run(ctx, sc, dst, nil)
}

// CacheEntry returns the answer that the result cache had before PrepareInto, or nil.
func CacheEntry(q *Query) *resultcache.Entry { return q.cached }

// RunTraced is Run, and adds the steps to the trace if it is not nil.
func (q *Query) RunTraced(ctx context.Context, sc *Scratch, dst []base.Hit, t *plan.Trace) (plan.Answer, error) {
	if t == nil {
		return q.Run(ctx, sc, dst)
	}
	if len(q.key) > 0 {
		return plan.Answer{}, errCached
	}
	return q.run(ctx, sc, dst, t)
}

func (q *Query) run(ctx context.Context, sc *Scratch, dst []base.Hit, trace *plan.Trace) (plan.Answer, error) {
	trace.Begin()
	switch d := q.searcher.dispatcher; {
	case d.Engine() != nil:
		return d.runEngine(ctx, q, sc, dst, trace)
	case d.active():
		return d.run(ctx, q, sc, dst, trace)
	}
	return q.RunCPU(ctx, &sc.Scratch, dst, trace)
}

// Explain is plan.Plan.Explain.
func (q *Query) Explain(ctx context.Context, sc *Scratch, segment int, doc base.DocID) (plan.Explanation, error) {
	if len(q.key) > 0 {
		return plan.Explanation{}, errCached
	}
	return q.Plan.Explain(ctx, &sc.Scratch, segment, doc)
}

// gpuPlan is the form of a plan that a GPU runs.
type gpuPlan struct {
	refusal string // why the plan cannot run on the Searcher's GPU; "": it can
	stages  [2]pipeline.Query
	legs    [2][]pipeline.Leg
	parts   [2][]pipeline.Part
	small   []int // segments that the CPU answers (gpu_small.go)
	masks   gpuMasks
	common  [2]bool // stages of which the GPU finds candidates (gpu_phrase.go)
}
