package load

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Arrivals is the distribution of the times between queries.
type Arrivals string

const (
	// Poisson arrivals: exponential intervals, as of many independent users.
	Poisson Arrivals = "poisson"
	// Constant arrivals have equal intervals.
	Constant Arrivals = "constant"
)

// ParseArrivals returns the Arrivals with a name.
func ParseArrivals(name string) (Arrivals, error) {
	if a := Arrivals(name); a == Poisson || a == Constant {
		return a, nil
	}
	return "", fmt.Errorf("arrivals %q are neither %q nor %q", name, Poisson, Constant)
}

// Arrival times, relative to the start of a run.
type clock struct {
	arrivals Arrivals
	distance float64 // mean interval, in nanoseconds
	random   *rand.Rand
	last     float64
}

func newClock(a Arrivals, rate float64, seed uint64) *clock {
	return &clock{arrivals: a, distance: float64(time.Second) / rate, random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// next sums as a float64, which represents hours in nanoseconds, so that
// rounding of intervals does not accumulate.
func (c *clock) next() time.Duration {
	if c.arrivals == Constant {
		c.last += c.distance
	} else {
		c.last += c.distance * c.random.ExpFloat64()
	}
	return time.Duration(c.last)
}
