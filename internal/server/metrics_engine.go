package server

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/engine"
)

var (
	engineDesc           = prometheus.NewDesc("griffin_engine_info", "Always 1; the label is the engine that answers queries, with its options.", []string{"engine"}, nil)
	engineQueriesDesc    = prometheus.NewDesc("griffin_engine_queries_total", "Queries that the engine answered, by the processor that completed them.", []string{"processor"}, nil)
	engineMigrationsDesc = prometheus.NewDesc("griffin_engine_migrations_total", "Changes of processor within queries of the engine.", nil, nil)
	engineBusDesc        = prometheus.NewDesc("griffin_engine_bus_bytes_total", "Bytes that the engine copied to its GPU.", nil, nil)
	engineFaultsDesc     = prometheus.NewDesc("griffin_engine_faults_total", "Queries that the CPU answered because the engine's GPU failed.", nil, nil)
	engineHitsDesc       = prometheus.NewDesc("griffin_engine_list_hits_total", "Lists that were in the engine's cache when used.", nil, nil)
	engineMissesDesc     = prometheus.NewDesc("griffin_engine_list_misses_total", "Lists that were not in the engine's cache when used.", nil, nil)
	engineStolenDesc     = prometheus.NewDesc("griffin_engine_stolen_total", "Queries that a processor of the engine took from the queue of another.", nil, nil)
	engineUnknownDesc    = prometheus.NewDesc("griffin_engine_unknown_documents", "Documents that a file of the engine's options names and that the index of the last query does not have.", nil, nil)

	engineDescs = []*prometheus.Desc{
		engineDesc, engineQueriesDesc, engineMigrationsDesc, engineBusDesc, engineFaultsDesc, engineHitsDesc, engineMissesDesc, engineStolenDesc, engineUnknownDesc,
	}
)

// The default engine, nil, has the counters of dispatchCollector and gpuCollector only.
func collectEngine(send sender, e *griffin.EngineStats) {
	if e == nil {
		send(engineDesc, prometheus.GaugeValue, 1, engine.Default)
		return
	}
	send(engineDesc, prometheus.GaugeValue, 1, e.Name)
	send(engineQueriesDesc, prometheus.CounterValue, float64(e.OnCPU), "cpu")
	send(engineQueriesDesc, prometheus.CounterValue, float64(e.OnGPU), "gpu")
	send(engineMigrationsDesc, prometheus.CounterValue, float64(e.Migrations))
	send(engineBusDesc, prometheus.CounterValue, float64(e.BusBytes))
	send(engineFaultsDesc, prometheus.CounterValue, float64(e.Faults))
	send(engineHitsDesc, prometheus.CounterValue, float64(e.ListHits))
	send(engineMissesDesc, prometheus.CounterValue, float64(e.ListMisses))
	send(engineStolenDesc, prometheus.CounterValue, float64(e.Stolen))
	send(engineUnknownDesc, prometheus.GaugeValue, float64(e.UnknownDocs))
}
