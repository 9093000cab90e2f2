package simulation

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Load says which arrivals a rate is simulated with.
type Load struct {
	// Arrivals is how many there are at least.
	Arrivals int
	// Span is how long Poisson arrivals come at least, up to MaxArrivals of them. Of a rate
	// that a machine cannot sustain the queue grows only as long as queries arrive: by a
	// second in a hundred seconds if the rate is a hundredth too high. A run that is not
	// long against a deadline ends before a query misses it, at rates that fail. 0: any.
	Span time.Duration
	// Seed is that of Poisson arrivals.
	Seed uint64
	// Replay, if it is not nil, is a recorded log that is scaled to the rate, in
	// the place of Poisson arrivals.
	Replay []Arrival
}

// at returns the arrivals of a rate.
func (l *Load) at(rate float64, numQueries int) []Arrival {
	if l.Replay != nil {
		return Scale(l.Replay, rate)
	}
	n := max(float64(l.Arrivals), min(math.Ceil(rate*l.Span.Seconds()), MaxArrivals))
	return Poisson(rate, int(n), numQueries, l.Seed)
}

// SpanFor returns the Span in which the queue of a rate that is a part in 200 too high grows to
// a deadline.
func SpanFor(deadline time.Duration) time.Duration { return 200 * deadline }

// Cut reports whether the arrivals of a rate do not come for all of Span, since they would be more
// than MaxArrivals.
func (l *Load) Cut(rate float64) bool { return l.Replay == nil && rate*l.Span.Seconds() > MaxArrivals }

// MaxArrivals is the most arrivals that a Span asks for.
const MaxArrivals = 5_000_000

// slowest is the rate at which the arrivals take as long as times can be told.
func (l *Load) slowest() float64 { return float64(max(len(l.Replay), l.Arrivals)) / longest }

// At simulates one rate, in queries a second, up to HighestRate. Errors are those of Run.
func At(ctx context.Context, o Options, l Load, rate float64) (*Result, error) {
	if !(rate > 0) || l.Replay == nil && l.Arrivals <= 0 || len(o.Queries) == 0 {
		return nil, fmt.Errorf("%w: simulation of %d arrivals at a rate of %v", base.ErrBadInput, l.Arrivals, rate)
	}
	if rate > HighestRate { // arrivals would be less than a nanosecond apart
		return nil, fmt.Errorf("%w: a rate of %v: at most %d queries a second can be told apart", base.ErrBadInput, rate, HighestRate)
	}
	if l.Replay != nil && Rate(l.Replay) == 0 {
		return nil, fmt.Errorf("%w: recorded arrivals of one moment have no rate", base.ErrBadInput)
	}
	if rate <= l.slowest() {
		return nil, fmt.Errorf("%w: the arrivals take more than 30 years at a rate of %v: simulate fewer, or more a second", base.ErrBadInput, rate)
	}
	return Run(ctx, o, l.at(rate, len(o.Queries)))
}

// Sweep simulates each rate. The arrivals of all rates are the same but for their
// pace.
func Sweep(ctx context.Context, o Options, l Load, rates []float64) ([]*Result, error) {
	results := make([]*Result, 0, len(rates))
	for _, rate := range rates {
		r, err := At(ctx, o, l, rate)
		if err != nil {
			return results, err
		}
		results = append(results, r)
	}
	return results, nil
}

// HighestRate is the highest rate that SustainedRate tries: more than any machine sustains.
const HighestRate = 1 << 30

// lowestRate is the lowest: it fails for no query that can be answered in time at all.
const lowestRate = 1.0 / 1024

// SustainedRate returns the highest rate, to a part in a hundred, at which accept accepts
// the result, as far as doubling and halving finds it: ding09 counts a run as failed if a
// query misses its deadline, so that accept is !Failed. It returns 0 if every rate is
// refused and HighestRate if none is. With the Span of SpanFor it is at most a part in 200
// above what can be sustained for good.
func SustainedRate(ctx context.Context, o Options, l Load, accept func(*Result) bool) (float64, error) {
	good, bad := 0.0, 0.0
	for rate := 1.0; bad == 0 || good == 0; {
		r, err := At(ctx, o, l, rate)
		if err != nil {
			return 0, err
		}
		if accept(r) {
			good = rate
			rate *= 2
		} else {
			bad = rate
			rate /= 2
		}
		if rate < lowestRate || rate <= l.slowest() {
			return 0, nil
		}
		if rate > HighestRate {
			return HighestRate, nil
		}
	}
	for bad > good*1.01 {
		middle := (good + bad) / 2
		r, err := At(ctx, o, l, middle)
		if err != nil {
			return 0, err
		}
		if accept(r) {
			good = middle
		} else {
			bad = middle
		}
	}
	return good, nil
}
