package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/lab"
	_ "github.com/griffin-search/griffin/internal/papers/ao11" // registers the engine
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/query"
)

func ao11Engine() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-engine", Paper: "ao11", Shows: "§4.1, whole queries", Title: "Queries with scores by the engine ao11",
		Did: "The paper stops at the DocIDs of the intersections; it has no scores and no ranking.",
		Ours: ao11Ours + " The engine ao11 (`griffin engines`) answers 32 queries with 2 or more terms in one call and one batch, with scores and the best 10. " +
			"Lists are in device memory after a warm-up, in which all hits are compared with the default engine's on the CPU. " +
			"The throughput is of the median of 5 rounds by the host's clock, from planned queries to hits; each step is the median of 5 more rounds: means per query, " +
			"the score step being the time of one thread, of which several run; lists of d-gaps are decoded in the step intersect. On the CPU: one query after the other, on one thread.",
		Differs: "32 queries, because the lists of more do not fit into the cache of 512 MiB in host memory in all codes together, and would be coded again for each batch. So the batch is a quarter of the paper's. " +
			"ao11-table3 and ao11-table7 have the intersections alone, as in the paper, of 6,000 queries.",
		Verdicts: ao11EngineVerdicts,
		Budget:   10 * time.Minute,
		Run:      runAo11Engine,
	}
}

// The engine's options by the paper's names. Without on=cpu they are for a GPU.
var ao11Forms = []struct{ name, spec string }{
	{"skip list, CPU", "on=cpu,search=skip"},
	{"HS16, CPU", "on=cpu,search=hs16"},
	{"HS128_LRC, CPU", "on=cpu,codec=hs-lrc"},
	{"IS", "search=interpolation"},
	{"BS", "search=binary"},
	{"LR", "search=lr"},
	{"HS32", "search=hs32"},
	{"HS16", "search=hs16"},
	{"ParaPFD (0.2)", "codec=parapfd,exceptions=0.2"},
	{"ParaPFD (0.0)", "codec=parapfd"},
	{"NewPFD (0.0)", "codec=newpfd"},
	{"LRC", "codec=lrc"},
	{"LRCSeg", "codec=lrcseg"},
	{"SegLRC", "codec=seglrc"},
	{"HS256_LRC", "codec=hs-lrc,search=hs256"},
	{"HS128_LRC", "codec=hs-lrc"},
}

// The first ao11OnCPU of ao11Forms need no GPU.
const ao11OnCPU = 3

// The engine's steps in the table; the CPU has intersect only, with scores.
var ao11EngineSteps = []string{"gather", "copy", plan.StepIntersect, "score"}

func runAo11Engine(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	q, err := newEngineQueries(ctx, c, queries, lab.Pick(env, 32, 10))
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, f := range ao11Forms {
		rows = append(rows, f.name)
	}
	columns := []string{"queries a second"}
	for _, step := range ao11EngineSteps {
		columns = append(columns, step+", µs a query")
	}
	t := lab.NewTable("Whole queries on the collection like GOV", "lists and search", rows, columns)
	for row, f := range ao11Forms {
		env.Progress(f.name, row, len(rows))
		if row >= ao11OnCPU && d == nil {
			t.LeaveRow(row, noDevice)
			continue
		}
		device := env.DeviceName()
		if row < ao11OnCPU {
			device = "cpu"
		}
		m, err := q.measure(ctx, env, "ao11:"+f.spec, device)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", f.name, err)
		}
		t.Set(row, 0, m.throughput)
		for i, step := range ao11EngineSteps {
			if row < ao11OnCPU && step != plan.StepIntersect {
				t.Leave(row, i+1, "On the CPU, one step intersects and scores.")
				continue
			}
			t.Set(row, i+1, m.steps[step].Seconds()*1e6/float64(len(q.plans)))
		}
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}

// engineQueries are conjunctions with their best 10 hits.
type engineQueries struct {
	scratch *plan.Scratch
	plans   []*plan.Plan
	want    []plan.Answer
}

func newEngineQueries(ctx context.Context, c *lab.Collection, queries []lab.Query, n int) (*engineQueries, error) {
	q := new(engineQueries)
	var err error
	if q.scratch, err = plan.NewScratch(c.Snapshot.Options.Analyzer); err != nil {
		return nil, err
	}
	planner := plan.New(c.Snapshot, nil)
	queries = slices.DeleteFunc(slices.Clone(queries), func(q lab.Query) bool { return len(q.Terms) < 2 })
	for _, text := range spread(queries, n) {
		p, err := planner.Prepare(q.scratch, &query.Words{Text: text.Text, Boost: 1}, plan.Options{Mode: plan.ModeAnd, K: 10, Count: true})
		if err != nil {
			return nil, fmt.Errorf("query %q: %w", text.Text, err)
		}
		a, err := p.RunCPU(ctx, q.scratch, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("query %q: %w", text.Text, err)
		}
		q.plans, q.want = append(q.plans, p), append(q.want, a)
	}
	return q, nil
}

// engineMeasure is the throughput of an engine, and the times of its steps, added up over queries.
type engineMeasure struct {
	throughput float64
	steps      map[string]time.Duration
}

func (q *engineQueries) measure(ctx context.Context, env *lab.Env, spec, device string) (m engineMeasure, err error) {
	s, err := engine.Parse(spec)
	if err != nil {
		return m, err
	}
	e, err := s.Open(engine.Resources{Device: device})
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	queries := make([]*engine.Query, len(q.plans))
	for i, p := range q.plans {
		queries[i] = &engine.Query{Plan: p, Scratch: q.scratch}
	}
	search := func() error {
		for i := range queries {
			queries[i].Answer.Hits = queries[i].Answer.Hits[:0]
		}
		return e.Search(ctx, queries)
	}
	if err := errors.Join(search(), q.check(queries)); err != nil {
		return m, err
	}
	t, err := lab.Compare(ctx, lab.Pick(env, 5, 1), lab.Variant{Name: spec, Do: search})
	if err != nil {
		return m, err
	}
	m.throughput = float64(len(queries)) / max(t[0].Median.Seconds(), 1e-9)
	if m.steps, err = q.traced(env, queries, search); err != nil {
		return m, err
	}
	if faults := e.Stats().Faults; faults > 0 {
		return m, fmt.Errorf("the CPU answered %d queries because the GPU failed", faults)
	}
	return m, nil
}

// traced returns the time of each step, added up over queries: the median of some rounds.
func (q *engineQueries) traced(env *lab.Env, queries []*engine.Query, search func() error) (map[string]time.Duration, error) {
	rounds := map[string][]time.Duration{}
	for range lab.Pick(env, 5, 1) {
		for i := range queries {
			queries[i].Trace = new(plan.Trace)
		}
		if err := errors.Join(search(), q.check(queries)); err != nil {
			return nil, err
		}
		sums := map[string]time.Duration{}
		for i := range queries {
			for _, step := range queries[i].Trace.Steps {
				sums[step.Name] += step.Took / time.Duration(stepShares(step))
			}
		}
		for name, sum := range sums {
			rounds[name] = append(rounds[name], sum)
		}
	}
	steps := map[string]time.Duration{}
	for name, sums := range rounds {
		slices.Sort(sums)
		steps[name] = sums[len(sums)/2]
	}
	return steps, nil
}

// stepShares returns the number of queries in whose traces the same step is: a batch's, except scores.
func stepShares(s plan.Step) int {
	if s.Batch == 0 || s.Name == "score" {
		return 1
	}
	return s.Batch
}

// check compares the hits with the default engine's.
func (q *engineQueries) check(queries []*engine.Query) error {
	for i, got := range queries {
		if got.Err != nil {
			return got.Err
		}
		if want := &q.want[i]; got.Answer.Matches != want.Matches || !slices.Equal(got.Answer.Hits, want.Hits) {
			return fmt.Errorf("query %d: %d matches, hits %v, want %d, %v", i, got.Answer.Matches, got.Answer.Hits, want.Matches, want.Hits)
		}
	}
	return nil
}
