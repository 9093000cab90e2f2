package server

import (
	"fmt"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/footprint"
	"github.com/griffin-search/griffin/internal/sched"
)

// dispatchCollector reads, once for each scrape, where the steps of queries ran, how
// well that was predicted, and how the scheduler stands. An index without a scheduler has
// none of its metrics.
type dispatchCollector struct {
	stats func() griffin.DispatchStats
}

var (
	stepsDesc      = prometheus.NewDesc("griffin_steps_total", "Steps of queries, by the processor that ran them; a whole OR or AND is one.", []string{"processor"}, nil)
	migrationsDesc = prometheus.NewDesc("griffin_migrations_total", "Changes of processor between two steps of a query.", nil, nil)
	givenUpDesc    = prometheus.NewDesc("griffin_given_up_total", "Steps that a CPU gave up since a GPU would have ended long before.", nil, nil)
	bugsDesc       = prometheus.NewDesc("griffin_bugs_total", "Panics of work that no query waits for; the log has their stacks.", nil, nil)
	policyDesc     = prometheus.NewDesc("griffin_policy_info", "Always 1; the label is the policy that chooses processors.", []string{"policy"}, nil)

	predictErrDesc  = prometheus.NewDesc("griffin_prediction_relative_error", "|predicted - taken| / taken of the time of work, by kind of work and the time predicted, from so much on.", []string{"kind", "from"}, nil)
	predictBiasDesc = prometheus.NewDesc("griffin_prediction_relative_bias", "Mean of (predicted - taken) / taken since the start.", []string{"kind", "from"}, nil)
	correctionDesc  = prometheus.NewDesc("griffin_prediction_correction", "What predictions are multiplied with now, learnt from those before.", []string{"kind", "from"}, nil)

	queueTimeDesc   = prometheus.NewDesc("griffin_queue_seconds", "Time that queries waited for a processor.", []string{"processor"}, nil)
	queuedDesc      = prometheus.NewDesc("griffin_queued_queries", "Queries that wait for a processor; for either: any.", []string{"processor"}, nil)
	runningDesc     = prometheus.NewDesc("griffin_busy_servers", "CPUs, or lanes of GPUs, that run queries.", []string{"processor"}, nil)
	serversDesc     = prometheus.NewDesc("griffin_servers", "CPUs, or lanes of GPUs, that may run queries.", []string{"processor"}, nil)
	waitDesc        = prometheus.NewDesc("griffin_expected_wait_seconds", "How long a query that comes now is predicted to wait.", []string{"processor"}, nil)
	busyDesc        = prometheus.NewDesc("griffin_busy_seconds_total", "Time that CPUs, or lanes of GPUs, ran queries.", []string{"processor"}, nil)
	slowdownDesc    = prometheus.NewDesc("griffin_slowdown", "Moving mean of measured over predicted time of what runs.", []string{"processor"}, nil)
	launchesDesc    = prometheus.NewDesc("griffin_runs_total", "Queries or batches of them that ran.", []string{"processor"}, nil)
	batchesDesc     = prometheus.NewDesc("griffin_batches_total", "Of the runs, those of more than one query.", []string{"processor"}, nil)
	jobsDesc        = prometheus.NewDesc("griffin_scheduled_queries_total", "Queries that were given a processor.", []string{"processor"}, nil)
	shedDesc        = prometheus.NewDesc("griffin_shed_total", "Queries that the scheduler refused or gave up before they ran, by reason.", []string{"reason"}, nil)
	stolenDesc      = prometheus.NewDesc("griffin_stolen_total", "Queries that ran on another processor than was chosen at first.", nil, nil)
	failedOverDesc  = prometheus.NewDesc("griffin_failed_over_total", "Queries whose processor failed, and that ran on another.", nil, nil)
	cancelledDesc   = prometheus.NewDesc("griffin_cancelled_total", "Queries that were cancelled while they waited.", nil, nil)
	shedReasonNames = map[sched.Reason]string{sched.QueueFull: "queue_full", sched.TooLate: "too_late", sched.Expired: "expired"}
)

// Describe implements prometheus.Collector.
func (dispatchCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		stepsDesc, migrationsDesc, givenUpDesc, bugsDesc, policyDesc, predictErrDesc, predictBiasDesc, correctionDesc, queueTimeDesc, queuedDesc, runningDesc, serversDesc,
		waitDesc, busyDesc, slowdownDesc, launchesDesc, batchesDesc, jobsDesc, shedDesc, stolenDesc, failedOverDesc, cancelledDesc,
	} {
		ch <- d
	}
}

// sender sends one sample.
type sender func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string)

func sendTo(ch chan<- prometheus.Metric) sender {
	return func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
}

// Collect implements prometheus.Collector.
func (c dispatchCollector) Collect(ch chan<- prometheus.Metric) {
	if c.stats == nil {
		return
	}
	s, send := c.stats(), sendTo(ch)
	send(stepsDesc, prometheus.CounterValue, float64(s.CPUSteps), "cpu")
	send(stepsDesc, prometheus.CounterValue, float64(s.GPUSteps), "gpu")
	send(migrationsDesc, prometheus.CounterValue, float64(s.Migrations))
	send(givenUpDesc, prometheus.CounterValue, float64(s.GivenUp))
	send(bugsDesc, prometheus.CounterValue, float64(s.Bugs))
	send(policyDesc, prometheus.GaugeValue, 1, string(s.Policy))
	for i := range s.Errors {
		e := &s.Errors[i]
		kind, from := fmt.Sprint(e.Kind), e.From.String()
		ch <- prometheus.MustNewConstSummary(predictErrDesc, uint64(e.Count), e.Mean*float64(e.Count), nil, kind, from)
		send(predictBiasDesc, prometheus.GaugeValue, e.Bias, kind, from)
		send(correctionDesc, prometheus.GaugeValue, e.Correction, kind, from)
	}
	if s.Pool == nil {
		return
	}
	for reason, n := range s.Pool.Shed {
		send(shedDesc, prometheus.CounterValue, float64(n), shedReasonNames[sched.Reason(reason)])
	}
	send(stolenDesc, prometheus.CounterValue, float64(s.Pool.Stolen))
	send(failedOverDesc, prometheus.CounterValue, float64(s.Pool.Failed))
	send(cancelledDesc, prometheus.CounterValue, float64(s.Pool.Cancelled))
	send(queuedDesc, prometheus.GaugeValue, float64(s.Pool.Open), "any")
	for place := range s.Pool.Places {
		if p := &s.Pool.Places[place]; p.Servers > 0 {
			collectPlace(ch, p, sched.Place(place).String())
		}
	}
}

// collectPlace sends the samples of one processor.
func collectPlace(ch chan<- prometheus.Metric, p *sched.PlaceStats, name string) {
	send := sendTo(ch)
	send(queuedDesc, prometheus.GaugeValue, float64(p.Queued), name)
	send(runningDesc, prometheus.GaugeValue, float64(p.Running), name)
	send(serversDesc, prometheus.GaugeValue, float64(p.Servers), name)
	if p.Wait != sched.Never {
		send(waitDesc, prometheus.GaugeValue, p.Wait.Seconds(), name)
	}
	send(busyDesc, prometheus.CounterValue, p.Busy.Seconds(), name)
	send(slowdownDesc, prometheus.GaugeValue, p.Slowdown, name)
	send(launchesDesc, prometheus.CounterValue, float64(p.Runs), name)
	send(batchesDesc, prometheus.CounterValue, float64(p.Batches), name)
	send(jobsDesc, prometheus.CounterValue, float64(p.Jobs), name)
	below, n := map[float64]uint64{}, uint64(0)
	for class, waits := range p.Waits {
		if n += uint64(waits); sched.WaitBound(class) != sched.Never {
			below[sched.WaitBound(class).Seconds()] = n
		}
	}
	ch <- prometheus.MustNewConstHistogram(queueTimeDesc, n, p.QueueTime.Seconds(), below, name)
}

// resultCollector reads the counts of the cache of answers, if there is one.
type resultCollector struct {
	stats func() (stats griffin.ResultCacheStats, used bool)
}

var (
	resultHitsDesc    = prometheus.NewDesc("griffin_result_cache_hits_total", "Searches whose answer was kept.", nil, nil)
	resultWaitsDesc   = prometheus.NewDesc("griffin_result_cache_waits_total", "Searches that waited for the answer of an equal one.", nil, nil)
	resultMissesDesc  = prometheus.NewDesc("griffin_result_cache_misses_total", "Searches that were run and whose answer may be kept.", nil, nil)
	resultEvictDesc   = prometheus.NewDesc("griffin_result_cache_evictions_total", "Answers that made room for others.", nil, nil)
	resultInvalidDesc = prometheus.NewDesc("griffin_result_cache_invalidations_total", "Answers that a commit made worthless.", nil, nil)
	resultEntriesDesc = prometheus.NewDesc("griffin_result_cache_entries", "Answers that are kept.", nil, nil)
	resultBytesDesc   = prometheus.NewDesc("griffin_result_cache_bytes", "Bytes that they take.", nil, nil)
	resultLimitDesc   = prometheus.NewDesc("griffin_result_cache_limit_bytes", "Bytes that they may take.", nil, nil)
)

// Describe implements prometheus.Collector.
func (resultCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		resultHitsDesc, resultWaitsDesc, resultMissesDesc, resultEvictDesc, resultInvalidDesc, resultEntriesDesc, resultBytesDesc, resultLimitDesc,
	} {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c resultCollector) Collect(ch chan<- prometheus.Metric) {
	if c.stats == nil {
		return
	}
	s, used := c.stats()
	if !used {
		return
	}
	send := sendTo(ch)
	send(resultHitsDesc, prometheus.CounterValue, float64(s.Hits))
	send(resultWaitsDesc, prometheus.CounterValue, float64(s.Waits))
	send(resultMissesDesc, prometheus.CounterValue, float64(s.Misses))
	send(resultEvictDesc, prometheus.CounterValue, float64(s.Evictions))
	send(resultInvalidDesc, prometheus.CounterValue, float64(s.Invalidations))
	send(resultEntriesDesc, prometheus.GaugeValue, float64(s.Entries))
	send(resultBytesDesc, prometheus.GaugeValue, float64(s.SizeBytes))
	send(resultLimitDesc, prometheus.GaugeValue, float64(s.LimitBytes))
}

// processCollector reads what the process has of memory of its own; beside it,
// process_resident_memory_bytes has the pages of the mapped index, too.
type processCollector struct{}

var anonymousDesc = prometheus.NewDesc("griffin_process_anonymous_bytes", "Memory of the process that is no file's.", nil, nil)

// Describe implements prometheus.Collector.
func (processCollector) Describe(ch chan<- *prometheus.Desc) { ch <- anonymousDesc }

// Collect implements prometheus.Collector.
func (processCollector) Collect(ch chan<- prometheus.Metric) {
	if n, ok := footprint.AnonymousBytes(); ok {
		ch <- prometheus.MustNewConstMetric(anonymousDesc, prometheus.GaugeValue, float64(n))
	}
}
