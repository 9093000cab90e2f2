package dispatch

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
)

// Engine returns the engine of Config.Engine; nil if the Dispatcher itself answers.
func (d *Dispatcher) Engine() engine.Engine {
	if d == nil {
		return nil
	}
	return d.engine
}

// adapt lets an engine decide how a query is planned. An engine chooses processors by itself.
func (o *Options) adapt(p *plan.Options, e engine.Engine) error {
	switch {
	case o.Policy != "":
		return fmt.Errorf("policy %s: policies are of the default engine: %w", o.Policy, base.ErrBadInput)
	case o.Placement != nil:
		return fmt.Errorf("a placement of steps is for the default engine: %w", base.ErrBadInput)
	case o.Traversal != "":
		return fmt.Errorf("traversal %s: traversals are of the default engine: %w", o.Traversal, base.ErrBadInput)
	}
	return e.Adapt(p)
}

// engineRun is a query that an engine answers by itself.
type engineRun struct {
	engine engine.Engine
	query  engine.Query
	list   [1]*engine.Query
	job    sched.Job
}

// runEngine waits for a CPU of the pool, if there is one, also if the engine uses a GPU.
func (d *Dispatcher) runEngine(ctx context.Context, q *Query, sc *Scratch, dst []base.Hit, trace *plan.Trace) (plan.Answer, error) {
	r := &sc.engine
	r.begin(d.engine, q, &sc.Scratch, dst, trace)
	defer r.end()
	var err error
	if d.pool == nil {
		err = r.Run(ctx, sched.CPU)
	} else {
		r.job = sched.Job{Alone: true}
		r.job.Cost = [sched.NumPlaces]time.Duration{sched.CPU: 1, sched.GPU: sched.Never}
		err = d.pool.Do(ctx, &r.job, r)
	}
	if err != nil {
		return plan.Answer{}, err
	}
	d.countEngine(&r.query)
	return r.query.Answer, nil
}

func (r *engineRun) begin(e engine.Engine, q *Query, sc *plan.Scratch, dst []base.Hit, trace *plan.Trace) {
	r.engine = e
	r.query = engine.Query{Plan: &q.Plan, Scratch: sc, Trace: trace, Answer: plan.Answer{Hits: dst[:0]}}
	r.list[0] = &r.query
}

func (r *engineRun) end() {
	r.engine, r.query = nil, engine.Query{}
}

// Run implements sched.Work.
func (r *engineRun) Run(ctx context.Context, _ sched.Place) error {
	if err := r.engine.Search(ctx, r.list[:]); err != nil {
		return err
	}
	if r.query.Err == nil {
		r.query.Err = settle(ctx, &r.query)
	}
	return r.query.Err
}

// RunBatch implements sched.Work; the queries are alone.
func (r *engineRun) RunBatch(ctx context.Context, all []sched.Work, outcomes []error) {
	for i := range all {
		outcomes[i] = all[i].Run(ctx, sched.CPU)
	}
}

// settle breaks the ties of an engine's answer. If hits of equal score are missing, the CPU
// answers the query as in the default engine.
func settle(ctx context.Context, q *engine.Query) (err error) {
	a := &q.Answer
	ok := q.Settled
	if ok {
		return nil
	}
	if a.Hits, ok = plan.Settle(q.Plan, a.Hits); !ok {
		*a, err = q.Plan.RunCPU(ctx, q.Scratch, a.Hits[:0], q.Trace)
	}
	return err
}

func (d *Dispatcher) countEngine(q *engine.Query) {
	a := &q.Answer
	a.StepsAt[a.By]++
	d.steps[a.By].Add(1)
	d.migrations.Add(int64(a.Migrations))
}

// answerAlone answers a query of a batch on this goroutine.
func (q *Query) answerAlone(ctx context.Context, sc *plan.Scratch, dst []base.Hit) (plan.Answer, error) {
	d := q.searcher.dispatcher
	if d.Engine() == nil {
		return q.RunCPU(ctx, sc, dst, nil)
	}
	var r engineRun
	r.begin(d.engine, q, sc, dst, nil)
	if err := r.Run(ctx, sched.CPU); err != nil {
		return plan.Answer{}, err
	}
	d.countEngine(&r.query)
	return r.query.Answer, nil
}

// searchByEngine answers a batch part by part, the queries of a part together.
func (d *Dispatcher) searchByEngine(ctx context.Context, queries BatchQueries, sc *BatchScratch, size int) error {
	p := sc.take(1)[0]
	for from, n := 0, queries.Len(); from < n; from += size {
		if err := d.searchPart(ctx, queries, from, min(from+size, n), p); err != nil {
			return err
		}
	}
	return nil
}

// answerByEngine answers the planned queries of a part.
func (p *batchPart) answerByEngine() error {
	var sc plan.Scratch // the engine's queries run on one goroutine
	all := make([]engine.Query, 0, len(p.items))
	list := make([]*engine.Query, 0, len(p.items))
	for i := range p.items {
		if it := &p.items[i]; it.unanswered() {
			all = append(all, engine.Query{Plan: &it.query.Plan, Scratch: &sc, Answer: plan.Answer{Hits: it.answer.Hits[:0]}})
			list = append(list, &all[len(all)-1])
		}
	}
	if err := p.d.engine.Search(p.ctx, list); err != nil {
		return err
	}
	for i, next := 0, 0; i < len(p.items); i++ {
		it := &p.items[i]
		if !it.unanswered() {
			continue
		}
		q := list[next]
		next++
		if q.Err == nil {
			if q.Err = settle(p.ctx, q); p.ctx.Err() != nil {
				return p.ctx.Err()
			}
		}
		if q.Err == nil {
			p.d.countEngine(q)
		}
		*it.answer, it.err = q.Answer, q.Err
	}
	return nil
}
