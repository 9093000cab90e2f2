package simulation

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Arrival is the arrival of a query of the log.
type Arrival struct {
	At    time.Duration
	Query int // in Options.Queries
}

// Poisson returns n arrivals of a Poisson process with a rate in queries per
// second, of queries drawn uniformly from numQueries.
func Poisson(rate float64, n, numQueries int, seed uint64) []Arrival {
	random := rand.New(rand.NewPCG(seed, 0x706f6973736f6e))
	arrivals := make([]Arrival, n)
	at := 0.0
	for i := range arrivals {
		at += random.ExpFloat64() / rate
		arrivals[i] = Arrival{At: time.Duration(at * float64(time.Second)), Query: random.IntN(numQueries)}
	}
	return arrivals
}

// longest is the maximum span of a recorded log, in seconds.
const longest = 1e9

// ReadArrivals reads a recorded log. Each line is an arrival: its time in
// seconds, tab, the id of its query; without ids, queries are taken in order.
// Times are relative to the first and do not decrease. The error wraps
// base.ErrBadInput and contains the line number.
func ReadArrivals(r io.Reader, queries []Query) ([]Arrival, error) {
	byID := make(map[string]int, len(queries))
	for i := range queries {
		byID[queries[i].ID] = i
	}
	var arrivals []Arrival
	first := 0.0
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimRight(lines.Text(), "\r")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		seconds, id, named := strings.Cut(line, "\t")
		at, err := strconv.ParseFloat(seconds, 64)
		if len(arrivals) == 0 {
			first = at
		}
		if err != nil || !(math.Abs(at-first) < longest) {
			return nil, fmt.Errorf("%w: line %d: %q is not a time in seconds", base.ErrBadInput, number, seconds)
		}
		a := Arrival{At: time.Duration((at - first) * float64(time.Second)), Query: len(arrivals) % len(queries)}
		if named {
			q, ok := byID[id]
			if !ok {
				return nil, fmt.Errorf("%w: line %d: query %q has no costs", base.ErrBadInput, number, id)
			}
			a.Query = q
		}
		if len(arrivals) > 0 && a.At < arrivals[len(arrivals)-1].At {
			return nil, fmt.Errorf("%w: line %d: earlier than the previous line", base.ErrBadInput, number)
		}
		arrivals = append(arrivals, a)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read arrivals: %w", err)
	}
	if len(arrivals) == 0 {
		return nil, fmt.Errorf("%w: no arrivals", base.ErrBadInput)
	}
	return arrivals, nil
}

// Rate returns the mean arrival rate in queries per second: the number of intervals
// divided by their sum, or 0 if all arrive at once.
func Rate(arrivals []Arrival) float64 {
	if len(arrivals) == 0 || arrivals[len(arrivals)-1].At == arrivals[0].At {
		return 0
	}
	return float64(len(arrivals)-1) / (arrivals[len(arrivals)-1].At - arrivals[0].At).Seconds()
}

// Scale multiplies all times to get another mean rate. The present rate must
// not be 0.
func Scale(arrivals []Arrival, rate float64) []Arrival {
	factor := Rate(arrivals) / rate
	scaled := make([]Arrival, len(arrivals))
	for i, a := range arrivals {
		scaled[i] = Arrival{At: time.Duration(float64(a.At) * factor), Query: a.Query}
	}
	return scaled
}
