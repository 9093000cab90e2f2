package load

import (
	"fmt"
	"math/rand/v2"
	"time"
)

// Arrivals is how the times between queries are distributed.
type Arrivals string

const (
	// Poisson arrivals are those of many independent users: times between them are
	// exponential.
	Poisson Arrivals = "poisson"
	// Constant arrivals are all at the same distance.
	Constant Arrivals = "constant"
)

// ParseArrivals returns the Arrivals of a name.
func ParseArrivals(name string) (Arrivals, error) {
	if a := Arrivals(name); a == Poisson || a == Constant {
		return a, nil
	}
	return "", fmt.Errorf("arrivals %q are neither %q nor %q", name, Poisson, Constant)
}

// clock yields the times of arrivals, from the beginning of a run.
type clock struct {
	arrivals Arrivals
	distance float64 // mean, in nanoseconds
	random   *rand.Rand
	last     float64
}

func newClock(a Arrivals, rate float64, seed uint64) *clock {
	return &clock{arrivals: a, distance: float64(time.Second) / rate, random: rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))}
}

// next returns the time of the next arrival. The sum is kept in a float64, which
// rounds a time of hours to nanoseconds, so that no error of rates adds up.
func (c *clock) next() time.Duration {
	if c.arrivals == Constant {
		c.last += c.distance
	} else {
		c.last += c.distance * c.random.ExpFloat64()
	}
	return time.Duration(c.last)
}
