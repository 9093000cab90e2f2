package load

import (
	"context"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// BenchmarkGenerator measures the processor time of the load generator for a query that is answered at once.
func BenchmarkGenerator(b *testing.B) {
	atOnce := targetFunc(func(context.Context, int) (Outcome, error) { return Answered, nil })
	const rate = 80_000
	began := processorTime(b)
	p, err := Run(b.Context(), atOnce, Options{Queries: 1000, Rate: rate, Duration: time.Duration(float64(b.N) / rate * float64(time.Second))})
	if err != nil || p.Answered != p.Sent {
		b.Fatalf("%d of %d queries answered: %v", p.Answered, p.Sent, err)
	}
	b.ReportMetric(float64(processorTime(b)-began)/float64(max(p.Sent, 1)), "cpu-ns/query")
	b.ReportMetric(float64(p.Lag.P50)/1e3, "lag-p50-µs")
}

func processorTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
