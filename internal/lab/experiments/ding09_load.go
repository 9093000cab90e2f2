package experiments

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/engine"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/internal/sched/simulation"
)

// The engine ding09 under rising load, for Fig. 7.

// ding09Load has the queries of Fig. 7 with their times.
type ding09Load struct {
	sample      *ding09Sample
	plans       []*plan.Plan // AND
	log         *fig7Log
	train, test []int // queries
}

func newDing09Load(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, device bool) (*ding09Load, error) {
	l := &ding09Load{sample: &ding09Sample{c: c, queries: queries}}
	if err := l.sample.answer(ctx, env, 1); err != nil {
		return nil, err
	}
	plans, _, err := ding09Plans(c, queries)
	if err != nil {
		return nil, err
	}
	l.plans = plans[0]
	cpu, err := l.times(ctx, env, ding09OnCPU, 1)
	if err != nil {
		return nil, err
	}
	var gpu []time.Duration
	if device {
		if gpu, err = l.times(ctx, env, ding09OnGPU, lab.Pick(env, 9, 1)); err != nil {
			return nil, err
		}
	}
	l.log = &fig7Log{device: device}
	order := make([]int, len(queries))
	for i := range queries {
		order[i] = i
		q := simulation.Query{ID: queries[i].ID, CPU: max(cpu[i], 1), GPU: sched.Never}
		if device {
			q.GPU = max(gpu[i], 1)
		}
		l.log.costs = append(l.log.costs, q)
		l.log.features = append(l.log.features, fig7Features(slices.Sorted(slices.Values(l.plans[i].DocFreqs()))))
	}
	l.test, l.train = every4th(order)
	return l, nil
}

// times returns the median time of each query.
func (l *ding09Load) times(ctx context.Context, env *lab.Env, spec string, rounds int) (times []time.Duration, err error) {
	e, err := openDing09(ctx, env, l.sample.c, l.sample.queries, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	a, err := l.sample.measure(ctx, env, e, spec, 0, rounds)
	if err != nil {
		return nil, err
	}
	return a.times, nil
}

// ding09Lives are the configurations. The first needs no GPU.
var ding09Lives = []struct {
	name, spec string
	workers    int // that take queries from one queue; 0: the engine queues
}{
	{"CPU only", ding09OnCPU, 1},
	{"GPU only", ding09OnGPU, 2},
	{"both in parallel", "ding09:on=both,cache=32768", 0},
}

// ding09Percents of the capacity.
var ding09Percents = []int{25, 50, 75, 90, 125}

// liveAll adds a table and a figure.
func (l *ding09Load) liveAll(ctx context.Context, env *lab.Env, r *lab.Result, noDevice string) error {
	var rows []string
	for _, x := range ding09Lives {
		for _, percent := range ding09Percents {
			rows = append(rows, fmt.Sprintf("%s, %d %%", x.name, percent))
		}
	}
	t := lab.NewTable("The engine ding09 in real time, deadline 500 ms", "percent of the capacity", rows,
		[]string{"arrivals, queries/s", "average delay, ms", "longest delay, ms", "late, %", "answered by the GPU, %", "stolen, %"})
	f := &lab.Figure{Title: "Average delay, engine ding09 in real time", Kind: lab.Lines, LogX: true, LogY: true, X: "arrivals, queries/s", Y: "average delay, ms"}
	for i, x := range ding09Lives {
		if i > 0 && !l.log.device {
			for j := range ding09Percents {
				t.LeaveRow(i*len(ding09Percents)+j, noDevice)
			}
			continue
		}
		runs, err := l.live(ctx, env, x.name, x.spec, x.workers)
		if err != nil {
			return fmt.Errorf("%s: %w", x.name, err)
		}
		s := lab.Series{Name: x.name}
		for j, run := range runs {
			for column, v := range []float64{run.rate, run.mean, run.longest, run.late, run.onGPU, run.stolen} {
				t.Set(i*len(ding09Percents)+j, column, v)
			}
			s.Points = append(s.Points, lab.Point{X: run.rate, Y: max(run.mean, 1e-6)})
		}
		f.Series = append(f.Series, s)
	}
	r.Tables, r.Figures = append(r.Tables, t), append(r.Figures, f)
	return nil
}

// capacity returns the queries per second of the processors of a configuration by their mean times.
func (l *ding09Load) capacity(name string) float64 {
	_, test := l.log.halves()
	var cpu, gpu time.Duration
	for _, q := range test.costs {
		cpu += q.CPU
		if l.log.device {
			gpu += q.GPU
		}
	}
	n := float64(len(test.costs))
	rate := 0.0
	if name != ding09Lives[1].name {
		rate += n / cpu.Seconds()
	}
	if name != ding09Lives[0].name {
		rate += n / gpu.Seconds()
	}
	return rate
}

// ding09Run is a rate in real time. Delays are in milliseconds, shares in percent of the queries.
type ding09Run struct {
	rate, mean, longest, late, onGPU, stolen float64
}

// live measures a configuration at all rates.
func (l *ding09Load) live(ctx context.Context, env *lab.Env, name, spec string, workers int) (runs []ding09Run, err error) {
	e, err := openDing09Spec(env, spec)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ding09Close(e)) }()
	first := l.test // for their lists
	if workers == 0 {
		first = slices.Concat(l.train, l.test) // the engine learns their times
	}
	for i, at := range first {
		if i%64 == 0 {
			env.Progress(name+": warm up", i, len(first))
		}
		if err := l.search(ctx, e, at); err != nil {
			return nil, err
		}
	}
	capacity := l.capacity(name)
	for i, percent := range ding09Percents {
		env.Progress(name+", percent of the capacity", percent, ding09Percents[len(ding09Percents)-1])
		rate := capacity * float64(percent) / 100
		arrivals := simulation.Poisson(rate, max(lab.Pick(env, int(rate*4), 8), 8), len(l.test), env.Seed+uint64(i))
		run, err := l.arrive(ctx, e, workers, arrivals)
		if err != nil {
			return nil, err
		}
		run.rate = rate
		runs = append(runs, run)
	}
	return runs, nil
}

// search answers a query and compares its hits.
func (l *ding09Load) search(ctx context.Context, e engine.Engine, i int) error {
	q := engine.Query{Plan: l.plans[i]}
	if err := e.Search(ctx, []*engine.Query{&q}); err != nil {
		return err
	}
	if q.Err != nil {
		return q.Err
	}
	if !slices.Equal(q.Answer.Hits, l.sample.want[0].found[i]) {
		return fmt.Errorf("query %s has other hits than by Griffin on the CPU", l.sample.queries[i].ID)
	}
	return nil
}

// arrive runs the arrivals in real time.
func (l *ding09Load) arrive(ctx context.Context, e engine.Engine, workers int, arrivals []simulation.Arrival) (ding09Run, error) {
	before := e.Stats()
	delays, failures := make([]time.Duration, len(arrivals)), make([]error, len(arrivals))
	queue := make(chan int, len(arrivals))
	start := time.Now()
	answer := func(i int) {
		failures[i] = l.search(ctx, e, l.test[arrivals[i].Query])
		delays[i] = time.Since(start) - arrivals[i].At
	}
	var running sync.WaitGroup
	for range workers {
		running.Go(func() {
			for i := range queue {
				answer(i)
			}
		})
	}
	for i := range arrivals {
		waitUntil(start.Add(arrivals[i].At))
		if workers > 0 {
			queue <- i
		} else {
			running.Go(func() { answer(i) })
		}
		if ctx.Err() != nil {
			break
		}
	}
	close(queue)
	running.Wait()
	if err := errors.Join(context.Cause(ctx), firstError(failures...)); err != nil {
		return ding09Run{}, err
	}
	after := e.Stats()
	n := float64(len(arrivals))
	r := ding09Run{
		mean: meanMilliseconds(delays), longest: slices.Max(delays).Seconds() * 1000,
		onGPU: 100 * float64(after.OnGPU-before.OnGPU) / n, stolen: 100 * float64(after.Stolen-before.Stolen) / n,
	}
	for _, d := range delays {
		if d > simulation.Ding09Deadline {
			r.late += 100 / n
		}
	}
	return r, nil
}

// waitUntil is more exact than time.Sleep alone.
func waitUntil(at time.Time) {
	const inexact = 200 * time.Microsecond
	for left := time.Until(at); left > 0; left = time.Until(at) {
		if left > inexact {
			time.Sleep(left - inexact/2)
		} else {
			runtime.Gosched()
		}
	}
}
