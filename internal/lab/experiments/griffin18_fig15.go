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
		Ours: "The percentiles over the 10,000 queries of griffin18-fig14, measured in the same way, in a run of its own unless one command names both: of the paper's systems, which are the engine griffin18" +
			" with `on=cpu`, `on=gpu` and `on=both`, and, separately, of Griffin's own engine. " + fmt.Sprintf(griffin18Timed, fig14Rounds),
		Differs: griffin18Differs + "Each query counts with its median, so that " +
			"disturbances of the machine are not in the tail; the paper states no repetitions.",
		Findings: fig15Findings, Verdicts: fig15Verdicts,
		Budget: 10 * time.Minute,
		Run:    runGriffin18Fig15,
	}
}

// The paper's percentiles, with Griffin's speed-up over the CPU.
var fig15Percentiles = []struct {
	name  string
	num   int // per mille
	paper float64
}{{"80", 800, 6.6}, {"90", 900, 8.3}, {"95", 950, 10.4}, {"99", 990, 16.1}, {"99.9", 999, 26.8}}

func runGriffin18Fig15(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	runs, noDevice, err := measureFig14(ctx, env)
	if err != nil {
		return nil, err
	}
	return fig15Result(runs, noDevice), nil
}

func fig15Result(runs *fig14Runs, noDevice string) *lab.Result {
	var rows, columns []string
	for _, p := range fig15Percentiles {
		rows = append(rows, p.name)
	}
	for _, s := range fig14Systems {
		columns = append(columns, s.name)
	}
	for _, x := range fig14Ratios {
		columns = append(columns, x.name)
	}
	t := lab.NewTable("Latency of an AND query, µs", "percentile", rows, columns)
	f := &lab.Figure{Title: t.Title, Kind: lab.Bars, LogY: true, X: "percentile", Y: "latency, µs", Categories: rows}
	values := make([][]float64, len(fig14Systems))
	for v, s := range fig14Systems {
		if runs.us[v] != nil {
			sorted := slices.Sorted(slices.Values(runs.us[v]))
			for _, p := range fig15Percentiles {
				values[v] = append(values[v], nearestRank(sorted, p.num))
			}
			f.Series = append(f.Series, lab.Series{Name: s.name, Points: lab.Heights(values[v]...)})
		}
		for row := range rows {
			setIf(t, row, v, at(values[v], row), values[v] != nil, noDevice)
		}
	}
	speed := &lab.Figure{Title: "How many times as fast Griffin is", Kind: lab.Bars, LogY: true, X: "percentile", Y: "times", Categories: rows}
	var papers []float64
	for j, x := range fig14Ratios {
		column := len(fig14Systems) + j
		both := values[x.of] != nil && values[x.to] != nil
		for row, p := range fig15Percentiles {
			if j == 0 {
				t.SetPaper(row, column, p.paper)
				papers = append(papers, p.paper)
			}
			setIf(t, row, column, at(values[x.of], row)/max(at(values[x.to], row), 1e-3), both, noDevice)
		}
		if both && j < 2 {
			speed.Series = append(speed.Series, lab.Series{Name: x.name, Points: columnOf(t, column)})
		}
	}
	r := &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{f}}
	if len(speed.Series) > 0 {
		speed.Series = append(speed.Series, lab.Series{Name: "CPU to Griffin, the paper", Paper: true, Points: lab.Heights(papers...)})
		r.Figures = append(r.Figures, speed)
	}
	if n := len(runs.queries); n < 1000 {
		r.Notes = append(r.Notes, fmt.Sprintf("Of %d queries.", n))
	}
	return r
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
