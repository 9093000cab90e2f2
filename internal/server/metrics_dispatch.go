package server

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/footprint"
	"github.com/griffin-search/griffin/internal/sched"
)

// dispatchCollector reads placements, errors of predictions and the scheduler, if
// there is one, once per scrape.
type dispatchCollector struct {
	stats func() griffin.DispatchStats
}

var (
	stepsDesc      = prometheus.NewDesc("griffin_steps_total", "Steps of queries, by the processor that ran them; a whole OR or AND is one.", []string{"processor"}, nil)
	migrationsDesc = prometheus.NewDesc("griffin_migrations_total", "Changes of processor between two steps of a query.", nil, nil)
	sharedDesc     = prometheus.NewDesc("griffin_shared_total", "Parts of queries that several processors searched.", nil, nil)
	helpersDesc    = prometheus.NewDesc("griffin_helpers_total", "Processors beyond the first that searched a part of a query.", nil, nil)
	restartedDesc  = prometheus.NewDesc("griffin_restarted_total", "Steps that overran on the CPU and restarted on a GPU.", nil, nil)
	bugsDesc       = prometheus.NewDesc("griffin_bugs_total", "Panics of work that no query waits for; the log has their stacks.", nil, nil)
	policyDesc     = prometheus.NewDesc("griffin_policy_info", "Always 1; the label is the policy that chooses processors.", []string{"policy"}, nil)

	predictErrDesc  = prometheus.NewDesc("griffin_prediction_relative_error", "|predicted - taken| / taken of the time of work, by kind of work and lower bound of the predicted time.", []string{"kind", "from"}, nil)
	predictBiasDesc = prometheus.NewDesc("griffin_prediction_relative_bias", "Mean of (predicted - taken) / taken since the start.", []string{"kind", "from"}, nil)
	correctionDesc  = prometheus.NewDesc("griffin_prediction_correction", "Current factor that corrects predictions, learned from earlier errors.", []string{"kind", "from"}, nil)

	queueTimeDesc   = prometheus.NewDesc("griffin_queue_seconds", "Time that queries waited for a processor.", []string{"processor"}, nil)
	queuedDesc      = prometheus.NewDesc("griffin_queued_queries", "Queries that wait for a processor (any: for either).", []string{"processor"}, nil)
	runningDesc     = prometheus.NewDesc("griffin_busy_servers", "CPUs, or lanes of GPUs, that run queries.", []string{"processor"}, nil)
	serversDesc     = prometheus.NewDesc("griffin_servers", "CPUs, or lanes of GPUs, that may run queries.", []string{"processor"}, nil)
	waitDesc        = prometheus.NewDesc("griffin_expected_wait_seconds", "Predicted waiting time of a new query.", []string{"processor"}, nil)
	busyDesc        = prometheus.NewDesc("griffin_busy_seconds_total", "Time that CPUs, or lanes of GPUs, ran queries.", []string{"processor"}, nil)
	slowdownDesc    = prometheus.NewDesc("griffin_slowdown", "Moving mean of measured over predicted time of running queries.", []string{"processor"}, nil)
	launchesDesc    = prometheus.NewDesc("griffin_runs_total", "Runs of single queries and of batches.", []string{"processor"}, nil)
	batchesDesc     = prometheus.NewDesc("griffin_batches_total", "Runs of more than one query.", []string{"processor"}, nil)
	jobsDesc        = prometheus.NewDesc("griffin_scheduled_queries_total", "Queries that got a processor.", []string{"processor"}, nil)
	shedDesc        = prometheus.NewDesc("griffin_shed_total", "Queries that the scheduler rejected or dropped before they ran, by reason.", []string{"reason"}, nil)
	stolenDesc      = prometheus.NewDesc("griffin_stolen_total", "Queries that ran on another processor than first chosen.", nil, nil)
	failedOverDesc  = prometheus.NewDesc("griffin_failed_over_total", "Queries that ran on another processor after theirs failed.", nil, nil)
	cancelledDesc   = prometheus.NewDesc("griffin_cancelled_total", "Queries that were cancelled while they waited.", nil, nil)
	shedReasonNames = map[sched.Reason]string{sched.QueueFull: "queue_full", sched.TooLate: "too_late", sched.Expired: "expired"}
)

func (dispatchCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range slices.Concat(engineDescs, []*prometheus.Desc{
		stepsDesc, migrationsDesc, restartedDesc, sharedDesc, helpersDesc, bugsDesc, policyDesc, predictErrDesc, predictBiasDesc, correctionDesc, queueTimeDesc, queuedDesc, runningDesc, serversDesc,
		waitDesc, busyDesc, slowdownDesc, launchesDesc, batchesDesc, jobsDesc, shedDesc, stolenDesc, failedOverDesc, cancelledDesc,
	}) {
		ch <- d
	}
}

type sender func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string)

func sendTo(ch chan<- prometheus.Metric) sender {
	return func(d *prometheus.Desc, kind prometheus.ValueType, v float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, v, labels...)
	}
}

func (c dispatchCollector) Collect(ch chan<- prometheus.Metric) {
	if c.stats == nil {
		return
	}
	s, send := c.stats(), sendTo(ch)
	send(stepsDesc, prometheus.CounterValue, float64(s.CPUSteps), "cpu")
	send(stepsDesc, prometheus.CounterValue, float64(s.GPUSteps), "gpu")
	send(migrationsDesc, prometheus.CounterValue, float64(s.Migrations))
	send(restartedDesc, prometheus.CounterValue, float64(s.Restarted))
	send(sharedDesc, prometheus.CounterValue, float64(s.Shared))
	send(helpersDesc, prometheus.CounterValue, float64(s.Helpers))
	send(bugsDesc, prometheus.CounterValue, float64(s.Bugs))
	collectEngine(send, s.Engine)
	if s.Engine == nil {
		send(policyDesc, prometheus.GaugeValue, 1, string(s.Policy))
	}
	for i := range s.Errors {
		e := &s.Errors[i]
		kind, from := e.Kind, e.From.String()
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

func collectPlace(ch chan<- prometheus.Metric, p *griffin.PlaceStats, name string) {
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

type resultCollector struct {
	stats func() (stats griffin.ResultCacheStats, used bool)
}

var (
	resultHitsDesc    = prometheus.NewDesc("griffin_result_cache_hits_total", "Searches answered from the result cache.", nil, nil)
	resultWaitsDesc   = prometheus.NewDesc("griffin_result_cache_waits_total", "Searches that waited for the answer of an equal search.", nil, nil)
	resultMissesDesc  = prometheus.NewDesc("griffin_result_cache_misses_total", "Searches that were not in the result cache and ran.", nil, nil)
	resultEvictDesc   = prometheus.NewDesc("griffin_result_cache_evictions_total", "Answers evicted from the result cache.", nil, nil)
	resultInvalidDesc = prometheus.NewDesc("griffin_result_cache_invalidations_total", "Answers dropped because of a new commit.", nil, nil)
	resultEntriesDesc = prometheus.NewDesc("griffin_result_cache_entries", "Answers in the result cache.", nil, nil)
	resultBytesDesc   = prometheus.NewDesc("griffin_result_cache_bytes", "Size of the result cache.", nil, nil)
	resultLimitDesc   = prometheus.NewDesc("griffin_result_cache_limit_bytes", "Maximum size of the result cache.", nil, nil)
)

func (resultCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		resultHitsDesc, resultWaitsDesc, resultMissesDesc, resultEvictDesc, resultInvalidDesc, resultEntriesDesc, resultBytesDesc, resultLimitDesc,
	} {
		ch <- d
	}
}

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

// processCollector reads the anonymous memory of the process;
// process_resident_memory_bytes includes the pages of the mapped index.
type processCollector struct{}

var anonymousDesc = prometheus.NewDesc("griffin_process_anonymous_bytes", "Anonymous memory of the process: without mapped files.", nil, nil)

func (processCollector) Describe(ch chan<- *prometheus.Desc) { ch <- anonymousDesc }

func (processCollector) Collect(ch chan<- prometheus.Metric) {
	if n, ok := footprint.AnonymousBytes(); ok {
		ch <- prometheus.MustNewConstMetric(anonymousDesc, prometheus.GaugeValue, float64(n))
	}
}
