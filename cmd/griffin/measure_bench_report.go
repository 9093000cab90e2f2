package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/plan"
)

// benchResult is the JSON of "griffin bench", one flat object.
type benchResult struct {
	benchLog
	// Latency is over the fastest run of each query, AllRuns over all runs.
	Latency benchLatency    `json:"latency_us,omitzero"`
	AllRuns latency.Summary `json:"all_runs,omitzero"`
	QPS     float64         `json:"qps"` // over all runs
	// Batch is set with --batch, instead of the latencies.
	Batch *batchResult `json:"batch,omitempty"`
	GPU   *gpuResult   `json:"gpu,omitempty"`
	// Dispatch has the steps by processor, including the warm-up, with a GPU.
	Dispatch *dispatch.Stats `json:"dispatch,omitempty"`
	// Work of one pass over the queries.
	Work plan.Work `json:"work"`
	benchTraffic
	benchGarbage
	SIMD    string `json:"simd"` // level of vector instructions
	Machine string `json:"machine"`
	Go      string `json:"go"`
}

type benchLog struct {
	Engine    string       `json:"engine,omitempty"` // "": the default
	Index     string       `json:"index"`
	Queries   int          `json:"queries"`
	NoResult  int          `json:"no_result"`
	Mode      griffin.Mode `json:"mode"`
	Traversal string       `json:"traversal"` // the most frequent first
	K         int          `json:"k"`
	Threads   int          `json:"threads"`
	Runs      int          `json:"runs"`
	Prepared  bool         `json:"prepared"`
	CPUTime   bool         `json:"cpu_time,omitempty"`
}

// benchTraffic is set in mode saat: bytes per second of the queries, of lists, and of lists and
// accumulators (which may be in a cache); and the memory bandwidth of the same number of
// threads, measured in this run.
type benchTraffic struct {
	ListTraffic float64 `json:"list_bytes_per_second,omitempty"`
	Traffic     float64 `json:"traffic_bytes_per_second,omitempty"`
	Bandwidth   float64 `json:"bandwidth_bytes_per_second,omitempty"`
}

// benchGarbage is over all queries and runs of the measured part.
type benchGarbage struct {
	AllocsPerQuery float64       `json:"allocs_per_query"`
	GCCycles       uint32        `json:"gc_cycles"`
	GCPause        time.Duration `json:"gc_pause_ns"`
}

type benchLatency struct {
	latency.Summary
	AllRuns latency.Summary
}

// MarshalJSON adds all_runs to the fields of the summary.
func (l benchLatency) MarshalJSON() ([]byte, error) {
	figures := map[string]any{}
	least, err := json.Marshal(l.Summary)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(least, &figures); err != nil {
		return nil, err
	}
	figures["all_runs"] = l.AllRuns
	return json.Marshal(figures)
}

func (a *app) printBenchmark(b *benchmark) error {
	o := &b.options
	if b.result.Mode == griffin.ModeSaat {
		b.measureBandwidth()
	}
	if o.latencies != "" {
		if err := a.writeFile(o.latencies, func(w io.Writer) error { return b.recorder.WriteTSV(w, b.ids) }); err != nil {
			return err
		}
	}
	if a.json {
		return a.printJSON(&b.result)
	}
	printBench(a.console, &b.result)
	return nil
}

func printBench(con *console, r *benchResult) {
	if r.Engine != "" {
		con.printf("engine %s: ", r.Engine)
	}
	con.printf("%s, mode %s, traversal %s, k=%d, %s, %s",
		plural(r.Queries, "query"), r.Mode, r.Traversal, r.K, plural(r.Threads, "thread"), plural(r.Runs, "run"))
	if r.Prepared {
		con.printf(", planning left out")
	}
	if r.CPUTime {
		con.printf(", processor time")
	}
	con.printf("\n%s\n\n", r.Machine)
	if r.Batch == nil {
		printLatencies(con, r)
	}
	perQuery := func(n int64) float64 { return float64(n) / float64(max(r.Queries, 1)) }
	con.printf("%.0f queries/s; %s without a result\n", r.QPS, plural(r.NoResult, "query"))
	printBatch(con, r)
	con.printf("a query: ")
	if r.Work != (plan.Work{}) { // a GPU does not count it
		con.printf("%.0f postings decoded, %.0f scored; %.1f blocks decoded, %.1f skipped; ",
			perQuery(r.Work.PostingsDecoded), perQuery(r.Work.PostingsScored), perQuery(r.Work.BlocksDecoded), perQuery(r.Work.BlocksSkipped))
	}
	con.printf("%.1f allocations\n", r.AllocsPerQuery)
	if r.Bandwidth > 0 {
		con.printf("%s can read %.1f GB/s from memory; lists are %.1f %% of it, with accumulators, cached or not, %.0f %%\n",
			plural(r.Threads, "thread"), r.Bandwidth/1e9, 100*r.ListTraffic/r.Bandwidth, 100*r.Traffic/r.Bandwidth)
	}
	con.printf("garbage collector: %d cycles, %s of pauses in all\n", r.GCCycles, took(r.GCPause))
}

func printLatencies(con *console, r *benchResult) {
	st := con.style(con.out)
	con.printf("%s%-26s %9s %9s %9s %9s %9s %9s%s\n", st.bold, "latency in µs", "mean", "p50", "p95", "p99", "p99.9", "max", st.reset)
	for _, row := range []struct {
		name string
		s    latency.Summary
	}{{"least of a query's runs", r.Latency.Summary}, {"all runs", r.AllRuns}} {
		con.printf("%-26s", row.name)
		for _, d := range []time.Duration{row.s.Mean, row.s.P50, row.s.P95, row.s.P99, row.s.P999, row.s.Max} {
			con.printf(" %9.1f", float64(d.Nanoseconds())/1000)
		}
		con.printf("\n")
	}
	con.printf("\n")
}
