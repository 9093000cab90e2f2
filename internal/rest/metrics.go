package rest

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
)

// metrics have no label that comes from a client.
type metrics struct {
	dir       *Directory
	writes    *prometheus.CounterVec // outcome
	bytes     prometheus.Counter
	refreshes prometheus.Counter
	errors    *prometheus.CounterVec // type
}

var (
	indexesDesc  = prometheus.NewDesc("griffin_directory_indexes", "Indexes of the folder.", nil, nil)
	unusableDesc = prometheus.NewDesc("griffin_directory_unusable_indexes", "Indexes of the folder that could not be opened.", nil, nil)
)

func newMetrics(d *Directory) *metrics {
	m := &metrics{
		dir: d,
		writes: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "griffin_writes_total", Help: "Writes of documents by outcome.",
		}, []string{"outcome"}),
		bytes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "griffin_written_bytes_total", Help: "Size of the JSON of documents that were written.",
		}),
		refreshes: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "griffin_refreshes_total", Help: "Refreshes that requests asked for.",
		}),
		errors: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "griffin_api_errors_total", Help: "Requests and bulk operations that failed, by type.",
		}, []string{"type"}),
	}
	for _, o := range []griffin.WriteOutcome{griffin.WriteCreated, griffin.WriteUpdated, griffin.WriteDeleted, griffin.WriteNotFound} {
		m.writes.WithLabelValues(string(o))
	}
	return m
}

// Collectors are for the registry of the server.
func (h *Handler) Collectors() []prometheus.Collector {
	m := h.metrics
	return []prometheus.Collector{m.writes, m.bytes, m.refreshes, m.errors, directoryCollector{m.dir}}
}

func (m *metrics) wrote(r *griffin.WriteResult, w *griffin.Write) {
	m.writes.WithLabelValues(string(r.Outcome)).Inc()
	if n := len(w.Document.Fields); n > 0 {
		m.bytes.Add(float64(len(w.Document.Fields[n-1].Value))) // the source
	}
}

func (m *metrics) failed(e *Error) { m.errors.WithLabelValues(e.Type).Inc() }

type directoryCollector struct{ dir *Directory }

func (c directoryCollector) Describe(ch chan<- *prometheus.Desc) {
	ch <- indexesDesc
	ch <- unusableDesc
}

func (c directoryCollector) Collect(ch chan<- prometheus.Metric) {
	c.dir.mu.RLock()
	n, unusable := len(c.dir.indexes), 0
	for _, x := range c.dir.indexes {
		if x.err != nil {
			unusable++
		}
	}
	c.dir.mu.RUnlock()
	ch <- prometheus.MustNewConstMetric(indexesDesc, prometheus.GaugeValue, float64(n))
	ch <- prometheus.MustNewConstMetric(unusableDesc, prometheus.GaugeValue, float64(unusable))
}

// Stats sums the statistics of all indexes: documents, sizes and segments.
func (d *Directory) Stats() (griffin.Stats, error) {
	var sum griffin.Stats
	for _, name := range d.Names() {
		x, apiErr := d.find(name)
		if apiErr != nil {
			continue // deleted, or counted as unusable
		}
		s, err := x.ix.Stats()
		if err != nil {
			if d.gone(x) {
				continue
			}
			return sum, err
		}
		sum.NumDocs += s.NumDocs
		sum.DeletedDocs += s.DeletedDocs
		sum.Segments = append(sum.Segments, s.Segments...)
		sum.SizeBytes += s.SizeBytes
		sum.Generation += s.Generation
	}
	return sum, nil
}
