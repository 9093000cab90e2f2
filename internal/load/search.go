package load

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strings"
	"time"
)

// Sweep measures at each rate, and calls each (if not nil) after it. If ctx
// ends it returns the results, with an interrupted point if it has counted
// queries, and ctx's error. A rate at which all queries failed is the last, and
// an error.
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

// SearchOptions configure Search.
type SearchOptions struct {
	// The first rate, and the limit.
	Start, Max float64
	// Maximum relative gap between the found rate and one that does not hold.
	// Default 0.05.
	Precision float64
}

const (
	defaultPrecision = 0.05
	// maxHalvings of the first rate to find one that holds.
	maxHalvings = 12
	// Maximum duration of a measurement, as a multiple of Duration.
	maxStretch = 10
)

// Search finds the highest rate that holds: at which the share o.Share of all
// queries is answered within o.Bound, both of which must be set. It doubles the
// rate while it holds, then bisects geometrically. highest is the point of the
// highest rate that held, nil if none did. All rates have the same Seed, so
// their random arrivals deviate from the requested rate in the same direction.
//
// Near the limit the result of a short run is random: Duration should cover at
// least some thousand queries. A rate is measured for longer than Duration if
// too few requests arrive for a share: 100 for 99 %. A rate below the first that
// would need more than 10 times Duration for that is not tried.
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
	needed *= float64(o.together())
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

var errNoTarget = errors.New("no query was answered")

// Probe sends queries at intervals until one is answered or rejected, up to
// limit, to wait for a starting server. After a refused query it sends the next
// one. If all are refused, or the refusal is not the query's fault, Probe ends
// at once.
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
		case inTime.Err() == nil && (failed == nil || !timedOut(err)): // otherwise the error is the end of the time
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

// timedOut returns whether the time for a connection has ended, which can be a moment before the context's.
func timedOut(err error) bool {
	var e net.Error
	return errors.As(err, &e) && e.Timeout()
}

// noAnswer is the error when limit has passed, or ctx has ended before.
func noAnswer(ctx context.Context, limit time.Duration, err error) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", errNoTarget, ctx.Err())
	case err == nil:
		return fmt.Errorf("%w within %v", errNoTarget, limit)
	}
	return fmt.Errorf("%w: %w", errNoTarget, err)
}
