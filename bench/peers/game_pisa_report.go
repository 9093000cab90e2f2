package main

import (
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/latency"
)

// pisaReport compares Griffin with PISA in an order of the documents.
type pisaReport struct {
	// Order is natural or bp, in both engines.
	Order     string `json:"order"`
	Encoding  string `json:"encoding"`
	BlockSize int    `json:"block_size"`
	// Passes are those with the clock in each run.
	Passes int `json:"passes"`
	// Kinds are those that PISA can run; Overlap is between Griffin and PISA.
	Kinds []gameKind `json:"kinds"`
	Cells []pisaCell `json:"cells"`
}

// pisaCell is a command with the queries of a kind.
type pisaCell struct {
	Kind    string `json:"kind"`
	Command string `json:"command"`
	// Queries are those whose words occur, of which the times are.
	Queries int `json:"queries"`
	// Cannot is the reason why PISA has no result.
	Cannot string `json:"cannot,omitempty"`
	// Algorithm is PISA's with the least mean.
	Algorithm string `json:"algorithm,omitempty"`
	// Latency of Griffin and PISA's algorithm, of each query the least of the runs.
	Latency []latency.Summary `json:"latency_us"`
	// Means are of all algorithms that PISA ran, in microseconds.
	Means map[string]float64 `json:"means_us,omitempty"`
	// Ratio is PISA's mean relative to Griffin's.
	Ratio float64 `json:"ratio,omitempty"`
}

// add adds an algorithm's times, without effect if there are none.
func (c *pisaCell) add(algorithm string, griffin, pisa latency.Summary) {
	if pisa.Count == 0 {
		return
	}
	if c.Means == nil {
		c.Means = make(map[string]float64)
	}
	c.Means[algorithm] = float64(pisa.Mean.Nanoseconds()) / 1000
	if c.Algorithm != "" && c.Latency[1].Mean <= pisa.Mean {
		return
	}
	c.Queries, c.Algorithm, c.Latency = pisa.Count, algorithm, []latency.Summary{griffin, pisa}
	c.Ratio = float64(pisa.Mean) / float64(griffin.Mean)
}

// write writes tables in Markdown.
func (r *pisaReport) write(w io.Writer) {
	fmt.Fprintf(w, "PISA: %s, bounds of blocks of %d postings, documents in %s order in both engines. The engines by turns, %d passes in each run. PISA's times are whole microseconds, rounded down.\n\n", r.Encoding, r.BlockSize, r.Order, r.Passes)
	fmt.Fprintf(w, "| kind | queries | matches | common hits of %d |\n|---|---|---|---|\n", gameTop)
	for _, k := range r.Kinds {
		k.write(w)
	}
	fmt.Fprint(w, "\n| kind | command | queries | PISA's algorithm | griffin: mean / p99, µs | PISA: mean / p99, µs | times faster |\n|---|---|---|---|---|---|---|\n")
	for i := range r.Cells {
		c := &r.Cells[i]
		griffin := c.Latency[0]
		fmt.Fprintf(w, "| %s | %s | %d |", c.Kind, c.Command, c.Queries)
		if c.Cannot != "" {
			fmt.Fprintf(w, " none: %s | %s / %s | – | – |\n", c.Cannot, formatMicros(griffin.Mean), formatMicros(griffin.P99))
			continue
		}
		pisa := c.Latency[1]
		fmt.Fprintf(w, " %s | %s / %s | %s / %s | %.2f |\n", c.Algorithm,
			formatMicros(griffin.Mean), formatMicros(griffin.P99), formatMicros(pisa.Mean), formatMicros(pisa.P99), c.Ratio)
	}
}
