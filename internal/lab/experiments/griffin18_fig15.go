package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Fig15() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig15", Paper: "griffin18", Shows: "Fig. 15", Title: "Tail latency",
		Did: "The 80th, 90th, 95th, 99th and 99.9th percentiles of the latencies of queries with the CPU alone and" +
			" with Griffin, which is 6.6, 8.3, 10.4, 16.1 and 26.8 times as fast at these percentiles.",
		Ours: "The percentiles of griffin18-fig14's measurements, in both settings: of the CPU alone with Griffin's" +
			" best traversal and with a baseline similar to the paper's, of the GPU alone, and of Griffin with " +
			"the policies `ratio` (the paper's) and `cost`.",
		Differs: griffin18RunsDiffer +
			" With 1,000 queries the 99.9th percentile is the second slowest.",
		Budget: 6 * time.Minute,
		Run:    runGriffin18Fig15,
	}
}

// The paper's percentiles, with Griffin's speed-up over the CPU.
var fig15Percentiles = []struct {
	name  string
	num   int // per mille
	paper float64
}{{"80", 800, 6.6}, {"90", 900, 8.3}, {"95", 950, 10.4}, {"99", 990, 16.1}, {"99.9", 999, 26.8}}

// Columns of ratios, as indexes in fig14Variants.
var fig15Ratios = []struct {
	name   string
	of, to int
	paper  bool
}{
	{"CPU, the paper's kind, to cost", 0, 4, true},
	{"CPU, ours, to cost", 1, 4, true},
	{"CPU, ours, to ratio 128", 1, 3, true},
	{"GPU to cost", 2, 4, false},
}

func runGriffin18Fig15(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	runs, device, noDevice, err := griffin18Runs(ctx, env, false /* hindsight */)
	if err != nil {
		return nil, err
	}
	return fig15Result(runs, device, noDevice), nil
}

func fig15Result(runs *policyRuns, device bool, noDevice string) *lab.Result {
	var rows, columns []string
	for _, p := range fig15Percentiles {
		rows = append(rows, p.name)
	}
	for _, v := range fig14Variants {
		columns = append(columns, v.name)
	}
	for _, x := range fig15Ratios {
		columns = append(columns, x.name)
	}
	r := &lab.Result{Notes: append(runs.notes(), runs.wholeNotes()...)}
	for i, s := range settings {
		t := lab.NewTable("Latency of an AND query, µs: "+s.name, "percentile", rows, columns)
		f := &lab.Figure{Title: t.Title, Kind: lab.Bars, LogY: true, X: "percentile", Y: "latency, µs", Categories: rows}
		speed := &lab.Figure{Title: "How many times as fast as the CPU: " + s.name, Kind: lab.Bars, LogY: true, X: "percentile", Y: "times", Categories: rows}
		fig15Fill(t, f, speed, runs, i, noDevice)
		r.Tables = append(r.Tables, t)
		if device || i == 0 {
			r.Figures = append(r.Figures, f)
		}
		if device && len(speed.Series) > 1 { // not only the paper's
			r.Figures = append(r.Figures, speed)
		}
	}
	if len(runs.all[0].Queries) < 1000 {
		r.Notes = append(r.Notes, fmt.Sprintf("Of %d queries.", len(runs.all[0].Queries)))
	}
	return r
}

func fig15Fill(t *lab.Table, f, speed *lab.Figure, runs *policyRuns, setting int, noDevice string) {
	values := make([][]float64, len(fig14Variants))
	for v, variant := range fig14Variants {
		us := runs.medians(setting, variant.variant)
		if us == nil {
			continue
		}
		if us = pick(us, runs.counted(setting, variant.variant, numbers(us))); len(us) == 0 {
			continue
		}
		slices.Sort(us)
		for _, p := range fig15Percentiles {
			values[v] = append(values[v], nearestRank(us, p.num))
		}
		f.Series = append(f.Series, lab.Series{Name: variant.name, Points: lab.Heights(values[v]...)})
	}
	for row := range fig15Percentiles {
		for v, variant := range fig14Variants {
			setIf(t, row, v, at(values[v], row), values[v] != nil, runs.reason(setting, variant.variant, noDevice))
		}
	}
	var papers []float64
	for j, x := range fig15Ratios {
		column := len(fig14Variants) + j
		var times []float64
		for row, p := range fig15Percentiles {
			if x.paper {
				t.SetPaper(row, column, p.paper)
			}
			if values[x.of] != nil && values[x.to] != nil {
				times = append(times, values[x.of][row]/values[x.to][row])
			}
			missing := fig14Variants[x.of].variant
			if values[x.of] != nil {
				missing = fig14Variants[x.to].variant
			}
			setIf(t, row, column, at(times, row), times != nil, runs.reason(setting, missing, noDevice))
			if j == 0 {
				papers = append(papers, p.paper)
			}
		}
		if times != nil && x.paper {
			speed.Series = append(speed.Series, lab.Series{Name: x.name, Points: lab.Heights(times...)})
		}
	}
	speed.Series = append(speed.Series, lab.Series{Name: "the paper", Paper: true, Points: lab.Heights(papers...)})
}

// at returns 0 if there are no values.
func at(values []float64, i int) float64 {
	if values == nil {
		return 0
	}
	return values[i]
}

// nearestRank returns the quantile of num per mille, as in package latency: the
// value of rank ceil(n*num/1000), from 1.
func nearestRank(sorted []float64, num int) float64 {
	const den = 1000
	return sorted[max((len(sorted)*num+den-1)/den, 1)-1]
}
