package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/sched"
)

// Options say what is simulated.
type Options struct {
	// Sched is the scheduler: policy, servers, deadline and the rest.
	Sched sched.Options
	// Queries are the log, with measured times.
	Queries []Query
	// Predicted are the same queries with the times that the scheduler sees; nil:
	// those of Queries, with an Error.
	Predicted []Query
	// Error is the mean relative error of the predictions that the scheduler sees:
	// from 0, exact, to less than 2.
	Error float64
	// Seed is that of the predictions' errors.
	Seed uint64
	// OneAtATime runs one query at a time, on the processor that is predicted to
	// be faster, first come, first served: ding09's "better of both". Policy, CPUs
	// and Lanes do not matter then.
	OneAtATime bool
	// Warmup is how many arrivals at the start do not count in the result.
	Warmup int
	// UntilFailed ends the run with the first query that counts and misses its deadline or is not
	// run, where only Failed matters.
	UntilFailed bool
	// Each, if it is not nil, is told how each arrival ended, in the order of
	// ends. The outcome is reused.
	Each func(*Outcome)
}

// Outcome is how one arrival ended.
type Outcome struct {
	Arrival int // index
	Query   int
	// Shed is nil if the query was run; the times are then those of its last run.
	Shed           error
	Place          sched.Place
	Arrived, Began time.Duration
	Ended          time.Duration
	Batch          int
	Stolen         bool
	Missed         bool // ended after its deadline
}

// Result is what came out, without the warm-up.
type Result struct {
	// Rate is that of the arrivals, in queries a second, as Rate tells it.
	Rate     float64 `json:"rate"`
	Arrivals int     `json:"arrivals"`
	// Latency is from the arrival to the end, of queries that were run.
	Latency latency.Summary `json:"latency_us"`
	// MeanWait is from the arrival to the beginning.
	MeanWait time.Duration `json:"mean_wait_ns"`
	// Missed ended after their deadline; Shed were not run. Goodput is the others,
	// a second.
	Missed  int     `json:"missed"`
	Shed    int     `json:"shed"`
	Goodput float64 `json:"goodput"`
	// Share is of the queries that were run, Busy of the servers' time, both by
	// place, CPU first; Batch is the mean number of queries in a run on the GPU.
	Share  [sched.NumPlaces]float64 `json:"share"`
	Busy   [sched.NumPlaces]float64 `json:"busy"`
	Batch  float64                  `json:"batch"`
	Stolen int                      `json:"stolen"`
	// Last is when the last query ended.
	Last time.Duration `json:"last_ns"`
}

// Failed says whether a query missed its deadline or was not run.
func (r *Result) Failed() bool { return r.Missed+r.Shed > 0 }

// check returns an error that wraps base.ErrBadInput.
func (o *Options) check(arrivals []Arrival) error {
	switch {
	case len(o.Queries) == 0 || len(arrivals) == 0:
		return fmt.Errorf("%w: simulation of %d arrivals of %d queries", base.ErrBadInput, len(arrivals), len(o.Queries))
	case o.Predicted != nil && len(o.Predicted) != len(o.Queries):
		return fmt.Errorf("%w: predictions of %d of %d queries", base.ErrBadInput, len(o.Predicted), len(o.Queries))
	case !(o.Error >= 0 && o.Error < 2):
		return fmt.Errorf("%w: mean relative error %v: from 0 to less than 2", base.ErrBadInput, o.Error)
	case o.Warmup < 0 || o.Warmup >= len(arrivals):
		return fmt.Errorf("%w: a warm-up of %d of %d arrivals", base.ErrBadInput, o.Warmup, len(arrivals))
	}
	for i := range o.Predicted {
		q, guess := &o.Queries[i], &o.Predicted[i]
		if q.ID != guess.ID {
			return fmt.Errorf("%w: prediction %d is of query %q, not %q: they must be in the same order", base.ErrBadInput, i+1, guess.ID, q.ID)
		}
		if q.CPU == sched.Never && guess.CPU != sched.Never || q.GPU == sched.Never && guess.GPU != sched.Never {
			return fmt.Errorf("%w: query %q is predicted for a processor on which it was not measured", base.ErrBadInput, q.ID)
		}
	}
	return nil
}

// Run simulates the arrivals, whose times rise. The error is that of ctx, or
// wraps base.ErrBadInput.
func Run(ctx context.Context, o Options, arrivals []Arrival) (*Result, error) {
	if err := o.check(arrivals); err != nil {
		return nil, err
	}
	m, err := newMachine(&o, arrivals)
	if err != nil {
		return nil, err
	}
	if err := m.run(ctx); err != nil {
		return nil, err
	}
	return m.result(), nil
}

// machine is a simulation that runs.
type machine struct {
	o                  *Options
	arrivals           []Arrival
	measured           []Query
	predicted          []Query
	s                  *sched.Scheduler
	now                time.Duration
	next               int // arrival
	ends               ends
	wake               [sched.NumPlaces]time.Duration
	free               []*sched.Job
	picked             []*sched.Job
	outcome            Outcome
	latencies          []time.Duration
	waited, last       time.Duration
	missed, shed       int
	stolen             int
	ran                [sched.NumPlaces]int
	runs, together     [sched.NumPlaces]int // runs, and the queries in them
	busy               [sched.NumPlaces]time.Duration
	servers            [sched.NumPlaces]int
	started            time.Duration // when the warm-up ended
	inTime, numCounted int
}

func newMachine(o *Options, arrivals []Arrival) (*machine, error) {
	m := &machine{o: o, arrivals: arrivals, measured: o.Queries, predicted: o.Predicted}
	if m.predicted == nil {
		m.predicted = predict(o.Queries, o.Error, o.Seed)
	}
	options := o.Sched
	if o.OneAtATime {
		m.mergePlaces()
		options.Policy, options.CPUs, options.Lanes, options.Stretch = sched.PolicyCPU, 1, 0, -1
	}
	s, err := sched.New(options)
	if err != nil {
		return nil, err
	}
	m.s = s
	for p := range m.servers {
		m.servers[p] = s.Stats(0).Places[p].Servers
		m.wake[p] = sched.Never
	}
	m.latencies = make([]time.Duration, 0, len(arrivals)-o.Warmup)
	m.started = arrivals[o.Warmup].At
	return m, nil
}

// mergePlaces makes one processor of two: each query has the times of the one
// where it is predicted to be faster.
func (m *machine) mergePlaces() {
	measured, predicted := make([]Query, len(m.measured)), make([]Query, len(m.measured))
	for i := range measured {
		q, guess := m.measured[i], m.predicted[i]
		if guess.GPU < guess.CPU {
			q.CPU, guess.CPU = q.GPU, guess.GPU
		}
		q.GPU, guess.GPU = sched.Never, sched.Never
		measured[i], predicted[i] = q, guess
	}
	m.measured, m.predicted = measured, predicted
}

// run handles event after event: ends before arrivals at the same time.
func (m *machine) run(ctx context.Context) error {
	for events := 0; ; events++ {
		if events%(1<<14) == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		arrives := sched.Never
		if m.next < len(m.arrivals) {
			arrives = m.arrivals[m.next].At
		}
		ending := m.ends.first()
		at := min(arrives, ending, m.wake[sched.CPU], m.wake[sched.GPU])
		if at == sched.Never || m.o.UntilFailed && m.missed+m.shed > 0 {
			return nil
		}
		m.now = max(m.now, at)
		switch at {
		case ending:
			m.end()
		case arrives:
			m.arrive()
		}
		m.dispatch()
	}
}

func (m *machine) arrive() {
	a := m.arrivals[m.next]
	guess := &m.predicted[a.Query]
	j := m.job()
	*j = sched.Job{
		Cost:    [sched.NumPlaces]time.Duration{guess.CPU, guess.GPU},
		Batched: guess.Batched, Work: guess.Work, ID: m.next,
	}
	m.next++
	if err := m.s.Arrive(m.now, j); err != nil {
		j.Arrived = m.now
		m.ended(j, err)
	}
}

// job returns a job that has ended, or a new one.
func (m *machine) job() *sched.Job {
	if last := len(m.free) - 1; last >= 0 {
		j := m.free[last]
		m.free = m.free[:last]
		return j
	}
	return new(sched.Job)
}

// dispatch starts what can start.
func (m *machine) dispatch() {
	for p := range sched.Place(sched.NumPlaces) {
		for {
			jobs, wake := m.s.Next(m.now, p, m.picked[:0])
			m.picked, m.wake[p] = jobs, wake
			if len(jobs) == 0 {
				break
			}
			took := m.takes(p, jobs)
			if m.counts(jobs[0]) {
				m.runs[p]++
				m.together[p] += len(jobs)
				m.busy[p] += took
			}
			m.ends.push(m.now+took, p, jobs)
		}
		if m.wake[p] <= m.now { // time goes on, whatever
			m.wake[p] = m.now + 1
		}
	}
	m.picked = m.s.Expired(m.picked[:0])
	for _, j := range m.picked {
		m.ended(j, errExpired)
	}
}

var errExpired = &sched.Overload{Reason: sched.Expired, RetryAfter: time.Millisecond}

// takes is the measured time of a run.
func (m *machine) takes(p sched.Place, jobs []*sched.Job) time.Duration {
	if p == sched.CPU {
		return m.query(jobs[0]).CPU
	}
	var adds, beside time.Duration
	for _, j := range jobs {
		q := m.query(j)
		part := q.Batched
		if part == 0 || j.Alone {
			part = q.GPU
		}
		adds += part
		beside = max(beside, q.GPU-part)
	}
	return adds + beside
}

func (m *machine) query(j *sched.Job) *Query { return &m.measured[m.arrivals[j.ID].Query] }

func (m *machine) counts(j *sched.Job) bool { return j.ID >= m.o.Warmup }

// end ends the run that ends first.
func (m *machine) end() {
	place, jobs := m.ends.pop()
	m.s.Done(m.now, place, jobs, m.now-jobs[0].Began)
	for _, j := range jobs {
		m.ended(j, nil)
	}
	m.ends.giveBack(jobs)
}

// ended counts an arrival that has ended and frees its job.
func (m *machine) ended(j *sched.Job, shed error) {
	out := &m.outcome
	*out = Outcome{
		Arrival: j.ID, Query: m.arrivals[j.ID].Query, Shed: shed,
		Arrived: j.Arrived, Ended: m.now,
	}
	if shed == nil {
		out.Place, out.Began, out.Batch, out.Stolen = j.Place, j.Began, j.Batch, j.Stolen
		out.Missed = m.now > j.Deadline
	}
	if m.counts(j) {
		m.tally(out)
	}
	if m.o.Each != nil {
		m.o.Each(out)
	}
	m.free = append(m.free, j)
}

func (m *machine) tally(out *Outcome) {
	m.numCounted++
	m.last = m.now
	if out.Shed != nil {
		m.shed++
		return
	}
	m.latencies = append(m.latencies, out.Ended-out.Arrived)
	m.waited += out.Began - out.Arrived
	m.ran[out.Place]++
	if out.Stolen {
		m.stolen++
	}
	if out.Missed {
		m.missed++
	} else {
		m.inTime++
	}
}

func (m *machine) result() *Result {
	r := &Result{
		Rate: Rate(m.arrivals[m.o.Warmup:]), Arrivals: m.numCounted, Latency: latency.Summarize(m.latencies),
		Missed: m.missed, Shed: m.shed, Stolen: m.stolen, Last: m.last,
	}
	if n := len(m.latencies); n > 0 {
		r.MeanWait = m.waited / time.Duration(n)
		for p := range r.Share {
			r.Share[p] = float64(m.ran[p]) / float64(n)
		}
	}
	if span := m.last - m.started; span > 0 {
		r.Goodput = float64(m.inTime) / span.Seconds()
		for p := range r.Busy {
			if m.servers[p] > 0 {
				r.Busy[p] = float64(m.busy[p]) / float64(span) / float64(m.servers[p])
			}
		}
	}
	if runs := m.runs[sched.GPU]; runs > 0 {
		r.Batch = float64(m.together[sched.GPU]) / float64(runs)
	}
	return r
}
