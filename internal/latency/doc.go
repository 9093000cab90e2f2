// Package latency turns measured times into the figures of a benchmark: mean,
// percentiles and maximum, per query and over all runs.
//
// A [Recorder] keeps every sample, so its percentiles are exact, by nearest rank
// (see [Quantile]); nothing is interpolated or bucketed before. A [Histogram] is
// for measurements that go on for long: its memory is fixed, its percentiles at
// most 1/256 too large. Neither is for a server's metrics, which use Prometheus
// histograms.
//
// A [Recorder] holds a table of samples, one row a query and one column a run.
// It allocates when it is made and never after, so recording does not disturb
// what is measured. Goroutines may record into different cells at once.
package latency
