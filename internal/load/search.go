package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// Sweep measures at each of several rates, one after another, and calls each (if not
// nil) after each of them. If ctx ends it returns what there is, the point that was cut
// short included if queries were counted in it, and ctx's error. A rate at which all
// queries failed is the last: nothing answers any more, which is an error, too.
func Sweep(ctx context.Context, target Target, o Options, rates []float64, each func(Point)) ([]Point, error) {
	var points []Point
	for _, rate := range rates {
		o.Rate = rate
		p, err := Run(ctx, target, o)
		if err == nil || p.Sent > 0 {
			points = append(points, p)
			if each != nil {
				each(p)
			}
		}
		if err == nil && p.Failed > 0 && p.Answered+p.Shed()+p.Unanswered == 0 {
			err = fmt.Errorf("%w at %.6g/s: %s", errNoTarget, rate, strings.Join(p.Faults, "; "))
		}
		if err != nil {
			return points, err
		}
	}
	return points, nil
}

// SearchOptions say how the highest rate is looked for.
type SearchOptions struct {
	// Start is the rate to begin with, and Max one that is not passed.
	Start, Max float64
	// Precision is by how much, in parts of it, the rate found may be lower than one that
	// does not hold. Default 0.05.
	Precision float64
}

const (
	defaultPrecision = 0.05
	// maxHalvings of the first rate are tried for one that holds.
	maxHalvings = 12
	// maxStretch is how many times as long as Duration a rate is measured at most.
	maxStretch = 10
)

// Search looks for the highest rate that holds: at which the share o.Share of all
// queries is answered within o.Bound, both of which must be set. It doubles the rate
// while it holds, and then halves the gap, in proportion, between the highest rate that
// held and the lowest that did not. highest is the point of the highest that held, nil if
// none did: its Rate is what was asked for, its ArrivalRate what it bore. As all rates have
// the same Seed, their arrivals are by chance all a little more, or less, than was asked for.
//
// Whether a rate near the limit holds is a matter of luck in a short run: Duration
// should have at least some thousand queries. A rate is measured once, for longer than
// Duration if in that time fewer queries came than show a share at all: 100 for 99 %. A rate
// below the first that would need more than 10 times Duration for that is not tried.
func Search(ctx context.Context, target Target, o Options, s SearchOptions, each func(Point)) (highest *Point, points []Point, err error) {
	if s.Precision == 0 {
		s.Precision = defaultPrecision
	}
	if o.Bound <= 0 || !(s.Start > 0) || s.Max < s.Start || !(s.Precision > 0) {
		return nil, nil, fmt.Errorf("load: search from a rate of %g to %g within %v to %g", s.Start, s.Max, o.Bound, s.Precision)
	}
	o.CutShort = true
	shortest, needed := o.Duration, 1.0 // time, and queries
	if share := cmp.Or(o.Share, defaultShare); share < 1 {
		needed = 1 / (1 - share)
	}
	long := func(rate float64) time.Duration { return time.Duration(needed / rate * float64(time.Second)) }
	measure := func(rate float64) (holds bool, err error) {
		o.Duration = max(shortest, min(long(rate), maxStretch*shortest))
		got, err := Sweep(ctx, target, o, []float64{rate}, each)
		points = append(points, got...)
		if err != nil {
			return false, err
		}
		return got[0].Holds, nil
	}
	low, high := 0.0, math.Inf(1)
	for rate, halvings := s.Start, 0; ; {
		holds, err := measure(rate)
		if err != nil {
			return highest, points, err
		}
		if holds {
			held := points[len(points)-1]
			low, highest = rate, &held
		} else {
			high = rate
		}
		switch {
		case low >= s.Max, low > 0 && high <= low*(1+s.Precision), low == 0 && (halvings == maxHalvings || long(rate/2) > maxStretch*shortest):
			return highest, points, nil
		case low == 0:
			halvings++
			rate /= 2
		case math.IsInf(high, 1):
			rate = min(2*rate, s.Max)
		default:
			rate = math.Sqrt(low * high)
		}
	}
}

// errNoTarget says that nothing answers at all.
var errNoTarget = errors.New("no query was answered")

// Probe asks every so often a query, of which there are so many, until one is answered or
// turned away: a server that is starting is waited for, up to limit. A query that is refused is
// not asked again, but the next one is: whether one of the queries is faulty is no matter of the
// load's beginning. If all are, or what is refused is no fault of a query, Probe ends at once. The
// error says what came of it.
func Probe(ctx context.Context, target Target, queries int, limit time.Duration) error {
	inTime, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var refused, failed error // the first and the last
	for query := 0; query < queries; {
		o, err := target.Do(inTime, query)
		if o == Answered || o.Shed() {
			return nil
		}
		var refusal *Refusal
		switch {
		case errors.As(err, &refusal) && !refusal.OfQuery:
			return fmt.Errorf("%w: %w", errNoTarget, err)
		case refusal != nil:
			refused = cmp.Or(refused, err)
			query++
			continue
		case inTime.Err() == nil: // else it is the end of the time that is the error
			failed = err
		}
		select {
		case <-inTime.Done():
			return noAnswer(ctx, limit, cmp.Or(failed, refused))
		case <-time.After(lookAround):
		}
	}
	return fmt.Errorf("%w: %w", errNoTarget, refused)
}

// noAnswer is the error where limit has passed, or ctx has ended before.
func noAnswer(ctx context.Context, limit time.Duration, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", errNoTarget, ctx.Err())
	case err == nil:
		return fmt.Errorf("%w within %v", errNoTarget, limit)
	}
	return fmt.Errorf("%w: %w", errNoTarget, err)
}
