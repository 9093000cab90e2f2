package load

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

type targetFunc func(ctx context.Context, query int) (Outcome, error)

func (f targetFunc) Do(ctx context.Context, query int) (Outcome, error) { return f(ctx, query) }

// station serves queries one by one, in order of arrival, each in a fixed
// virtual time.
func station(service time.Duration) Target {
	server := make(chan struct{}, 1)
	return targetFunc(func(ctx context.Context, _ int) (Outcome, error) {
		select {
		case server <- struct{}{}:
		case <-ctx.Done():
			return Failed, ctx.Err()
		}
		time.Sleep(service)
		<-server
		return Answered, nil
	})
}

// lindley returns the latencies on a station, by Lindley's recursion: the wait
// of a query is the previous wait plus service time, less the interval between
// them.
func lindley(o Options, service time.Duration) []time.Duration {
	c := newClock(o.Arrivals, o.Rate, o.Seed)
	var latencies []time.Duration
	var wait, before time.Duration
	for first := true; ; first = false {
		at := c.next()
		if at >= o.Warmup+o.Duration {
			return latencies
		}
		if !first {
			wait = max(wait+service-(at-before), 0)
		}
		before = at
		if at >= o.Warmup {
			latencies = append(latencies, wait+service)
		}
	}
}

// M/D/1: Poisson arrivals, one server, a fixed service time D. At a load of rho
// its mean wait is rho*D / (2*(1-rho)) (Pollaczek and Khinchine): at 0.8 and 1
// ms, 2 ms. The generator must measure the latencies of Lindley's recursion.
func TestQueueOfOneServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const service = time.Millisecond
		o := Options{
			Queries: 3, Rate: 800, Arrivals: Poisson, Seed: 7, Warmup: 2 * time.Second, Duration: 100 * time.Second, Sleep: time.Sleep,
		}
		p, err := Run(t.Context(), station(service), o)
		if err != nil {
			t.Fatal(err)
		}
		want := latency.Summarize(lindley(o, service))
		if p.Sent != int64(want.Count) || p.Answered != p.Sent || p.Good != p.Sent {
			t.Fatalf("sent %d, answered %d, good %d; want %d of each", p.Sent, p.Answered, p.Good, want.Count)
		}
		if p.Latency.Mean != want.Mean || p.Latency.Max != want.Max {
			t.Errorf("mean %v, maximum %v; want %v, %v", p.Latency.Mean, p.Latency.Max, want.Mean, want.Max)
		}
		for _, q := range [][2]time.Duration{{p.Latency.P50, want.P50}, {p.Latency.P99, want.P99}, {p.Latency.P999, want.P999}} {
			if q[0] < q[1] || q[0] > q[1]+q[1]/256 {
				t.Errorf("quantile %v, want %v", q[0], q[1])
			}
		}
		if theory := 3 * time.Millisecond; math.Abs(float64(p.Latency.Mean-theory)) > 0.05*float64(theory) {
			t.Errorf("mean latency %v; theory says %v", p.Latency.Mean, theory)
		}
		if p.Lag.Max != 0 {
			t.Errorf("in virtual time the generator is late by %v", p.Lag.Max)
		}
		if math.Abs(p.Goodput-800) > 8 || p.Took != o.Duration {
			t.Errorf("goodput %.1f in %v", p.Goodput, p.Took)
		}
	})
}

// A server that stalls for one second of ten delays 1,000 of 10,000 queries. A
// closed loop would see a single slow query.
func TestStalledServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		stalled := targetFunc(func(context.Context, int) (Outcome, error) {
			if at := time.Since(began); at >= 5*time.Second && at < 6*time.Second {
				time.Sleep(6*time.Second - at)
			}
			time.Sleep(time.Millisecond)
			return Answered, nil
		})
		p, err := Run(t.Context(), stalled, Options{
			Queries: 1, Rate: 1000, Arrivals: Constant, Duration: 10 * time.Second, Bound: 100 * time.Millisecond, Sleep: time.Sleep,
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.Latency.P50 > 2*time.Millisecond || p.Latency.P99 < 890*time.Millisecond || p.Latency.Max < 990*time.Millisecond {
			t.Errorf("latency %+v", p.Latency)
		}
		// All but the arrivals of the first 0.9 s of the stall.
		if want := p.Sent - 900; p.Good < want-2 || p.Good > want+2 || p.Holds {
			t.Errorf("%d good of %d, holds=%t", p.Good, p.Sent, p.Holds)
		}
	})
}

func TestOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Run(t.Context(), targetFunc(func(ctx context.Context, query int) (Outcome, error) {
			switch o := Outcome(query); o {
			case Unanswered:
				<-ctx.Done()
				return Failed, ctx.Err()
			case Answered:
				return o, nil
			default:
				return o, errors.New(o.String())
			}
		}), Options{
			Queries: int(numOutcomes), Rate: 70, Arrivals: Constant, Duration: 10*time.Second + time.Millisecond, Timeout: time.Second, Sleep: time.Sleep,
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.Answered != 100 || p.Limited != 100 || p.Overloaded != 100 || p.Expired != 100 || p.Unanswered != 100 || p.Unsent != 100 || p.Failed != 100 || p.Sent != 700 {
			t.Errorf("%+v", p)
		}
		if p.Shed() != 300 || p.Faulty() != 300 || len(p.Faults) == 0 {
			t.Errorf("shed %d, faulty %d, faults %q", p.Shed(), p.Faulty(), p.Faults)
		}
	})
}

// The generator does not wait for answers, but limits outstanding queries.
func TestMaxOutstanding(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, err := Run(t.Context(), targetFunc(func(ctx context.Context, _ int) (Outcome, error) {
			<-ctx.Done()
			return Failed, ctx.Err()
		}), Options{
			Queries: 1, Rate: 100, Arrivals: Constant, Duration: 2*time.Second + time.Millisecond, MaxOutstanding: 50, Sleep: time.Sleep,
		})
		if err != nil {
			t.Fatal(err)
		}
		if p.Unsent != 150 || p.Unanswered != 50 {
			t.Errorf("unsent %d, unanswered %d; want 150 and 50", p.Unsent, p.Unanswered)
		}
	})
}

// A generator that falls behind by more than the timeout drops the queries that
// are too late, and sends the others.
func TestLateGenerator(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		stalls := 20 * time.Second
		p, err := Run(t.Context(), station(time.Microsecond), Options{
			Queries: 1, Rate: 10, Arrivals: Constant, Duration: 30 * time.Second, Timeout: 5 * time.Second,
			Sleep: func(d time.Duration) {
				time.Sleep(d + stalls)
				stalls = 0
			},
		})
		// Of the first 20 seconds, only the last 5 are sent, at once.
		if err != nil || p.Unsent < 149 || p.Unsent > 151 || p.Answered != p.Sent-p.Unsent || p.Sent != 299 {
			t.Errorf("sent %d, unsent %d, answered %d, %v", p.Sent, p.Unsent, p.Answered, err)
		}
	})
}

// The current results at once, without the outstanding queries.
func TestInterrupt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 3050*time.Millisecond)
		defer cancel()
		began := time.Now()
		p, err := Run(ctx, targetFunc(func(ctx context.Context, _ int) (Outcome, error) {
			select {
			case <-time.After(100 * time.Millisecond):
				return Answered, nil
			case <-ctx.Done():
				return Failed, ctx.Err()
			}
		}), Options{Queries: 1, Rate: 100, Arrivals: Constant, Warmup: time.Second, Duration: time.Hour, Sleep: time.Sleep})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("error %v", err)
		}
		if since := time.Since(began); since > 4*time.Second {
			t.Errorf("it ended after %v", since)
		}
		if p.Faulty() != 0 || p.Answered < 190 || p.Answered > 200 || p.Took > 2200*time.Millisecond || p.Holds {
			t.Errorf("%+v", p)
		}
	})
}

func TestWatch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var seen []Point
		_, err := Run(t.Context(), station(time.Microsecond), Options{
			Queries: 1, Rate: 10, Arrivals: Constant, Warmup: time.Second, Duration: 4*time.Second + 10*time.Millisecond, Sleep: time.Sleep,
			Watch: func(p Point) { seen = append(seen, p) },
		})
		if err != nil || len(seen) != 5 {
			t.Fatalf("%d reports, %v", len(seen), err)
		}
		if seen[0].Answered != 0 || seen[0].Took != 0 || seen[4].Took != 4*time.Second || seen[4].Answered < 39 {
			t.Errorf("first %+v, last %+v", seen[0], seen[4])
		}
	})
}

func TestBadOptions(t *testing.T) {
	good := Options{Queries: 1, Rate: 1, Duration: time.Second}
	for i, change := range []func(*Options){
		func(o *Options) { o.Queries = 0 }, func(o *Options) { o.Rate = 0 }, func(o *Options) { o.Rate = math.NaN() },
		func(o *Options) { o.Rate = math.Inf(1) }, func(o *Options) { o.Duration = 0 }, func(o *Options) { o.Warmup = -1 },
	} {
		o := good
		change(&o)
		if _, err := Run(t.Context(), nil, o); err == nil {
			t.Errorf("options %d are accepted", i)
		}
	}
}

// Queries are sent more precisely than with the runtime's timers; the delay is
// reported, and included in the latency.
func TestPaceOfRealTime(t *testing.T) {
	p, err := Run(t.Context(), targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil }),
		Options{Queries: 1, Rate: 500, Duration: 500 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if p.Answered != p.Sent || p.Sent < 150 || p.Latency.Mean < p.Lag.Mean {
		t.Errorf("%+v", p)
	}
}
