package latency

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

// Summary holds a benchmark's figures; zero is of no samples.
type Summary struct {
	Count                         int
	Mean                          time.Duration // rounded to the nearest nanosecond
	P50, P90, P95, P99, P999, Max time.Duration
}

// Summarize takes samples in any order, unchanged. Cost: a copy and a sort.
func Summarize(samples []time.Duration) Summary {
	if len(samples) == 0 {
		return Summary{}
	}
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	sum := 0.0 // float64 holds sums under 2^53 ns, 104 days, exactly
	for _, d := range sorted {
		sum += float64(d)
	}
	return Summary{
		Count: len(sorted),
		Mean:  time.Duration(math.Round(sum / float64(len(sorted)))),
		P50:   Quantile(sorted, 50, 100),
		P90:   Quantile(sorted, 90, 100),
		P95:   Quantile(sorted, 95, 100),
		P99:   Quantile(sorted, 99, 100),
		P999:  Quantile(sorted, 999, 1000),
		Max:   sorted[len(sorted)-1],
	}
}

// Quantile returns the num/den quantile by nearest rank: the least sample such that at least
// num/den of all are not above it, of rank ceil(n·num/den), from 1 (rank 1 for the quantile 0).
// Integers make the rank exact.
//
// Of 15, 20, 35, 40, 50: the 30th percentile has rank ceil(1.5) = 2 and is 20, the 40th rank 2,
// too, the 50th rank 3 and is 35, the 100th is 50. With fewer than 1000 samples p99.9 is the
// maximum.
//
// sorted must increase. Without samples it is 0. Quantile panics unless 0 <= num <= den and den
// > 0.
func Quantile(sorted []time.Duration, num, den int) time.Duration {
	if num < 0 || den <= 0 || num > den {
		panic(fmt.Sprintf("latency: quantile %d/%d", num, den))
	}
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*num + den - 1) / den
	return sorted[max(rank, 1)-1]
}

// MarshalJSON returns {"mean": 12.3, "p50": …, "p90": …, "p95": …, "p99": …, "p999": …,
// "max": …} in microseconds, the latency_us of griffin bench.
func (s Summary) MarshalJSON() ([]byte, error) {
	return json.Marshal(summaryJSON{
		micros(s.Mean), micros(s.P50), micros(s.P90), micros(s.P95), micros(s.P99), micros(s.P999), micros(s.Max),
	})
}

// UnmarshalJSON reads MarshalJSON's output, without changing Count, which it lacks.
func (s *Summary) UnmarshalJSON(data []byte) error {
	var j summaryJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	s.Mean, s.P50, s.P90, s.P95 = fromMicros(j.Mean), fromMicros(j.P50), fromMicros(j.P90), fromMicros(j.P95)
	s.P99, s.P999, s.Max = fromMicros(j.P99), fromMicros(j.P999), fromMicros(j.Max)
	return nil
}

type summaryJSON struct {
	Mean float64 `json:"mean"`
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P95  float64 `json:"p95"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func fromMicros(us float64) time.Duration {
	return time.Duration(math.Round(us * float64(time.Microsecond)))
}
