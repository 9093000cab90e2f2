package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// The promise of Griffin relative to bleve.
const (
	leastWriteRatio = 8
	leastTailRatio  = 10
)

// livingReport is the result of -living.
type livingReport struct {
	Time       time.Time     `json:"time"`
	Command    string        `json:"command"`
	Machine    machine       `json:"machine"`
	Threads    int           `json:"threads"`
	NumDocs    int           `json:"num_docs"`  // distinct passages
	NumBytes   int64         `json:"num_bytes"` // of them as JSON lines
	NumQueries int           `json:"num_queries"`
	Clients    int           `json:"clients"`
	Batch      int           `json:"batch"`
	Base       int           `json:"base"` // documents before each measurement
	Seconds    float64       `json:"seconds"`
	QueryRate  float64       `json:"query_rate"`
	Bleve      *livingResult `json:"bleve"`
	Griffin    *livingResult `json:"griffin"`
	Ratios     livingRatios  `json:"ratios"`
}

// livingRatios are the factors by which Griffin is better.
type livingRatios struct {
	Writes   float64 `json:"writes"` // highest rates
	QueryP50 float64 `json:"query_p50"`
	QueryP99 float64 `json:"query_p99"`
}

// runLiving measures engines that write and search at the same time.
func runLiving(ctx context.Context, o options, work string) (err error) {
	topics, err := readQueries(o.queries, o.numQueries)
	if err != nil {
		return err
	}
	in, err := writeSubset(work+"/passages.jsonl", o.passages, o.docs)
	if err != nil {
		return err
	}
	l := &living{livingOptions: o.living, work: work}
	l.batch = o.batchSize
	if l.passages, l.sizes, err = readPassages(in.path); err != nil {
		return err
	}
	for _, t := range topics {
		l.queries = append(l.queries, t.Title)
	}
	results, err := l.measure(ctx, []livingEngine{&livingBleve{}, &livingGriffin{}})
	if err != nil {
		return err
	}
	r := &livingReport{
		Time: time.Now().UTC().Truncate(time.Second), Command: command(), Machine: thisMachine(), Threads: o.threads,
		NumDocs: in.numDocs, NumBytes: in.numBytes, NumQueries: len(topics), Clients: l.clients, Batch: l.batch, Base: l.base,
		Seconds: l.duration.Seconds(), QueryRate: l.queryRate, Bleve: results[0], Griffin: results[1],
	}
	r.Ratios = r.compare()
	if err := r.writeTable(os.Stdout); err != nil {
		return err
	}
	if o.json != "" {
		if err := writeJSON(o.json, r); err != nil {
			return err
		}
	}
	if o.check {
		return r.fastEnough()
	}
	return nil
}

func readPassages(path string) (passages []passage, sizes []int, err error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	lines := newLineScanner(f)
	for lines.Scan() {
		var p passage
		if err := json.Unmarshal(lines.Bytes(), &p); err != nil {
			return nil, nil, fmt.Errorf("passage %d: %w", len(passages)+1, err)
		}
		passages, sizes = append(passages, p), append(sizes, len(lines.Bytes())+1)
	}
	if err := lines.Err(); err != nil {
		return nil, nil, err
	}
	if len(passages) == 0 {
		return nil, nil, errors.New("no passages")
	}
	return passages, sizes, nil
}

func (r *livingReport) compare() livingRatios {
	return livingRatios{
		Writes:   r.Griffin.MBPerSecond / r.Bleve.MBPerSecond,
		QueryP50: r.Bleve.QueryP50 / r.Griffin.QueryP50,
		QueryP99: r.Bleve.QueryP99 / r.Griffin.QueryP99,
	}
}

func (r *livingReport) fastEnough() error {
	var broken []string
	if r.Ratios.Writes < leastWriteRatio {
		broken = append(broken, fmt.Sprintf("%.1f times the rate of writes, want %d", r.Ratios.Writes, leastWriteRatio))
	}
	if r.Ratios.QueryP99 < leastTailRatio {
		broken = append(broken, fmt.Sprintf("99th percentile of queries beside writes %.1f times lower, want %d", r.Ratios.QueryP99, leastTailRatio))
	}
	if broken != nil {
		return fmt.Errorf("griffin misses its targets against bleve: %s", strings.Join(broken, "; "))
	}
	return nil
}

// writeTable writes Markdown, for docs/benchmarks.
func (r *livingReport) writeTable(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%d passages again and again, %d before each measurement; %d clients, batches of %d, each durable; "+
		"%d rounds of %.0f s at the highest rate and %.0f s at half of it; %.0f queries a second.\n%s\n\n",
		r.NumDocs, r.Base, r.Clients, r.Batch, len(r.Griffin.Rounds), r.Seconds, r.Seconds, r.QueryRate, r.Machine)
	fmt.Fprintf(&b, "| | %s | %s | times better |\n|---|---:|---:|---:|\n", r.Bleve.Engine, r.Griffin.Engine)
	row := func(name, format string, value func(*livingResult) float64, ratio float64) {
		fmt.Fprintf(&b, "| %s | "+format+" | "+format+" | %.1f |\n", name, value(r.Bleve), value(r.Griffin), ratio)
	}
	row("highest rate of writes, MB/s of JSON", "%.1f", func(e *livingResult) float64 { return e.MBPerSecond }, r.Ratios.Writes)
	row("OR beside half that rate, median, µs", "%.0f", func(e *livingResult) float64 { return e.QueryP50 }, r.Ratios.QueryP50)
	row("OR beside half that rate, 99th percentile, µs", "%.0f", func(e *livingResult) float64 { return e.QueryP99 }, r.Ratios.QueryP99)
	_, err := io.WriteString(w, b.String())
	return err
}
