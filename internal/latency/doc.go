// Package latency turns measured times into the figures of a benchmark: mean,
// percentiles and maximum, per query and over all runs.
//
// Every sample is kept, so the percentiles are exact, by nearest rank (see
// [Quantile]); nothing is interpolated or bucketed before. It is not for a
// server's metrics, which run without end and use Prometheus histograms.
//
// A [Recorder] holds a table of samples, one row a query and one column a run.
// It allocates when it is made and never after, so recording does not disturb
// what is measured. Goroutines may record into different cells at once.
package latency
