package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// The least that Griffin promises against bleve.
const (
	leastIndexRatio = 5
	leastOrRatio    = 20
)

// queryResult is one query mode of one engine; the names are griffin bench's.
type queryResult struct {
	Latency  latency.Summary `json:"latency_us"` // per query the least of the runs
	NoResult int             `json:"no_result"`
}

// engineResult is what one engine did.
type engineResult struct {
	Engine       string      `json:"engine"`
	IndexSeconds float64     `json:"index_seconds"`
	MergeSeconds float64     `json:"merge_seconds,omitempty"` // not in IndexSeconds
	IndexBytes   int64       `json:"index_bytes"`
	Or           queryResult `json:"or"`
	And          queryResult `json:"and"`
}

// report is the JSON file: all that is needed to repeat the run and judge it.
type report struct {
	Time       time.Time     `json:"time"`
	Command    string        `json:"command"`
	Machine    machine       `json:"machine"`
	NumDocs    int           `json:"num_docs"`
	NumBytes   int64         `json:"num_bytes"` // of JSON lines indexed
	NumQueries int           `json:"num_queries"`
	K          int           `json:"k"`
	Runs       int           `json:"runs"`
	Threads    int           `json:"index_threads"`
	Bleve      *engineResult `json:"bleve,omitempty"`
	Griffin    *engineResult `json:"griffin,omitempty"`
	Ratios     *ratios       `json:"ratios,omitempty"`
}

// ratios say how many times faster Griffin is.
type ratios struct {
	Index   float64 `json:"index"`
	OrMean  float64 `json:"or_mean"`
	OrP99   float64 `json:"or_p99"`
	AndMean float64 `json:"and_mean"`
	AndP99  float64 `json:"and_p99"`
}

func compareEngines(bleve, griffin *engineResult) *ratios {
	times := func(a, b time.Duration) float64 { return float64(a) / float64(b) }
	return &ratios{
		Index:   bleve.IndexSeconds / griffin.IndexSeconds,
		OrMean:  times(bleve.Or.Latency.Mean, griffin.Or.Latency.Mean),
		OrP99:   times(bleve.Or.Latency.P99, griffin.Or.Latency.P99),
		AndMean: times(bleve.And.Latency.Mean, griffin.And.Latency.Mean),
		AndP99:  times(bleve.And.Latency.P99, griffin.And.Latency.P99),
	}
}

// sameWork returns an error unless both engines found results for equally many
// queries, which engines that index the same tokens do.
func (r *report) sameWork() error {
	b, g := r.Bleve, r.Griffin
	if b.Or.NoResult != g.Or.NoResult || b.And.NoResult != g.And.NoResult {
		return fmt.Errorf("queries without results differ: bleve OR %d, AND %d; Griffin OR %d, AND %d",
			b.Or.NoResult, b.And.NoResult, g.Or.NoResult, g.And.NoResult)
	}
	return nil
}

// fastEnough returns an error that names each promise that is not kept.
func (r *report) fastEnough() error {
	var broken []string
	if r.Ratios.Index < leastIndexRatio {
		broken = append(broken, fmt.Sprintf("indexing %.1f times as fast, want %d", r.Ratios.Index, leastIndexRatio))
	}
	if r.Ratios.OrMean < leastOrRatio {
		broken = append(broken, fmt.Sprintf("top-%d OR %.1f times as fast, want %d", r.K, r.Ratios.OrMean, leastOrRatio))
	}
	if broken != nil {
		return fmt.Errorf("Griffin against bleve: %s", strings.Join(broken, "; "))
	}
	return nil
}

// writeTable prints the comparison as Markdown, ready for docs/benchmarks.
func (r *report) writeTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d passages, %.1f MB of JSON lines; %d queries, k = %d, least of %d runs; indexing with %d threads, queries with one.\n",
		r.NumDocs, float64(r.NumBytes)/1e6, r.NumQueries, r.K, r.Runs, r.Threads)
	fmt.Fprintf(&b, "%s\n\n", r.Machine)
	columns := []string{""}
	var engines []*engineResult
	for _, e := range []*engineResult{r.Bleve, r.Griffin} {
		if e != nil {
			engines = append(engines, e)
			columns = append(columns, e.Engine)
		}
	}
	if r.Ratios != nil {
		columns = append(columns, "times faster")
	}
	writeRow(&b, columns)
	writeRow(&b, make([]string, len(columns)))
	for _, row := range tableRows {
		if r.Ratios == nil && row.value == nil {
			continue
		}
		cells := []string{row.name}
		for _, e := range engines {
			cells = append(cells, row.value(r, e))
		}
		if r.Ratios != nil {
			cell := ""
			if row.ratio != nil {
				cell = fmt.Sprintf("%.1f", row.ratio(r.Ratios))
			}
			cells = append(cells, cell)
		}
		writeRow(&b, cells)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tableRow is one line of the table.
type tableRow struct {
	name  string
	value func(*report, *engineResult) string
	ratio func(*ratios) float64
}

var tableRows = []tableRow{
	{
		"index, s",
		func(_ *report, e *engineResult) string { return fmt.Sprintf("%.2f", e.IndexSeconds) },
		func(r *ratios) float64 { return r.Index },
	},
	{"index, MB/s", func(r *report, e *engineResult) string {
		return fmt.Sprintf("%.2f", float64(r.NumBytes)/1e6/e.IndexSeconds)
	}, nil},
	{"merge to one segment after it, s", func(_ *report, e *engineResult) string {
		if e.MergeSeconds == 0 {
			return "–"
		}
		return fmt.Sprintf("%.2f", e.MergeSeconds)
	}, nil},
	{"index size, MB", func(_ *report, e *engineResult) string { return fmt.Sprintf("%.1f", float64(e.IndexBytes)/1e6) }, nil},
	{"OR mean / p50 / p95 / p99, µs", func(_ *report, e *engineResult) string { return formatLatency(e.Or) }, func(r *ratios) float64 { return r.OrMean }},
	{"AND mean / p50 / p95 / p99, µs", func(_ *report, e *engineResult) string { return formatLatency(e.And) }, func(r *ratios) float64 { return r.AndMean }},
	{"queries without results, OR / AND", func(_ *report, e *engineResult) string {
		return fmt.Sprintf("%d / %d", e.Or.NoResult, e.And.NoResult)
	}, nil},
}

func formatLatency(q queryResult) string {
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	l := q.Latency
	return fmt.Sprintf("%.0f / %.0f / %.0f / %.0f", us(l.Mean), us(l.P50), us(l.P95), us(l.P99))
}

func writeRow(b *strings.Builder, cells []string) {
	for _, cell := range cells {
		if cell == "" && b.Len() == 0 {
			cell = " "
		}
		b.WriteString("| " + cell + " ")
	}
	b.WriteString("|\n")
}

func (r *report) writeJSON(path string) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
