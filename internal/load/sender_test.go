package load

import (
	"context"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// counter answers at once.
type counter struct{ queries [3]atomic.Int64 }

func (c *counter) Do(_ context.Context, query int) (Outcome, error) {
	c.queries[query].Add(1)
	return Answered, nil
}

// High rates have several senders, which together send each arrival once.
func TestSeveralCallers(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(16))
	for _, c := range []struct {
		rate float64
		want int
	}{{100, 1}, {100_000, 1}, {250_000, 2}, {1e6, 4}} {
		interval := time.Duration(float64(time.Second) / c.rate)
		target := &counter{}
		r := &run{Options: Options{Rate: c.rate}, target: target}
		all := r.senders(interval)
		if len(all) != c.want {
			t.Errorf("%v/s have %d senders, want %d", c.rate, len(all), c.want)
		}
		for _, s := range all {
			s.end()
		}
		const requests = 3000
		p, err := Run(t.Context(), target, Options{
			Queries: len(target.queries), Rate: c.rate, Arrivals: Constant, MaxOutstanding: requests,
			Duration: time.Duration(float64(time.Second) * min(requests/c.rate, 0.5)),
		})
		sent := int64(min(requests, c.rate/2))
		if err != nil || p.Sent != p.Answered || p.Sent < sent-1 || p.Sent > sent+1 {
			t.Errorf("%v/s: %d sent, %d answered (%v), want %d", c.rate, p.Sent, p.Answered, err, sent)
		}
		for i := range target.queries {
			if n := target.queries[i].Load(); n < p.Sent/3 || n > p.Sent/3+1 {
				t.Errorf("%v/s: query %d was sent %d times of %d", c.rate, i, n, p.Sent)
			}
		}
	}
}
