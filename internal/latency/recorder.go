package latency

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"
)

// Recorder keeps every query's time in every run.
type Recorder struct {
	samples    []time.Duration // [numQueries][numRuns], row-major
	numQueries int
	numRuns    int
}

// NewRecorder has numQueries*numRuns zero samples.
func NewRecorder(numQueries, numRuns int) *Recorder {
	return &Recorder{
		samples:    make([]time.Duration, numQueries*numRuns),
		numQueries: numQueries,
		numRuns:    numRuns,
	}
}

// Record stores a query's time in a run, both from 0, without allocating. It panics out of
// range.
func (r *Recorder) Record(query, run int, d time.Duration) {
	r.row(query)[run] = d
}

func (r *Recorder) row(query int) []time.Duration {
	start := query * r.numRuns
	return r.samples[start : start+r.numRuns : start+r.numRuns]
}

// AllRuns summarises every sample, as users experience them, disturbances included.
func (r *Recorder) AllRuns() Summary { return Summarize(r.samples) }

// MinPerQuery summarises each query's least time: the cost without disturbances.
func (r *Recorder) MinPerQuery() Summary { return Summarize(r.Minima()) }

// Minima returns each query's least time.
func (r *Recorder) Minima() []time.Duration {
	minima := make([]time.Duration, 0, r.numQueries)
	if r.numRuns == 0 {
		return minima
	}
	for query := range r.numQueries {
		minima = append(minima, slices.Min(r.row(query)))
	}
	return minima
}

// WriteTSV writes a header, then each query's id, least time and all times, in microseconds.
// ids are in query order.
func (r *Recorder) WriteTSV(w io.Writer, ids []string) error {
	if len(ids) != r.numQueries {
		return fmt.Errorf("write latencies: %d ids for %d queries", len(ids), r.numQueries)
	}
	b := bufio.NewWriter(w)
	// A bufio.Writer keeps its first error for Flush.
	_, _ = b.WriteString("query\tmin_us")
	for run := range r.numRuns {
		_, _ = fmt.Fprintf(b, "\trun%d_us", run+1)
	}
	_, _ = b.WriteString("\n")
	for query, least := range r.Minima() {
		_, _ = fmt.Fprintf(b, "%s\t%.3f", ids[query], micros(least))
		for _, d := range r.row(query) {
			_, _ = fmt.Fprintf(b, "\t%.3f", micros(d))
		}
		_, _ = b.WriteString("\n")
	}
	if err := b.Flush(); err != nil {
		return fmt.Errorf("write latencies: %w", err)
	}
	return nil
}
