package server

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/griffin-search/griffin"
)

// metrics have their own registry per handler. No label comes from a client.
type metrics struct {
	registry *prometheus.Registry
	requests *prometheus.CounterVec   // route, code
	searches *prometheus.CounterVec   // mode, result
	latency  *prometheus.HistogramVec // mode
	inFlight prometheus.Gauge
	panics   prometheus.Counter
	follow   followMetrics
}

// admissionCollector is by the kind of request.
type admissionCollector map[string]*admission

var (
	admittedDesc = prometheus.NewDesc("griffin_admitted_requests", "Searches, multi-searches and requests for documents that run or wait.", []string{"of"}, nil)
	costDesc     = prometheus.NewDesc("griffin_request_processor_seconds", "Estimated processor time of one request.", []string{"of"}, nil)
	spentDesc    = prometheus.NewDesc("griffin_request_expected_seconds", "Estimated time of a new request, including the requests before it; above --max-wait it is rejected.", []string{"of"}, nil)
)

func (c admissionCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- admittedDesc
	ch <- costDesc
	ch <- spentDesc
}

func (c admissionCollector) Collect(ch chan<- prometheus.Metric) {
	for of, a := range c {
		a.mu.Lock()
		running, cost, spent := a.running, a.cost, a.spent(a.running+1)
		a.mu.Unlock()
		ch <- prometheus.MustNewConstMetric(admittedDesc, prometheus.GaugeValue, float64(running), of)
		ch <- prometheus.MustNewConstMetric(costDesc, prometheus.GaugeValue, cost, of)
		ch <- prometheus.MustNewConstMetric(spentDesc, prometheus.GaugeValue, spent.Seconds(), of)
	}
}

// From 10 µs to 100 s, above MaxTimeout, three in each decade.
var latencyBuckets = []float64{
	10e-6, 20e-6, 50e-6, 100e-6, 200e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 20e-3, 50e-3, .1, .2, .5, 1, 2, 5, 10, 20, 50, 100,
}

func newMetrics(b backend) *metrics {
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "griffin_http_requests_total", Help: "HTTP requests answered, by route and status code.",
		}, []string{"route", "code"}),
		searches: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "griffin_searches_total", Help: "Searches by mode and result: ok, or the code of the error or rejection.",
		}, []string{"mode", "result"}),
		latency: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "griffin_search_duration_seconds", Help: "Time of successful searches, snippets included, by mode.",
			Buckets: latencyBuckets,
		}, []string{"mode"}),
		inFlight: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "griffin_http_requests_in_flight", Help: "HTTP requests being answered.",
		}),
		panics: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "griffin_http_panics_total", Help: "HTTP requests that panicked and were answered with 500.",
		}),
	}
	m.follow = newFollowMetrics(m.registry)
	build := prometheus.NewGauge(prometheus.GaugeOpts{
		Name: "griffin_build_info", Help: "Always 1; the labels identify the build.",
		ConstLabels: prometheus.Labels{"version": griffin.Version, "goversion": runtime.Version()},
	})
	build.Set(1)
	for _, mode := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd, griffin.ModeAndOr, griffin.ModeSaat} { // rates need a first value of 0
		m.searches.WithLabelValues(mode.String(), "ok")
		m.latency.WithLabelValues(mode.String())
	}
	m.registry.MustRegister(
		m.requests, m.searches, m.latency, m.inFlight, m.panics, build,
		indexCollector{b.stats},
		gpuCollector{b.gpu},
		dispatchCollector{b.dispatch},
		resultCollector{b.results},
		processCollector{},
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	)
	return m
}

func (m *metrics) handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// indexCollector reads the index once per scrape.
type indexCollector struct {
	stats func() (griffin.Stats, error)
}

var (
	docsDesc       = prometheus.NewDesc("griffin_index_documents", "Documents that a search can find.", nil, nil)
	deletedDesc    = prometheus.NewDesc("griffin_index_deleted_documents", "Deleted documents that are not yet removed by a merge.", nil, nil)
	segmentsDesc   = prometheus.NewDesc("griffin_index_segments", "Segments of the index.", nil, nil)
	sizeDesc       = prometheus.NewDesc("griffin_index_size_bytes", "Size of the index's files.", nil, nil)
	generationDesc = prometheus.NewDesc("griffin_index_generation", "Number of the index's last commit.", nil, nil)
)

func (c indexCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{docsDesc, deletedDesc, segmentsDesc, sizeDesc, generationDesc} {
		ch <- d
	}
}

// An index without readable statistics fails the scrape.
func (c indexCollector) Collect(ch chan<- prometheus.Metric) {
	s, err := c.stats()
	if err != nil {
		ch <- prometheus.NewInvalidMetric(docsDesc, err)
		return
	}
	for d, v := range map[*prometheus.Desc]float64{
		docsDesc: float64(s.NumDocs), deletedDesc: float64(s.DeletedDocs), segmentsDesc: float64(len(s.Segments)),
		sizeDesc: float64(s.SizeBytes), generationDesc: float64(s.Generation),
	} {
		ch <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v)
	}
}
