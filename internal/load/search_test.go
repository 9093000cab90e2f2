package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

// Finds the rate at which the 99th percentile of a station exceeds the bound,
// and compares each rate on the way with Lindley's recursion.
func TestSearch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const service, bound = time.Millisecond, 10 * time.Millisecond
		o := Options{Queries: 1, Arrivals: Poisson, Seed: 3, Duration: 6 * time.Second, Bound: bound, Sleep: time.Sleep}
		holds := func(rate float64) bool {
			o := o
			o.Rate = rate
			good := 0
			all := lindley(o, service)
			for _, d := range all {
				if d <= bound {
					good++
				}
			}
			return float64(good) >= 0.99*float64(len(all))
		}
		highest, points, err := Search(t.Context(), station(service), o, SearchOptions{Start: 100, Max: 1e6}, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range points {
			if p.Holds != holds(p.Rate) {
				t.Errorf("rate %.1f: holds=%t", p.Rate, p.Holds)
			}
		}
		// In theory about 800: there the wait has an exponential tail of mean 2.3 ms.
		if highest == nil || highest.Rate < 700 || highest.Rate > 900 || !highest.Holds || !holds(highest.Rate) {
			t.Errorf("highest rate %+v", highest)
		}
		last := points[len(points)-1]
		if n := len(points); n > 14 {
			t.Errorf("%d points, the last of a rate of %.1f", n, last.Rate)
		}
	})
}

// A run is cut short only when it cannot hold any more: here each run has
// exactly the permitted number of bad answers.
func TestCutShortIsCertain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for seed := range uint64(20) {
			o := Options{Queries: 1 << 30, Rate: 1000, Seed: seed, Duration: 2 * time.Second, Bound: time.Second, Share: 0.5, CutShort: true, Sleep: time.Sleep}
			sent := 0
			for c := newClock(Poisson, o.Rate, seed); c.next() < o.Duration; sent++ {
			}
			p, err := Run(t.Context(), targetFunc(func(_ context.Context, query int) (Outcome, error) {
				if query < sent/2 {
					return Overloaded, nil
				}
				return Answered, nil
			}), o)
			if err != nil || p.Cut || !p.Holds {
				t.Errorf("seed %d: of %d queries %d are answered; cut=%t, holds=%t, %v", seed, sent, p.Answered, p.Cut, p.Holds, err)
			}
		}
	})
}

func TestSearchEnds(t *testing.T) {
	always := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
	never := targetFunc(func(context.Context, int) (Outcome, error) { return Overloaded, errors.New("full") })
	o := Options{Queries: 1, Duration: time.Second, Bound: time.Second, Sleep: time.Sleep}
	synctest.Test(t, func(t *testing.T) {
		highest, points, err := Search(t.Context(), always, o, SearchOptions{Start: 100, Max: 700}, nil)
		if err != nil || highest == nil || highest.Rate != 700 || len(points) != 4 {
			t.Errorf("highest %v of %d points, %v", highest, len(points), err)
		}
		highest, points, err = Search(t.Context(), never, o, SearchOptions{Start: 1 << 17, Max: 1 << 18}, nil)
		if err != nil || highest != nil || len(points) != maxHalvings+1 || !points[0].Cut {
			t.Errorf("highest %v of %d points, %v", highest, len(points), err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2500*time.Millisecond)
		defer cancel()
		highest, points, err = Search(ctx, always, o, SearchOptions{Start: 100, Max: 1e5}, nil)
		if !errors.Is(err, context.DeadlineExceeded) || highest == nil || highest.Rate != 200 || len(points) != 3 {
			t.Errorf("highest %v of %d points, %v", highest, len(points), err)
		}
	})
	if _, _, err := Search(t.Context(), always, Options{}, SearchOptions{Start: 1, Max: 2}, nil); err == nil {
		t.Error("a search without a bound is accepted")
	}
}

// A rate does not hold because too few queries arrive to include a slow one; a
// rate that would take too long to decide is not tried. 100 queries in 10
// seconds are 10 per second.
func TestSearchWantsQueries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slowAtTimes := targetFunc(func(_ context.Context, query int) (Outcome, error) {
			if query%40 == 39 {
				time.Sleep(time.Second)
			}
			return Answered, nil
		})
		o := Options{Queries: 1 << 30, Arrivals: Constant, Duration: time.Second, Bound: 10 * time.Millisecond, Sleep: time.Sleep}
		highest, points, err := Search(t.Context(), slowAtTimes, o, SearchOptions{Start: 32, Max: 1e4}, nil)
		if err != nil || highest != nil || len(points) != 2 || points[1].Rate != 16 {
			t.Errorf("rate %v of %d points holds though one query in 40 is late (%v)", highest, len(points), err)
		}
	})
}

// The requested rate and the actual arrival rate, all of which the target
// answered in time.
func TestArrivalRate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		always := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
		for seed := range uint64(5) {
			o := Options{Queries: 1, Seed: seed, Warmup: time.Second, Duration: 2 * time.Second, Bound: time.Second, Sleep: time.Sleep}
			highest, _, err := Search(t.Context(), always, o, SearchOptions{Start: 50, Max: 400}, nil)
			if err != nil || highest == nil || highest.Rate != 400 {
				t.Fatalf("%+v, %v", highest, err)
			}
			drawn := 0
			for c := newClock(Poisson, 400, seed); ; {
				at := c.next()
				if at >= o.Warmup+o.Duration {
					break
				}
				if at >= o.Warmup {
					drawn++
				}
			}
			if want := float64(drawn) / 2; highest.ArrivalRate != want || highest.Goodput != want {
				t.Errorf("seed %d: %v arrived, %v good; %v were drawn", seed, highest.ArrivalRate, highest.Goodput, want)
			}
		}
		p, err := Run(t.Context(), always, Options{Queries: 1, Rate: 70, Arrivals: Constant, Duration: 100 * time.Millisecond, Sleep: time.Sleep})
		if err != nil || p.ArrivalRate != 70 || p.Sent != 6 {
			t.Errorf("%+v, %v", p, err)
		}
	})
}

// An error that a retry cannot resolve ends the probe at once; a faulty query
// does not, wherever it is.
func TestProbeOfRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		refuses := func(good int, ofQuery bool) Target {
			asked = 0
			return targetFunc(func(_ context.Context, query int) (Outcome, error) {
				if asked++; query == good {
					return Answered, nil
				}
				return Failed, fmt.Errorf("query %d: %w", query, &Refusal{Err: errBadQuery, OfQuery: ofQuery})
			})
		}
		began := time.Now()
		for good := range 3 {
			if err := Probe(t.Context(), refuses(good, true), 3, time.Minute); err != nil || asked != good+1 {
				t.Errorf("query %d is good: %d asked, %v", good, asked, err)
			}
		}
		if err := Probe(t.Context(), refuses(3, true), 3, time.Minute); !errors.Is(err, errBadQuery) || asked != 3 || !strings.Contains(err.Error(), "query 0") {
			t.Errorf("none is good: %d asked, %v", asked, err)
		}
		if err := Probe(t.Context(), refuses(1, false), 3, time.Minute); !errors.Is(err, errBadQuery) || asked != 1 {
			t.Errorf("all are refused: %d asked, %v", asked, err)
		}
		if took := time.Since(began); took != 0 {
			t.Errorf("it took %v", took)
		}
	})
}

var errBadQuery = errors.New("bad query")

func TestProbeOfSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		silent := targetFunc(func(ctx context.Context, _ int) (Outcome, error) {
			<-ctx.Done()
			return Failed, ctx.Err()
		})
		err := Probe(t.Context(), silent, 1, 2*time.Second)
		if took := time.Since(began); took != 2*time.Second || err == nil || err.Error() != "no query was answered within 2s" {
			t.Errorf("after %v: %v", took, err)
		}
	})
}

// A connection that fails at the end of the time does not hide why the earlier ones failed.
func TestProbeOfClosedPort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		closed := targetFunc(func(context.Context, int) (Outcome, error) {
			if time.Since(began) < time.Second {
				return Failed, syscall.ECONNREFUSED
			}
			return Failed, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		})
		if err := Probe(t.Context(), closed, 1, 1500*time.Millisecond); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("%v", err)
		}
	})
}

func TestSweepAndProbe(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		asked := 0
		starting := targetFunc(func(context.Context, int) (Outcome, error) {
			if asked++; asked < 4 {
				return Failed, errors.New("connection refused")
			}
			return Answered, nil
		})
		if err := Probe(t.Context(), starting, 1, time.Minute); err != nil || asked != 4 {
			t.Errorf("%d asked, %v", asked, err)
		}
		asked = -1000
		if err := Probe(t.Context(), starting, 1, time.Second); err == nil || !strings.Contains(err.Error(), "refused") {
			t.Errorf("error %v", err)
		}
		slow := targetFunc(func(ctx context.Context, _ int) (Outcome, error) {
			select {
			case <-time.After(3 * time.Second):
				return Answered, nil
			case <-ctx.Done():
				return Failed, ctx.Err()
			}
		})
		if err := Probe(t.Context(), slow, 1, 4*time.Second); err != nil {
			t.Errorf("a first query that is slow: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := Probe(ctx, slow, 1, time.Minute); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("interrupted: %v", err)
		}
		var seen []float64
		points, err := Sweep(t.Context(), station(time.Millisecond), Options{Queries: 1, Duration: time.Second, Sleep: time.Sleep},
			[]float64{10, 20}, func(p Point) { seen = append(seen, p.Rate) })
		if err != nil || len(points) != 2 || len(seen) != 2 || seen[1] != 20 {
			t.Errorf("%d points, %v, %v", len(points), seen, err)
		}

		// If a service disappears, the first rate without an answer is the
		// last.
		answers := 15
		goes := targetFunc(func(context.Context, int) (Outcome, error) {
			if answers--; answers < 0 {
				return Failed, errors.New("connection refused")
			}
			return Answered, nil
		})
		points, err = Sweep(t.Context(), goes, Options{Queries: 1, Arrivals: Constant, Duration: time.Second, Sleep: time.Sleep}, []float64{10, 11, 12, 13}, nil)
		if err == nil || !strings.Contains(err.Error(), "no query was answered at 12/s: connection refused") || len(points) != 3 {
			t.Errorf("gone: %d points, %v", len(points), err)
		}
	})
}
