package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/simd"
)

type result struct {
	Time    string  `json:"time"`
	Command string  `json:"command"`
	Commit  string  `json:"commit,omitempty"`
	Machine machine `json:"machine"`
	Bars    []bar   `json:"bars"`
	Speeds  []speed `json:"speeds"`
}

type machine struct {
	CPU  string `json:"cpu"`
	CPUs int    `json:"cpus"`
	SIMD string `json:"simd"`
	OS   string `json:"os"`
	Go   string `json:"go"`
}

func newResult(o options) *result {
	return &result{
		Time: time.Now().UTC().Format(time.RFC3339), Command: command(), Commit: o.commit,
		Machine: machine{CPU: cost.Processor(), CPUs: runtime.NumCPU(), SIMD: simd.Detected().String(), OS: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()},
	}
}

// A required speed of a codec with AVX-512, to DocIDs, as the mean over widths
// of 1 to 16 bits.
type bar struct {
	Codec string  `json:"codec"`
	Want  float64 `json:"want_gints_per_s"`
	// Mean over the widths, slowest width, and lists of the index.
	Gints float64 `json:"gints_per_s"`
	Least float64 `json:"least_gints_per_s"`
	Lists float64 `json:"lists_gints_per_s,omitempty"`
	Holds bool    `json:"holds"`
}

// A codec of lists may reach the bars by block or by list.
var wanted = []bar{
	{Codec: "simdbp", Want: 6},
	{Codec: "qmx", Want: 6},
	{Codec: "ef", Want: 2},
	{Codec: "pfordelta", Want: 2.5},
}

const widestOfBar = 16

// The mean is the number of all values divided by their total time.
func bars(speeds []speed) []bar {
	var out []bar
	for _, b := range wanted {
		times, widths := 0.0, 0
		for _, s := range speeds {
			if s.Codec != b.Codec || s.SIMD != simd.AVX512.String() || s.What != "docids" {
				continue
			}
			switch {
			case s.Data == "lists":
				b.Lists = s.Gints
			case s.Width <= widestOfBar:
				times += 1 / s.Gints
				widths++
				if b.Least == 0 || s.Gints < b.Least {
					b.Least = s.Gints
				}
			}
		}
		if widths == 0 {
			continue
		}
		b.Gints = float64(widths) / times
		b.Holds = b.Gints >= b.Want
		out = append(out, b)
	}
	return out
}

func (r *result) write(o options) error {
	if o.json != "" {
		b, err := json.Marshal(r)
		if err != nil {
			return err
		}
		b = bytes.ReplaceAll(b, []byte(`{"codec":`), []byte("\n{\"codec\":")) // one line each
		if err := os.WriteFile(o.json, append(b, '\n'), 0o644); err != nil {
			return err
		}
	}
	var text strings.Builder
	r.markdown(&text)
	if o.markdown != "" {
		return os.WriteFile(o.markdown, []byte(text.String()), 0o644)
	}
	_, err := io.WriteString(os.Stdout, text.String())
	return err
}

func (r *result) markdown(w io.Writer) {
	fmt.Fprintf(w, "# Codecs: decode speed\n\n")
	fmt.Fprintf(w, "[`bench/codecs`](../../bench/codecs/main.go) writes this file and describes the method; all figures are in\n`codecs.json`. Do not edit. [compression.md](compression.md) has the sizes of whole indexes.\n\n")
	fmt.Fprintf(w, "%s, %d CPUs, SIMD level %s, %s, %s. %s, commit %s.\n\n", r.Machine.CPU, r.Machine.CPUs, r.Machine.SIMD, r.Machine.OS, r.Machine.Go, r.Time, r.Commit)
	fmt.Fprintf(w, "```text\n%s\n```\n", r.Command)
	if len(r.Bars) > 0 {
		fmt.Fprintf(w, "\n## Bars\n\nG ints/s to DocIDs with AVX-512, one core. The mean is over widths of 1 to %d bits: the\nnumber of all values divided by their total time.\n\n", widestOfBar)
		rows := [][]string{{"codec", "bar", "mean", "slowest width", "lists of the index", "holds"}}
		for _, b := range r.Bars {
			rows = append(rows, []string{b.Codec, fmt.Sprintf("%.1f", b.Want), figure(b.Gints), figure(b.Least), figure(b.Lists), map[bool]string{true: "yes", false: "**no**"}[b.Holds]})
		}
		table(w, rows)
	}
	for _, what := range []struct{ name, title string }{
		{"docids", "DocIDs by block"}, {"list", "DocIDs of whole lists at once"}, {"freqs", "Frequencies"},
	} {
		for _, l := range slices.Backward(simd.Levels()) {
			r.speedTable(w, fmt.Sprintf("%s, %v", what.title, l), "G ints/s. Columns: bits of uniform values, and the lists of the index.", func(s speed) (float64, bool) {
				return s.Gints, s.What == what.name && s.SIMD == l.String()
			})
		}
	}
	r.speedTable(w, "Size of DocIDs", "Bits a value. Columns: bits of uniform gaps, and the lists of the index.", func(s speed) (float64, bool) {
		return s.Bits, s.What == "docids" && s.SIMD == simd.PureGo.String()
	})
}

// A row per codec, a column per set.
func (r *result) speedTable(w io.Writer, title, comment string, pick func(s speed) (value float64, ok bool)) {
	head := []string{"codec"}
	var rows [][]string
	for _, s := range r.Speeds {
		value, ok := pick(s)
		if !ok {
			continue
		}
		column := s.Data
		if s.Data == "uniform" {
			column = fmt.Sprint(s.Width)
		}
		at := slices.Index(head, column)
		if at < 0 {
			at = len(head)
			head = append(head, column)
		}
		if len(rows) == 0 || rows[len(rows)-1][0] != s.Codec {
			rows = append(rows, []string{s.Codec})
		}
		row := &rows[len(rows)-1]
		for len(*row) <= at {
			*row = append(*row, "")
		}
		(*row)[at] = figure(value)
	}
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(w, "\n## %s\n\n%s\n\n", title, comment)
	table(w, append([][]string{head}, rows...))
}

// About three digits; 0 is empty.
func figure(v float64) string {
	switch {
	case v == 0:
		return ""
	case v < 10:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.1f", v)
}

func table(w io.Writer, rows [][]string) {
	for i, row := range rows {
		fmt.Fprintf(w, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			fmt.Fprintf(w, "|---|%s\n", strings.Repeat("---:|", len(row)-1))
		}
	}
}
