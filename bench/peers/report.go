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

// Minimum speed of Griffin relative to bleve.
const (
	leastIndexRatio = 5
	leastOrRatio    = 20
)

// The names are griffin bench's.
type queryResult struct {
	Latency  latency.Summary `json:"latency_us"` // per query the minimum of the runs
	NoResult int             `json:"no_result"`
}

// From the start, in seconds.
type buildTimes struct {
	// On disk and searchable.
	OnDisk float64 `json:"on_disk"`
	// As used for queries.
	OneSegment float64 `json:"one_segment"`
}

func (t buildTimes) least(u buildTimes) buildTimes {
	return buildTimes{OnDisk: min(t.OnDisk, u.OnDisk), OneSegment: min(t.OneSegment, u.OneSegment)}
}

type engineResult struct {
	Engine     string      `json:"engine"`
	Index      buildTimes  `json:"index_seconds"` // minimum of the builds
	IndexBytes int64       `json:"index_bytes"`
	Or         queryResult `json:"or"`
	And        queryResult `json:"and"`
}

// Everything needed to repeat and judge the run.
type report struct {
	Time       time.Time     `json:"time"`
	Command    string        `json:"command"`
	Machine    machine       `json:"machine"`
	NumDocs    int           `json:"num_docs"`
	NumBytes   int64         `json:"num_bytes"` // of indexed JSON lines
	NumQueries int           `json:"num_queries"`
	K          int           `json:"k"`
	Runs       int           `json:"runs"`
	Builds     int           `json:"builds"`
	Threads    int           `json:"index_threads"`
	Bleve      *engineResult `json:"bleve,omitempty"`
	Griffin    *engineResult `json:"griffin,omitempty"`
	Ratios     *ratios       `json:"ratios,omitempty"`
}

// Griffin's speed relative to bleve's.
type ratios struct {
	IndexOnDisk     float64 `json:"index_on_disk"`
	IndexOneSegment float64 `json:"index_one_segment"`
	Or              float64 `json:"or_mean"`
	And             float64 `json:"and_mean"`
}

func compareEngines(bleve, griffin *engineResult) *ratios {
	means := func(b, g queryResult) float64 { return float64(b.Latency.Mean) / float64(g.Latency.Mean) }
	return &ratios{
		IndexOnDisk:     bleve.Index.OnDisk / griffin.Index.OnDisk,
		IndexOneSegment: bleve.Index.OneSegment / griffin.Index.OneSegment,
		Or:              means(bleve.Or, griffin.Or),
		And:             means(bleve.And, griffin.And),
	}
}

// sameWork returns an error unless both engines found results for the same
// number of queries.
func (r *report) sameWork() error {
	b, g := r.Bleve, r.Griffin
	if b.Or.NoResult != g.Or.NoResult || b.And.NoResult != g.And.NoResult {
		return fmt.Errorf("queries without results differ: bleve OR %d, AND %d; Griffin OR %d, AND %d",
			b.Or.NoResult, b.And.NoResult, g.Or.NoResult, g.And.NoResult)
	}
	return nil
}

func (r *report) fastEnough() error {
	var broken []string
	if r.Ratios.IndexOneSegment < leastIndexRatio {
		broken = append(broken, fmt.Sprintf("indexing %.1f times as fast, want %d", r.Ratios.IndexOneSegment, leastIndexRatio))
	}
	if r.Ratios.Or < leastOrRatio {
		broken = append(broken, fmt.Sprintf("top-%d OR %.1f times as fast, want %d", r.K, r.Ratios.Or, leastOrRatio))
	}
	if broken != nil {
		return fmt.Errorf("griffin misses its targets against bleve: %s", strings.Join(broken, "; "))
	}
	return nil
}

// As Markdown, for docs/benchmarks.
func (r *report) writeTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d passages, %.1f MB of JSON lines, indexed with %d threads, least of %d builds; "+
		"%d queries on one thread, k = %d, least of %d runs of each.\n%s\n\n",
		r.NumDocs, float64(r.NumBytes)/1e6, r.Threads, r.Builds, r.NumQueries, r.K, r.Runs, r.Machine)
	var engines []*engineResult
	head, rule := "| |", "|---|"
	for _, e := range []*engineResult{r.Bleve, r.Griffin} {
		if e != nil {
			engines = append(engines, e)
			head, rule = head+" "+e.Engine+" |", rule+"---|"
		}
	}
	if r.Ratios != nil {
		head, rule = head+" times faster |", rule+"---|"
	}
	fmt.Fprintln(&b, head)
	fmt.Fprintln(&b, rule)
	for _, row := range tableRows {
		fmt.Fprintf(&b, "| %s |", row.name)
		for _, e := range engines {
			fmt.Fprintf(&b, " %s |", row.value(r, e))
		}
		switch {
		case r.Ratios != nil && row.ratio != nil:
			fmt.Fprintf(&b, " %.1f |", row.ratio(r.Ratios))
		case r.Ratios != nil:
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// ratio is nil if it would be meaningless.
type tableRow struct {
	name  string
	value func(*report, *engineResult) string
	ratio func(*ratios) float64
}

var tableRows = []tableRow{
	{
		"index, until on disk, s (MB/s)",
		func(r *report, e *engineResult) string { return r.formatBuild(e.Index.OnDisk) },
		func(r *ratios) float64 { return r.IndexOnDisk },
	},
	{
		"index, until one segment, s (MB/s)",
		func(r *report, e *engineResult) string { return r.formatBuild(e.Index.OneSegment) },
		func(r *ratios) float64 { return r.IndexOneSegment },
	},
	{
		"index size, MB",
		func(_ *report, e *engineResult) string { return fmt.Sprintf("%.1f", float64(e.IndexBytes)/1e6) },
		nil,
	},
	{
		"OR mean / p50 / p95 / p99, µs",
		func(_ *report, e *engineResult) string { return formatLatency(e.Or) },
		func(r *ratios) float64 { return r.Or },
	},
	{
		"AND mean / p50 / p95 / p99, µs",
		func(_ *report, e *engineResult) string { return formatLatency(e.And) },
		func(r *ratios) float64 { return r.And },
	},
	{
		"queries without results, OR / AND",
		func(_ *report, e *engineResult) string {
			return fmt.Sprintf("%d / %d", e.Or.NoResult, e.And.NoResult)
		},
		nil,
	},
}

func (r *report) formatBuild(seconds float64) string {
	return fmt.Sprintf("%.2f (%.1f)", seconds, float64(r.NumBytes)/1e6/seconds)
}

func formatLatency(q queryResult) string {
	us := func(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
	l := q.Latency
	return fmt.Sprintf("%.0f / %.0f / %.0f / %.0f", us(l.Mean), us(l.P50), us(l.P95), us(l.P99))
}

func writeJSON(path string, r any) error {
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(data, '\n'), 0o600)
}
