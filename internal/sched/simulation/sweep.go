package simulation

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Load describes the arrivals for simulating a rate.
type Load struct {
	// Minimum number of arrivals.
	Arrivals int
	// Minimum duration of Poisson arrivals, up to MaxArrivals of them; 0: none. At
	// a rate 1 % too high the queue grows by a second in a hundred seconds, so a
	// run that is short relative to the deadline ends before a query is late.
	Span time.Duration
	Seed uint64
	// Replay, if not nil, is a recorded log that replaces Poisson arrivals, scaled
	// to the rate.
	Replay []Arrival
}

func (l *Load) at(rate float64, numQueries int) []Arrival {
	if l.Replay != nil {
		return Scale(l.Replay, rate)
	}
	n := max(float64(l.Arrivals), min(math.Ceil(rate*l.Span.Seconds()), MaxArrivals))
	return Poisson(rate, int(n), numQueries, l.Seed)
}

// SpanFor returns the Span in which a queue grows to the deadline at a rate
// that is 0.5 % too high.
func SpanFor(deadline time.Duration) time.Duration { return 200 * deadline }

// Cut reports whether arrivals at a rate end before the Span, because of
// MaxArrivals.
func (l *Load) Cut(rate float64) bool { return l.Replay == nil && rate*l.Span.Seconds() > MaxArrivals }

// MaxArrivals limits the arrivals caused by a Span.
const MaxArrivals = 5_000_000

// slowest returns the rate at which the arrivals span the longest representable
// time.
func (l *Load) slowest() float64 { return float64(max(len(l.Replay), l.Arrivals)) / longest }

// At simulates one rate, in queries per second, up to HighestRate. The
// arrivals at all rates differ only by a factor in time. Errors as of Run.
func At(ctx context.Context, o Options, l Load, rate float64) (*Result, error) {
	if !(rate > 0) || l.Replay == nil && l.Arrivals <= 0 || len(o.Queries) == 0 {
		return nil, fmt.Errorf("%w: simulation of %d arrivals at a rate of %v", base.ErrBadInput, l.Arrivals, rate)
	}
	if rate > HighestRate { // arrivals would be less than a nanosecond apart
		return nil, fmt.Errorf("%w: a rate of %v: the maximum is %d queries a second", base.ErrBadInput, rate, HighestRate)
	}
	if l.Replay != nil && Rate(l.Replay) == 0 {
		return nil, fmt.Errorf("%w: recorded arrivals at one point in time have no rate", base.ErrBadInput)
	}
	if rate <= l.slowest() {
		return nil, fmt.Errorf("%w: the arrivals take more than 30 years at a rate of %v: simulate fewer, or more a second", base.ErrBadInput, rate)
	}
	return Run(ctx, o, l.at(rate, len(o.Queries)))
}

// HighestRate is the highest rate that SustainedRate tries.
const HighestRate = 1 << 30

// lowestRate fails for no query that can meet its deadline at all.
const lowestRate = 1.0 / 1024

// SustainedRate returns the highest rate, within 1 %, at which accept accepts
// the result, found by doubling and halving. In ding09 accept is !Failed. It
// returns 0 if no rate is accepted and HighestRate if all are. With the Span of
// SpanFor it exceeds the sustainable rate by at most 0.5 %.
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
