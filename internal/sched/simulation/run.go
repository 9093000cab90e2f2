package simulation

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/sched"
)

// Options are the parameters of a simulation.
type Options struct {
	Sched sched.Options
	// The log, with measured times.
	Queries []Query
	// The same queries with the times that the scheduler sees; nil: Queries with
	// an Error.
	Predicted []Query
	// Mean relative error of the predictions that the scheduler sees: from 0 to
	// less than 2.
	Error float64
	Seed  uint64
	// Shared: all lanes share one GPU, which does the additions of their queries to batches one launch after another. Otherwise
	// each has a GPU of its own.
	Shared bool
	// OneAtATime runs one query at a time, on the processor that is predicted
	// to be faster, first come, first served: ding09's "better of both".
	// Policy, CPUs and Lanes are then ignored.
	OneAtATime bool
	// Number of arrivals at the start that do not count.
	Warmup int
	// UntilFailed ends the run with the first counted query that is late or shed.
	UntilFailed bool
	// Each, if not nil, is called with the outcome of each arrival, in the order
	// of their ends. The outcome is reused.
	Each func(*Outcome)
}

// Outcome is the outcome of one arrival.
type Outcome struct {
	Arrival int // index
	Query   int
	// Shed is nil if the query was run; the times are of its last run.
	Shed           error
	Place          sched.Place
	Arrived, Began time.Duration
	Ended          time.Duration
	Batch          int
	Stolen         bool
	Missed         bool // ended after its deadline
}

// Result summarises a simulation, without the warm-up.
type Result struct {
	// Of the arrivals, in queries per second.
	Rate     float64 `json:"rate"`
	Arrivals int     `json:"arrivals"`
	// Time from arrival to end, for queries that were run.
	Latency latency.Summary `json:"latency_us"`
	// Mean time from arrival to start.
	MeanWait time.Duration `json:"mean_wait_ns"`
	// Missed is the number of late queries, Shed of queries that were not run.
	// Goodput counts the others per second.
	Missed  int     `json:"missed"`
	Shed    int     `json:"shed"`
	Goodput float64 `json:"goodput"`
	// Share is the share of the executed queries, Busy of the servers' time, by
	// place. Batch is the mean number of queries per run on the GPU.
	Share  [sched.NumPlaces]float64 `json:"share"`
	Busy   [sched.NumPlaces]float64 `json:"busy"`
	Batch  float64                  `json:"batch"`
	Stolen int                      `json:"stolen"`
	// End of the last query.
	Last time.Duration `json:"last_ns"`
}

// Failed reports whether a query was late or shed.
func (r *Result) Failed() bool { return r.Missed+r.Shed > 0 }

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

// Run simulates the arrivals, whose times do not decrease. The error is the
// error of ctx, or wraps base.ErrBadInput.
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

type machine struct {
	o         *Options
	arrivals  []Arrival
	measured  []Query
	predicted []Query
	s         *sched.Scheduler
	now       time.Duration
	next      int // arrival
	ends      ends
	wake      [sched.NumPlaces]time.Duration
	free      []*sched.Job
	picked    []*sched.Job
	outcome   Outcome
	gpuFree   time.Duration // when a shared GPU has done the additions of all launches
	servers   [sched.NumPlaces]int
	totals    totals
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
	m.totals.latencies = make([]time.Duration, 0, len(arrivals)-o.Warmup)
	m.totals.started = arrivals[o.Warmup].At
	return m, nil
}

// mergePlaces makes one processor of two: each query has the times of the one that is
// predicted to be faster.
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

// run processes all events; at the same time, ends precede arrivals.
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
		if at == sched.Never || m.o.UntilFailed && m.totals.missed+m.totals.shed > 0 {
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

func (m *machine) job() *sched.Job {
	if last := len(m.free) - 1; last >= 0 {
		j := m.free[last]
		m.free = m.free[:last]
		return j
	}
	return new(sched.Job)
}

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
				m.totals.runs[p]++
				m.totals.together[p] += len(jobs)
				m.totals.busy[p] += took
			}
			m.ends.push(m.now+took, p, jobs)
		}
		if m.wake[p] <= m.now { // time must advance
			m.wake[p] = m.now + 1
		}
	}
	m.picked = m.s.Expired(m.picked[:0])
	for _, j := range m.picked {
		m.ended(j, errExpired)
	}
}

var errExpired = &sched.Overload{Reason: sched.Expired, RetryAfter: time.Millisecond}

// takes returns the measured time of a run.
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
	if !m.o.Shared {
		return adds + beside
	}
	m.gpuFree = max(m.gpuFree, m.now) + adds
	return m.gpuFree - m.now + beside
}

func (m *machine) query(j *sched.Job) *Query { return &m.measured[m.arrivals[j.ID].Query] }

func (m *machine) counts(j *sched.Job) bool { return j.ID >= m.o.Warmup }

func (m *machine) end() {
	place, jobs := m.ends.pop()
	m.s.Done(m.now, place, jobs, m.now-jobs[0].Began)
	for _, j := range jobs {
		m.ended(j, nil)
	}
	m.ends.giveBack(jobs)
}

// ended counts an arrival that has ended and frees its job; shed is its error, if any.
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
		m.totals.tally(m.now, out)
	}
	if m.o.Each != nil {
		m.o.Each(out)
	}
	m.free = append(m.free, j)
}
