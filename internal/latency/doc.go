// Package latency computes the figures of a benchmark from measured times: mean,
// percentiles and maximum, per query and over all runs.
//
// A [Recorder] keeps every sample, so its percentiles are exact, by nearest rank (see
// [Quantile]), without interpolation or buckets. A [Histogram] is for long measurements:
// its memory is fixed, and its percentiles are at most 1/256 too large. Neither is for a
// server's metrics, which use Prometheus histograms.
//
// A [Recorder] holds a table of samples, one row per query and one column per run. It allocates
// only when it is created, so recording does not disturb the measurement. Goroutines may
// record into different cells concurrently.
package latency
