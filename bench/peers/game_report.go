package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/latency"
)

// leastGameRatio is the least speed of Griffin relative to its peer, of the mean time of each kind and command.
const leastGameRatio = 2

// gameAll is the kind of all queries.
const gameAll = "all"

type gameReport struct {
	Time       time.Time `json:"time"`
	Command    string    `json:"command"`
	Machine    machine   `json:"machine"`
	NumDocs    int       `json:"num_docs"`
	NumQueries int       `json:"num_queries"`
	Runs       int       `json:"runs"`
	WarmUp     float64   `json:"warm_up_seconds"`
	// Engines are Griffin and its peer, Lucene or bleve, if there is one.
	Engines []string    `json:"engines"`
	Kinds   []gameKind  `json:"kinds,omitempty"`
	Cells   []gameCell  `json:"cells,omitempty"`
	PISA    *pisaReport `json:"pisa,omitempty"`
	// PISABP has both engines' documents in BP order.
	PISABP *pisaReport `json:"pisa_bp,omitempty"`
}

// gameKind has means over the queries of a kind.
type gameKind struct {
	Name    string  `json:"name"`
	Queries int     `json:"queries"`
	Matches float64 `json:"matches"`
	// Overlap is the share of the best hits that both engines find.
	Overlap float64 `json:"overlap"`
}

func (k *gameKind) add(matches int64, overlap float64) {
	k.Queries++
	k.Matches += float64(matches)
	k.Overlap += overlap
}

func (k *gameKind) mean() gameKind {
	n := float64(k.Queries)
	return gameKind{k.Name, k.Queries, k.Matches / n, k.Overlap / n}
}

func (k *gameKind) write(w io.Writer) {
	fmt.Fprintf(w, "| %s | %d | %.0f | %.1f %% |\n", k.Name, k.Queries, k.Matches, 100*k.Overlap)
}

// gameCell is a command with the queries of a kind.
type gameCell struct {
	Kind    string `json:"kind"`
	Command string `json:"command"`
	// Latency by engine, of each query the least of the runs.
	Latency []latency.Summary `json:"latency_us"`
	// Ratio is the mean of the peer relative to Griffin's.
	Ratio float64 `json:"ratio"`
}

// write writes tables in Markdown.
func (r *gameReport) write(w io.Writer) {
	fmt.Fprintf(w, "%d passages, %d queries, least of %d runs of each, one thread. %s\n\n", r.NumDocs, r.NumQueries, r.Runs, r.Machine)
	if len(r.Engines) > 1 {
		r.writePeer(w)
	}
	if len(r.Engines) > 1 && r.PISA != nil {
		fmt.Fprintln(w)
	}
	if r.PISA != nil {
		r.PISA.write(w)
	}
	if r.PISABP != nil {
		fmt.Fprintln(w)
		r.PISABP.write(w)
	}
}

// writePeer writes the tables of Griffin and Lucene or bleve.
func (r *gameReport) writePeer(w io.Writer) {
	fmt.Fprintf(w, "| kind | queries | matches | common hits of %d |\n|---|---|---|---|\n", gameTop)
	for _, k := range r.Kinds {
		k.write(w)
	}
	fmt.Fprintf(w, "\n| kind | command | %s: mean / p99, µs | times faster |\n|---|---|---|---|---|\n", strings.Join(r.Engines, ": mean / p99, µs | "))
	for _, c := range r.Cells {
		fmt.Fprintf(w, "| %s | %s |", c.Kind, c.Command)
		for _, l := range c.Latency {
			fmt.Fprintf(w, " %s / %s |", formatMicros(l.Mean), formatMicros(l.P99))
		}
		fmt.Fprintf(w, " %.1f |\n", c.Ratio)
	}
}

func formatMicros(d time.Duration) string {
	if us := float64(d) / float64(time.Microsecond); us < 100 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprint(d.Round(time.Microsecond).Microseconds())
}

func (r *gameReport) fastEnough() error {
	var slow []string
	for _, c := range r.Cells {
		if c.Ratio < leastGameRatio {
			slow = append(slow, fmt.Sprintf("%s of %s %.2f times", c.Command, c.Kind, c.Ratio))
		}
	}
	if slow != nil {
		return fmt.Errorf("griffin is not %d times as fast as %s: %s", leastGameRatio, r.Engines[1], strings.Join(slow, ", "))
	}
	return nil
}
