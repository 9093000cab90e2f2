// Package latency computes a benchmark's mean, percentiles and maximum, per query and over all
// runs.
//
// A [Recorder] keeps every sample in a table, a row per query and a column per run; percentiles
// are exact, by nearest rank (see [Quantile]). A [Histogram] is for long measurements: fixed
// memory, percentiles at most 1/256 too large. A server's metrics use Prometheus histograms.
//
// A [Recorder] allocates only when created, so recording does not disturb the measurement;
// goroutines may record into different cells concurrently.
package latency
