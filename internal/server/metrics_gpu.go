package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
)

// gpuCollector reads the GPUs, if any, once per scrape.
type gpuCollector struct {
	stats func() (stats griffin.GPUStats, used bool)
}

var (
	gpuQueriesDesc   = prometheus.NewDesc("griffin_queries_total", "Queries answered, by processor (only with a GPU).", []string{"processor"}, nil)
	gpuHitsDesc      = prometheus.NewDesc("griffin_gpu_list_hits_total", "Posting lists that were in GPU memory when a query used them.", []string{"device"}, nil)
	gpuMissesDesc    = prometheus.NewDesc("griffin_gpu_list_misses_total", "Posting lists that had to be loaded into GPU memory.", []string{"device"}, nil)
	gpuStreamedDesc  = prometheus.NewDesc("griffin_gpu_lists_streamed_total", "Posting lists that were loaded and not kept.", []string{"device"}, nil)
	gpuEvictionsDesc = prometheus.NewDesc("griffin_gpu_list_evictions_total", "Posting lists evicted from GPU memory.", []string{"device"}, nil)
	gpuListsDesc     = prometheus.NewDesc("griffin_gpu_lists", "Posting lists in GPU memory.", []string{"device"}, nil)
	gpuBytesDesc     = prometheus.NewDesc("griffin_gpu_list_bytes", "Bytes of posting lists in GPU memory.", []string{"device"}, nil)
	gpuLimitDesc     = prometheus.NewDesc("griffin_gpu_list_limit_bytes", "Maximum bytes of posting lists in GPU memory.", []string{"device"}, nil)
	gpuUsedDesc      = prometheus.NewDesc("griffin_gpu_memory_used_bytes", "Bytes of GPU memory in use by all processes.", []string{"device"}, nil)
	gpuHostDesc      = prometheus.NewDesc("griffin_gpu_host_bytes", "Bytes of posting lists in page-locked host memory.", []string{"device"}, nil)
	gpuHostLimitDesc = prometheus.NewDesc("griffin_gpu_host_limit_bytes", "Maximum bytes of posting lists in page-locked host memory.", []string{"device"}, nil)
	gpuAskedDesc     = prometheus.NewDesc("griffin_gpu_lists_asked_total", "Posting lists that queries used, by their form at that time.", []string{"device", "form"}, nil)
	gpuPackedDesc    = prometheus.NewDesc("griffin_gpu_packed_queries_total", "Queries answered from compressed lists.", []string{"device"}, nil)
	gpuInPlaceDesc   = prometheus.NewDesc("griffin_gpu_in_place_bytes_total", "Bytes of posting lists that the GPU read from host memory.", []string{"device"}, nil)
	gpuUploadedDesc  = prometheus.NewDesc("griffin_gpu_uploaded_bytes_total", "Bytes of posting lists sent to the GPU.", []string{"device"}, nil)
	gpuErrorsDesc    = prometheus.NewDesc("griffin_gpu_errors_total", "Failed calls of the GPU driver; the CPU answered the queries.", []string{"device"}, nil)
	gpuLostDesc      = prometheus.NewDesc("griffin_gpu_lost", "1 if the GPU failed and is no longer used.", []string{"device"}, nil)
)

func (gpuCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		gpuQueriesDesc, gpuHitsDesc, gpuMissesDesc, gpuStreamedDesc, gpuEvictionsDesc, gpuListsDesc, gpuBytesDesc, gpuLimitDesc,
		gpuUsedDesc, gpuHostDesc, gpuHostLimitDesc, gpuAskedDesc, gpuPackedDesc, gpuInPlaceDesc, gpuUploadedDesc, gpuErrorsDesc, gpuLostDesc,
	} {
		ch <- d
	}
}

func (c gpuCollector) Collect(ch chan<- prometheus.Metric) {
	s, used := c.stats()
	if !used {
		return
	}
	send := func(d *prometheus.Desc, kind prometheus.ValueType, v int64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(d, kind, float64(v), labels...)
	}
	send(gpuQueriesDesc, prometheus.CounterValue, s.OnCPU, "cpu")
	send(gpuQueriesDesc, prometheus.CounterValue, s.OnGPU, "gpu")
	for i := range s.Devices {
		d := &s.Devices[i]
		lost := int64(0)
		if d.Lost != "" {
			lost = 1
		}
		send(gpuHitsDesc, prometheus.CounterValue, d.Hits, d.Name)
		send(gpuMissesDesc, prometheus.CounterValue, d.Misses, d.Name)
		send(gpuStreamedDesc, prometheus.CounterValue, d.Streamed, d.Name)
		send(gpuEvictionsDesc, prometheus.CounterValue, d.Evictions, d.Name)
		send(gpuListsDesc, prometheus.GaugeValue, d.Lists, d.Name)
		send(gpuBytesDesc, prometheus.GaugeValue, d.SizeBytes, d.Name)
		send(gpuLimitDesc, prometheus.GaugeValue, d.LimitBytes, d.Name)
		send(gpuUsedDesc, prometheus.GaugeValue, d.UsedBytes, d.Name)
		send(gpuHostDesc, prometheus.GaugeValue, d.Host.SizeBytes, d.Name)
		send(gpuHostLimitDesc, prometheus.GaugeValue, d.Host.LimitBytes, d.Name)
		send(gpuAskedDesc, prometheus.CounterValue, d.Asked.File, d.Name, "file")
		send(gpuAskedDesc, prometheus.CounterValue, d.Asked.Host, d.Name, "host")
		send(gpuAskedDesc, prometheus.CounterValue, d.Asked.Device, d.Name, "device")
		send(gpuAskedDesc, prometheus.CounterValue, d.Asked.Image, d.Name, "image")
		send(gpuPackedDesc, prometheus.CounterValue, d.Packed, d.Name)
		send(gpuInPlaceDesc, prometheus.CounterValue, d.BytesInPlace, d.Name)
		send(gpuUploadedDesc, prometheus.CounterValue, d.BytesUploaded, d.Name)
		send(gpuErrorsDesc, prometheus.CounterValue, d.Errors, d.Name)
		send(gpuLostDesc, prometheus.GaugeValue, lost, d.Name)
	}
}
