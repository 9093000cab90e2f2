package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/simd"
)

type result struct {
	Time    string  `json:"time"`
	Commit  string  `json:"commit,omitempty"`
	Index   string  `json:"index"`
	Codec   string  `json:"codec"`
	NumDocs int     `json:"num_docs"`
	Runs    int     `json:"runs"`
	CPUTime bool    `json:"cpu_time"`
	CPUs    int     `json:"cpus"`
	SIMD    string  `json:"simd"`
	Go      string  `json:"go"`
	Groups  []group `json:"groups"`
}

type group struct {
	Log     string    `json:"log"`
	Queries int       `json:"queries"`
	Mode    plan.Mode `json:"mode"`
	K       int       `json:"k"`
	Figures []figure  `json:"figures"`
}

func newResult(o options, snapshot *index.Snapshot) *result {
	return &result{
		Time: time.Now().UTC().Format(time.RFC3339), Commit: o.commit, Index: filepath.Base(o.index),
		Codec: snapshot.Options.Codec, NumDocs: snapshot.NumDocs, Runs: o.runs, CPUTime: o.cpuTime,
		CPUs: runtime.NumCPU(), SIMD: simd.Current().String(), Go: runtime.Version(),
	}
}

func (r *result) write(o options) error {
	if o.json != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o644); err != nil {
			return err
		}
	}
	if o.markdown != "" {
		return os.WriteFile(o.markdown, []byte(r.markdown()), 0o644)
	}
	_, err := fmt.Print(r.markdown())
	return err
}

// A row per traversal, in the order of the first group, and a column per log
// and k.
func (r *result) markdown() string {
	var b strings.Builder
	for _, mode := range []plan.Mode{plan.ModeOr, plan.ModeAnd} {
		var groups []group
		for _, g := range r.Groups {
			if g.Mode == mode {
				groups = append(groups, g)
			}
		}
		if len(groups) == 0 {
			continue
		}
		fmt.Fprintf(&b, "Mode `%s`:\n\n| traversal |", mode)
		for _, g := range groups {
			fmt.Fprintf(&b, " %s, k=%d |", strings.TrimSuffix(g.Log, filepath.Ext(g.Log)), g.K)
		}
		b.WriteString(" decoded | scored |\n|---|" + strings.Repeat("---|", len(groups)+2) + "\n")
		for _, f := range groups[0].Figures {
			fmt.Fprintf(&b, "| `%s` |", f.Traversal)
			for _, g := range groups {
				if same := g.find(f.Traversal); same != nil {
					fmt.Fprintf(&b, " %s / %s (%.2f) |", micros(same.Latency.Mean), micros(same.Latency.P99), same.Ratio)
				}
			}
			fmt.Fprintf(&b, " %.0f | %.0f |\n", f.PostingsDecoded, f.PostingsScored)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func (g *group) find(traversal string) *figure {
	for i := range g.Figures {
		if g.Figures[i].Traversal == traversal {
			return &g.Figures[i]
		}
	}
	return nil
}

// In microseconds with about three digits.
func micros(d time.Duration) string {
	us := float64(d) / float64(time.Microsecond)
	if us < 100 {
		return fmt.Sprintf("%.1f", us)
	}
	return fmt.Sprintf("%.0f", us)
}
