package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/latency"
)

// Options configure a run. Zero values select defaults.
type Options struct {
	// Number of different queries, sent in turn.
	Queries int
	// Batch is the number of queries of a request to a BatchTarget, which arrive together; 0:
	// Target.Do sends each query. Queries are counted, but requests have the latencies.
	Batch int
	// Mean arrivals of queries per second.
	Rate     float64
	Arrivals Arrivals // default Poisson
	Seed     uint64   // of Poisson arrivals
	// Uncounted arrivals, then counted ones.
	Warmup, Duration time.Duration
	// Maximum latency of a good answer; 0: any. The rate holds if the share Share
	// (default 0.99) of all queries is good.
	Bound time.Duration
	Share float64
	// CutShort ends the run as soon as the rate cannot hold any more.
	CutShort bool
	// Timeout limits the wait for an answer; default 10 s.
	Timeout time.Duration
	// Maximum outstanding queries; more are counted as Unsent. Default 10,000.
	MaxOutstanding int
	// Watch, if not nil, is called every Every (default 1 s) with the current
	// counts; during the warm-up, Took is 0.
	Watch func(Point)
	Every time.Duration
	// Sleep is by default the operating system's most precise sleep. With virtual
	// time (testing/synctest), use time.Sleep.
	Sleep func(time.Duration)
}

const (
	defaultShare       = 0.99
	defaultTimeout     = 10 * time.Second
	defaultOutstanding = 10_000
	defaultEvery       = time.Second
	// The generator checks this often whether to end.
	lookAround = 100 * time.Millisecond
	maxFaults  = 5
)

func (o *Options) check() error {
	if o.Queries < 1 || !(o.Rate > 0) || o.Rate > 1e7 || o.Duration <= 0 || o.Warmup < 0 || o.Batch < 0 {
		return fmt.Errorf("load: %d queries at a rate of %g for %v after %v", o.Queries, o.Rate, o.Duration, o.Warmup)
	}
	if o.Arrivals == "" {
		o.Arrivals = Poisson
	}
	if o.Share == 0 {
		o.Share = defaultShare
	}
	if o.Timeout == 0 {
		o.Timeout = defaultTimeout
	}
	if o.MaxOutstanding == 0 {
		o.MaxOutstanding = defaultOutstanding
	}
	if o.Every == 0 {
		o.Every = defaultEvery
	}
	return nil
}

// together is the number of queries that arrive together.
func (o *Options) together() int { return max(o.Batch, 1) }

// most returns the maximum number of queries without the warm-up: for Poisson
// arrivals, five standard deviations above the mean, exceeded in less than one
// run in a million.
func (o *Options) most() float64 {
	each := float64(o.together())
	mean := o.Rate / each * o.Duration.Seconds()
	if o.Arrivals == Constant {
		return each * (mean + 1)
	}
	return each * (mean + 5*math.Sqrt(mean) + 1)
}

type run struct {
	Options
	target  Target
	batches BatchTarget        // nil without Options.Batch
	ctx     context.Context    //nolint:containedctx // of the queries, which end before Run does
	cancel  context.CancelFunc // of ctx
	began   time.Time          // start of the warm-up
	out     atomic.Int64       // outstanding queries

	sent     atomic.Int64
	outcomes [numOutcomes]atomic.Int64
	good     atomic.Int64
	bad      atomic.Int64 // outcomes that are not good
	lastGood atomic.Int64 // time from began to the last good answer
	latency  latency.Histogram
	lag      latency.Histogram

	mu     sync.Mutex
	faults []string
}

// Run sends load to target and waits for the last answer. If ctx ends it
// returns the results without outstanding queries, and ctx's error.
func Run(ctx context.Context, target Target, o Options) (Point, error) {
	if err := o.check(); err != nil {
		return Point{}, err
	}
	r := &run{Options: o, target: target}
	if o.Batch > 0 {
		batches, ok := target.(BatchTarget)
		if !ok {
			return Point{}, fmt.Errorf("load: batches of %d queries, and the target takes no batches", o.Batch)
		}
		r.batches = batches
	}
	r.ctx, r.cancel = context.WithCancel(ctx)
	defer r.cancel()
	stop := r.watch()
	defer stop()
	allowed := (1 - o.Share) * o.most()
	senders := r.senders(time.Duration(float64(time.Second) * float64(o.together()) / o.Rate))
	var others sync.WaitGroup
	r.began = time.Now()
	ends := make([]ending, len(senders))
	for part := 1; part < len(senders); part++ {
		others.Go(func() { ends[part] = r.generate(senders[part], part, len(senders), allowed) })
	}
	ends[0] = r.generate(senders[0], 0, len(senders), allowed)
	others.Wait()
	end := o.Warmup + o.Duration
	cut := false
	for _, e := range ends {
		end, cut = min(end, e.at), cut || e.cut
	}
	p := r.point(end - o.Warmup)
	p.Cut = cut
	p.Holds = !cut && ctx.Err() == nil && p.Sent > 0 && float64(p.Good) >= o.Share*float64(p.Sent)
	return p, ctx.Err()
}

// issue sends a query, or a batch from it on, with a scheduled arrival relative to the start.
func (r *run) issue(s sender, query int, at time.Duration) {
	n := r.together()
	counted, late := at >= r.Warmup, time.Since(r.began)-at
	if counted {
		r.sent.Add(int64(n))
		r.lag.Record(late)
	}
	if late > r.Timeout { // otherwise an unreachable rate would not end in time
		if counted {
			r.count(Unsent, n, 0, fmt.Errorf("not sent: more than %v late", r.Timeout))
		}
		return
	}
	if out := r.out.Add(int64(n)); out > int64(r.MaxOutstanding) && out > int64(n) {
		r.out.Add(-int64(n))
		if counted {
			r.count(Unsent, n, 0, fmt.Errorf("not sent: %d queries are outstanding", r.MaxOutstanding))
		}
		return
	}
	s.send(request{query: query, at: at, counted: counted})
}

// do sends the request.
func (r *run) do(q *request) {
	o, failed, took, err := r.ask(q.ctx, q.query, q.at)
	r.end(q, o, failed, took, err)
}

// finish ends a request of one query.
func (r *run) finish(q request, o Outcome, err error) { r.end(&q, o, 0, time.Since(r.began)-q.at, err) }

// end counts the end of a request, of which failed queries have no answer.
func (r *run) end(q *request, o Outcome, failed int, took time.Duration, err error) {
	n := r.together()
	defer r.out.Add(-int64(n))
	if !q.counted || r.ctx.Err() != nil {
		return
	}
	if failed < n {
		r.count(o, n-failed, took, err)
	}
	if failed > 0 {
		r.count(Failed, failed, took, err)
	}
}

// ask sends a query, or a batch, of which failed queries have no answer.
func (r *run) ask(ctx context.Context, query int, at time.Duration) (o Outcome, failed int, took time.Duration, err error) {
	if r.batches != nil {
		o, failed, err = r.batches.DoBatch(ctx, query, r.Batch)
	} else {
		o, err = r.target.Do(ctx, query)
	}
	if o == Failed && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		o = Unanswered
	}
	return o, failed, time.Since(r.began) - at, err
}

// count counts n queries of a request.
func (r *run) count(o Outcome, n int, took time.Duration, err error) {
	r.outcomes[o].Add(int64(n))
	if o != Answered {
		r.bad.Add(int64(n))
		if err != nil && !o.Shed() {
			r.fault(base.Message(err))
		}
		return
	}
	r.latency.Record(took)
	if r.Bound > 0 && took > r.Bound {
		r.bad.Add(int64(n))
		return
	}
	r.good.Add(int64(n))
	now := int64(time.Since(r.began))
	for old := r.lastGood.Load(); now > old && !r.lastGood.CompareAndSwap(old, now); old = r.lastGood.Load() {
	}
}

func (r *run) fault(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.faults) < maxFaults && !slices.Contains(r.faults, text) {
		r.faults = append(r.faults, text)
	}
}

// point returns the results of queries that arrived within took.
func (r *run) point(took time.Duration) Point {
	n := func(o Outcome) int64 { return r.outcomes[o].Load() }
	p := Point{
		Rate: r.Rate, Took: max(took, 0), Sent: r.sent.Load(), Good: r.good.Load(),
		Answered: n(Answered), Limited: n(Limited), Overloaded: n(Overloaded), Expired: n(Expired),
		Unanswered: n(Unanswered), Unsent: n(Unsent), Failed: n(Failed),
		Latency: r.latency.Summary(), Lag: r.lag.Summary(),
	}
	switch {
	case r.Arrivals == Constant: // the start and the end of a run each cut an interval
		p.ArrivalRate = r.Rate
	case p.Took > 0:
		p.ArrivalRate = float64(p.Sent) / p.Took.Seconds()
	}
	if until := max(p.Took, time.Duration(r.lastGood.Load())-r.Warmup); until > 0 {
		p.Goodput = float64(p.Good) / until.Seconds()
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	p.Faults = slices.Clone(r.faults)
	return p
}

// watch calls Watch at intervals until the returned function is called.
func (r *run) watch() (stop func()) {
	if r.Watch == nil {
		return func() {}
	}
	done := make(chan struct{})
	var watching sync.WaitGroup
	ticker := time.NewTicker(r.Every)
	began := time.Now()
	watching.Go(func() {
		for {
			select {
			case <-ticker.C:
				r.Watch(r.point(min(time.Since(began)-r.Warmup, r.Duration)))
			case <-done:
				return
			}
		}
	})
	return func() {
		ticker.Stop()
		close(done)
		watching.Wait()
	}
}
