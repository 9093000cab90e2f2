package experiments

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/lab"
	_ "github.com/griffin-search/griffin/internal/papers/griffin18" // registers the engine
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// The paper's systems, which the engine griffin18 implements, and Griffin's own
// engine beside them.

// griffin18Log returns a collection similar to the paper's part of ClueWeb12,
// about 100 of the 300 GB of 41 million documents, with the paper's number of
// queries.
func griffin18Log(ctx context.Context, env *lab.Env) (*lab.Collection, []lab.Query, error) {
	return env.Generated(ctx, lab.Spec{Like: "clueweb12", Order: collection.Crawl, Log: lab.TB06, Docs: 41_000_000 / 3, Queries: 10_000})
}

// Sentences of several pages.
const (
	griffin18Timed = "Each time is the median of %d rounds after a warm-up. A round answers all queries with one system, then with the next; the order " +
		"rotates. A time includes planning, all copies over the bus, growing of buffers, intersection, scoring, and selection of the best 10. " +
		"Lists are coded, and page-locked buffers reach their size, in the warm-up. All systems must return the hits of Griffin's CPU engine. "
	griffin18Differs = "The collection is generated, and the queries are from TREC 2006 only, with the paper's shares of queries by number of terms. " +
		"The paper allocates device memory for each query; here the buffers of earlier queries are used again, which favours the GPU. " +
		"The engine also copies frequencies to score; the paper does not state their place. "
)

// griffin18Cache has room for the lists of both processors.
const griffin18Cache = 48 << 30

// keepLists gives the collection a cache of derived structures in which all
// lists of the paper's engines fit, so that none is coded again in a timed
// region. It stays until the end of the process, for later experiments.
func keepLists(env *lab.Env, c *lab.Collection) (*derived.Cache, error) {
	return lab.Shared(env, "griffin18 lists of "+c.Name, func() (*derived.Cache, error) {
		cache := derived.NewCache(griffin18Cache)
		c.Snapshot.Segments[0].Derived = cache.NewSegment()
		return cache, nil
	})
}

// system answers queries one at a time.
type system struct {
	name string
	// answer plans and answers. The hits are valid until the next call.
	answer func(ctx context.Context, q *lab.Query) ([]base.Hit, error)
	// paper is the engine; nil for Griffin's own.
	paper *paperEngine
	// elsewhere counts queries with a placement on the GPU that the CPU answered.
	elsewhere int
	close     func() error
}

// paperEngine is an engine of a paper with the memory of one query.
type paperEngine struct {
	engine.Engine
	planner *plan.Planner
	scratch *plan.Scratch
	options plan.Options
	plan    plan.Plan
	query   engine.Query
	batch   [1]*engine.Query
	trace   *plan.Trace // of the next queries; nil: none
}

// openPaper opens griffin18 with options.
func openPaper(env *lab.Env, c *lab.Collection, name, spec string) (*system, error) {
	s, err := engine.Parse(spec)
	if err != nil {
		return nil, err
	}
	p := &paperEngine{planner: plan.New(c.Snapshot, nil), options: plan.Options{Mode: plan.ModeAnd, K: stagedK}}
	if p.scratch, err = plan.NewScratch(c.Snapshot.Options.Analyzer); err != nil {
		return nil, err
	}
	device := env.DeviceName()
	if _, options, _ := strings.Cut(spec, ":"); slices.Contains(strings.Split(options, ","), "on=cpu") {
		device = ""
	}
	if p.Engine, err = s.Open(engine.Resources{Device: device}); err != nil {
		return nil, err
	}
	if err := p.Adapt(&p.options); err != nil {
		return nil, errors.Join(err, p.Close())
	}
	return &system{name: name, answer: p.answer, paper: p, close: p.Close}, nil
}

func (p *paperEngine) answer(ctx context.Context, q *lab.Query) ([]base.Hit, error) {
	if err := p.planner.PrepareInto(&p.plan, p.scratch, &query.Words{Text: q.Text, Boost: 1}, p.options); err != nil {
		return nil, err
	}
	p.query = engine.Query{Plan: &p.plan, Scratch: p.scratch, Trace: p.trace, Answer: plan.Answer{Hits: p.query.Answer.Hits[:0]}}
	p.batch[0] = &p.query
	if err := p.Search(ctx, p.batch[:]); err != nil {
		return nil, err
	}
	return p.query.Answer.Hits, p.query.Err
}

// openOwn opens Griffin's own engine: on the CPU; with its default policy and all
// lists of 1,000 or more postings on the GPU; or with memory there for a part of
// the lists, given in percent, and with a placement or, if nil, the policy.
func openOwn(ctx context.Context, env *lab.Env, c *lab.Collection, of griffin18System) (*system, error) {
	searcher, free := c.Searcher, func() error { return nil }
	if of.gpu {
		// The other systems need memory, too.
		memory := cmp.Or(of.memory, lab.Pick(env, "20GiB", "1GiB"))
		e, err := openEngine(ctx, env, c, engineOptions{memory: memory, warm: of.placement == nil, calibrate: of.placement == nil})
		if err != nil {
			return nil, err
		}
		searcher, free = e.searcher, e.dispatcher.Close
	}
	scratch, err := dispatch.NewScratch(c.Snapshot.Options.Analyzer)
	if err != nil {
		return nil, errors.Join(err, free())
	}
	own := &system{name: of.name, close: free}
	var planned dispatch.Query
	hits := make([]base.Hit, 0, stagedK)
	o := dispatch.Options{Mode: plan.ModeAnd, K: stagedK, CPU: !of.gpu, Placement: of.placement}
	own.answer = func(ctx context.Context, q *lab.Query) ([]base.Hit, error) {
		if err := searcher.PrepareInto(&planned, scratch, &query.Words{Text: q.Text, Boost: 1}, o); err != nil {
			return nil, err
		}
		found, err := planned.Run(ctx, scratch, hits)
		if of.placement != nil && found.By != sched.GPU {
			own.elsewhere++
		}
		return found.Hits, err
	}
	return own, nil
}

// griffin18System is a column of an experiment.
type griffin18System struct {
	name, spec string // spec: of the paper's engine; "": Griffin's own
	gpu        bool
	memory     string              // of Griffin's own engine; "": enough for all lists
	placement  *dispatch.Placement // of Griffin's own engine; nil: by its policy
}

// open opens the systems that the machine has, and returns their indexes.
func (s *systems) open(ctx context.Context, all []griffin18System) (opened []int, err error) {
	d, _, err := s.env.Device()
	if err != nil {
		return nil, err
	}
	for i, of := range all {
		switch {
		case of.gpu && d == nil:
			continue
		case of.spec == "":
			err = s.add(openOwn(ctx, s.env, s.c, of))
		default:
			err = s.add(openPaper(s.env, s.c, of.name, of.spec))
		}
		if err != nil {
			return nil, err
		}
		opened = append(opened, i)
	}
	return opened, nil
}

// systems are opened together. Systems that need a GPU are missing without one.
type systems struct {
	env  *lab.Env
	c    *lab.Collection
	all  []*system
	keep *derived.Cache
}

func newSystems(env *lab.Env, c *lab.Collection) (*systems, error) {
	cache, err := keepLists(env, c)
	return &systems{env: env, c: c, keep: cache}, err
}

func (s *systems) add(of *system, err error) error {
	if err == nil {
		s.all = append(s.all, of)
	}
	return err
}

func (s *systems) close() error {
	var errs []error
	for _, of := range s.all {
		errs = append(errs, of.close())
	}
	s.all = nil
	return errors.Join(errs...)
}

// measure returns the medians of rounds in microseconds, by system, then query,
// and the kilobytes that each copied to the GPU per query. It checks all
// answers.
func (s *systems) measure(ctx context.Context, phase string, queries []lab.Query, rounds int) (us [][]float64, bus []float64, err error) {
	want, err := answer(ctx, s.env, s.c, queries, 0, dispatch.Options{Mode: plan.ModeAnd, K: stagedK, CPU: true})
	if err != nil {
		return nil, nil, err
	}
	bus = make([]float64, len(s.all))
	times := make([][][]float64, len(s.all)) // by system, query, round
	for i := range times {
		times[i] = make([][]float64, len(queries))
	}
	for round := range rounds + 1 {
		for k := range s.all {
			i := (k + round) % len(s.all)
			s.env.Progress(phase+": "+s.all[i].name, round, rounds+1)
			before := s.all[i].busBytes()
			if err := s.pass(ctx, s.all[i], queries, want, func(q int, took float64) {
				if round > 0 {
					times[i][q] = append(times[i][q], took)
				}
			}); err != nil {
				return nil, nil, fmt.Errorf("%s: %w", s.all[i].name, err)
			}
			bus[i] = float64(s.all[i].busBytes()-before) / 1000 / float64(max(len(queries), 1))
		}
		if size := s.keep.Stats().SizeBytes; size > griffin18Cache/10*9 {
			return nil, nil, fmt.Errorf("%d bytes of coded lists do not fit", size)
		}
	}
	us = make([][]float64, len(s.all))
	for i := range us {
		for _, t := range times[i] {
			us[i] = append(us[i], medianOf(t))
		}
	}
	return us, bus, nil
}

// pass answers all queries with one system.
func (s *systems) pass(ctx context.Context, of *system, queries []lab.Query, want *answers, took func(q int, us float64)) error {
	runtime.GC()
	for q := range queries {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		start := time.Now()
		hits, err := of.answer(ctx, &queries[q])
		us := float64(time.Since(start)) / float64(time.Microsecond)
		if err != nil {
			return fmt.Errorf("query %s: %w", queries[q].ID, err)
		}
		if !slices.Equal(hits, want.found[q]) {
			return fmt.Errorf("query %s has other hits than Griffin's CPU engine", queries[q].ID)
		}
		took(q, us)
	}
	if of.paper != nil {
		if faults := of.paper.Stats().Faults; faults > 0 {
			return fmt.Errorf("the CPU answered %d queries because the GPU failed", faults)
		}
	}
	return nil
}

func (of *system) busBytes() int64 {
	if of.paper == nil {
		return 0
	}
	return of.paper.Stats().BusBytes
}

// pairwise is an intersection of a query's candidates with its next list.
type pairwise struct {
	candidates, next int
	shortest         int // length of the query's shortest list
}

func (p pairwise) ratio() float64 { return float64(p.next) / float64(max(p.candidates, 1)) }

// spent is the time of a query's steps, without planning.
type spent struct {
	cpu, gpu      float64 // µs; gpu includes copies
	intersect     float64 // µs of the steps up to the last intersection
	bytes         int64   // copied over the bus in both directions
	migrated      bool
	intersections []pairwise
}

// trace answers queries with a trace, rounds times, and returns the steps of
// the round with the median time. The GPU is waited for after each step.
func (s *systems) trace(ctx context.Context, of *system, queries []lab.Query, rounds int) ([]spent, error) {
	all := make([]spent, len(queries))
	for q := range queries {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		var rows []spent
		for range rounds {
			of.paper.trace = &plan.Trace{}
			_, err := of.answer(ctx, &queries[q])
			t := of.paper.trace
			of.paper.trace = nil
			if err != nil {
				return nil, fmt.Errorf("query %s: %w", queries[q].ID, err)
			}
			row, err := s.spent(t, queries[q].Terms)
			if err != nil {
				return nil, err
			}
			rows = append(rows, row)
		}
		slices.SortFunc(rows, func(a, b spent) int { return cmp.Compare(a.cpu+a.gpu, b.cpu+b.gpu) })
		all[q] = rows[len(rows)/2]
	}
	return all, nil
}

func (s *systems) spent(t *plan.Trace, terms []string) (spent, error) {
	lengths, err := lengthsOf(s.c, terms)
	if err != nil {
		return spent{}, err
	}
	return sumSteps(t, lengths), nil
}

// lengthsOf returns the lengths of the lists of terms, ascending.
func lengthsOf(c *lab.Collection, terms []string) ([]int, error) {
	lengths := make([]int, len(terms))
	for i, term := range terms {
		var err error
		if lengths[i], err = c.DocFreq(term); err != nil {
			return nil, err
		}
	}
	slices.Sort(lengths)
	return lengths, nil
}

// sumSteps sums up the steps of a query over lists of the given lengths.
func sumSteps(t *plan.Trace, lengths []int) spent {
	s := spent{migrated: t.Migrations > 0}
	for i := range t.Steps {
		step := &t.Steps[i]
		us := float64(step.Took) / float64(time.Microsecond)
		if step.Processor == plan.CPUName {
			s.cpu += us
		} else {
			s.gpu += us
			s.bytes += step.BusBytes
		}
		if step.Name == plan.StepIntersect {
			s.intersect = s.cpu + s.gpu
			if next := len(s.intersections) + 1; next < len(lengths) {
				s.intersections = append(s.intersections, pairwise{int(step.Candidates), lengths[next], lengths[0]})
			}
		}
	}
	return s
}

func medianOf(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[len(sorted)/2]
}

// percentileOf is nearestRank of unsorted values.
func percentileOf(values []float64, num int) float64 {
	return nearestRank(slices.Sorted(slices.Values(values)), num)
}
