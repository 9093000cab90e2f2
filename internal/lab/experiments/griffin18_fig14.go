package experiments

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Fig14() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig14", Paper: "griffin18", Shows: "Fig. 14", Title: "Latency of a query by number of terms",
		Did: "Queries of TREC 2005 and 2006 over about 100 GB of ClueWeb12, lists in host memory, one query at a " +
			"time: mean latency by number of terms with the CPU alone, with Griffin-GPU alone, and with Griffin, " +
			"which moves a query from the GPU to the CPU when the next list reaches 128 times the length of the " +
			"intermediate result. Griffin is on average about 10 times as fast as the CPU and about 1.5 times as " +
			"fast as the GPU alone.",
		Ours: "AND queries, best 10, on a collection similar to the paper's part of ClueWeb12, one at a time. The " +
			"paper's systems are the engine griffin18 with `on=cpu`, `on=gpu` and `on=both` at its defaults. " +
			"10,000 queries run, as in the paper. Lists are in host memory, and are copied whole, or by block where the GPU searches, for each query. " +
			"Griffin's own engine is a separate series: on one CPU thread; with its default policy and GPU memory for a tenth of the " +
			"lists, the others in page-locked host memory; and with all lists of 1,000 or more postings on the GPU before the queries, in 20 GiB. " + fmt.Sprintf(griffin18Timed, fig14Rounds) + "Cells are means over the queries.",
		Differs: griffin18Differs + "The paper prints a figure of latencies without numbers; its two " +
			"speed-ups over the whole log stand in the rows of totals.",
		Findings: fig14Findings, Verdicts: fig14Verdicts,
		Budget: 10 * time.Minute,
		Run:    runGriffin18Fig14,
	}
}

// By number of terms; the last includes higher numbers.
var fig14Terms = []string{"1", "2", "3", "4", "5", "6 and more"}

const fig14Rounds = 3

// Indexes in fig14Systems.
const (
	fig14CPU = iota
	fig14GPU
	fig14Griffin
	fig14OwnCPU
	fig14OwnHost
	fig14Own
)

var fig14Systems = []griffin18System{
	fig14CPU:     {name: "CPU", spec: "griffin18:on=cpu"},
	fig14GPU:     {name: "Griffin-GPU", spec: "griffin18:on=gpu", gpu: true},
	fig14Griffin: {name: "Griffin", spec: "griffin18", gpu: true},
	fig14OwnCPU:  {name: "Griffin's own engine, CPU"},
	fig14OwnHost: {name: "Griffin's own engine, lists in host memory", gpu: true, memory: "10%"},
	fig14Own:     {name: "Griffin's own engine", gpu: true},
}

// The paper's speed-ups of Griffin.
const (
	paperOverCPU = 10
	paperOverGPU = 1.5
)

// fig14Runs are the measurements of griffin18-fig14 and griffin18-fig15.
type fig14Runs struct {
	queries []lab.Query
	us      [][]float64 // by fig14Systems, then query: medians; nil: not measured
	paths   []spent     // of Griffin; nil: not measured
}

// Times by fig14Systems.
func measureFig14(ctx context.Context, env *lab.Env) (*fig14Runs, string, error) {
	_, noDevice, err := env.Device()
	if err != nil {
		return nil, "", err
	}
	c, queries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, "", err
	}
	runs, err := lab.Shared(env, "griffin18 systems", func() (_ *fig14Runs, err error) {
		r := &fig14Runs{queries: spread(queries, lab.Pick(env, allQueries, 20)), us: make([][]float64, len(fig14Systems))}
		s, err := newSystems(env, c)
		if err != nil {
			return nil, err
		}
		defer func() { err = errors.Join(err, s.close()) }()
		measured, err := s.open(ctx, fig14Systems)
		if err != nil {
			return nil, err
		}
		us, _, err := s.measure(ctx, "queries", r.queries, lab.Pick(env, fig14Rounds, 1))
		if err != nil {
			return nil, err
		}
		for k, i := range measured {
			r.us[i] = us[k]
			if i == fig14Griffin {
				if r.paths, err = s.trace(ctx, s.all[k], r.queries, 1); err != nil {
					return nil, err
				}
			}
		}
		return r, nil
	})
	return runs, noDevice, err
}

func runGriffin18Fig14(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	runs, noDevice, err := measureFig14(ctx, env)
	if err != nil {
		return nil, err
	}
	return fig14Result(runs, noDevice), nil
}

// Columns of ratios, as indexes in fig14Systems.
var fig14Ratios = []struct {
	name   string
	of, to int
	paper  float64 // 0: none
}{
	{"CPU to Griffin", fig14CPU, fig14Griffin, paperOverCPU},
	{"Griffin-GPU to Griffin", fig14GPU, fig14Griffin, paperOverGPU},
	{"Griffin to Griffin's own engine", fig14Griffin, fig14Own, 0},
}

func fig14Result(runs *fig14Runs, noDevice string) *lab.Result {
	groups, names := fig14Groups(runs.queries)
	rows := withTotals(groups, names)
	columns := []string{"queries"}
	for _, s := range fig14Systems {
		columns = append(columns, s.name)
	}
	for _, x := range fig14Ratios {
		columns = append(columns, x.name)
	}
	first := len(columns)
	columns = append(columns, "Griffin: all on the GPU, %", "migrate, %", "all on the CPU, %")
	t := lab.NewTable("Mean latency of an AND query, µs", "terms", append(names, fig14Totals...), columns)
	f := &lab.Figure{Title: t.Title, Kind: lab.Bars, LogY: true, X: "terms", Y: "mean latency, µs", Categories: t.Rows}
	speed := &lab.Figure{Title: "How many times as fast Griffin is", Kind: lab.Bars, LogY: true, X: "terms", Y: "times", Categories: t.Rows}
	for row, members := range rows {
		t.Set(row, 0, float64(len(members)))
		for v := range fig14Systems {
			mean, ok := meanOf(runs.us[v], members)
			setIf(t, row, 1+v, mean, ok, noDevice)
		}
		for j, x := range fig14Ratios {
			column := 1 + len(fig14Systems) + j
			if x.paper > 0 && row >= len(groups) {
				t.SetPaper(row, column, x.paper)
			}
			of, ok := meanOf(runs.us[x.of], members)
			to, both := meanOf(runs.us[x.to], members)
			setIf(t, row, column, of/max(to, 1e-3), ok && both, noDevice)
		}
		for j, percent := range runs.placed(members) {
			setIf(t, row, first+j, percent, runs.paths != nil, noDevice)
		}
	}
	for v, s := range fig14Systems {
		if runs.us[v] != nil {
			f.Series = append(f.Series, lab.Series{Name: s.name, Points: columnOf(t, 1+v)})
		}
	}
	r := &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{f}}
	if runs.us[fig14Griffin] != nil {
		for j, x := range fig14Ratios[:2] {
			speed.Series = append(speed.Series,
				lab.Series{Name: x.name, Points: columnOf(t, 1+len(fig14Systems)+j)},
				lab.Series{Name: x.name + ", the paper's mean", Paper: true, Points: lab.Heights(slices.Repeat([]float64{x.paper}, len(t.Rows))...)})
		}
		r.Figures = append(r.Figures, speed)
	}
	return r
}

// columnOf returns a filled column as heights.
func columnOf(t *lab.Table, column int) []lab.Point {
	var values []float64
	for row := range t.Rows {
		values = append(values, *t.Cells[row][column].Ours)
	}
	return lab.Heights(values...)
}

// placed returns the percentages of queries that Griffin answers on the GPU, on
// both processors, and on the CPU.
func (r *fig14Runs) placed(members []int) [3]float64 {
	var of [3]float64
	if r.paths == nil {
		return of
	}
	for _, i := range members {
		switch p := &r.paths[i]; {
		case p.migrated:
			of[1] += 100 / float64(len(members))
		case p.gpu > 0:
			of[0] += 100 / float64(len(members))
		default:
			of[2] += 100 / float64(len(members))
		}
	}
	return of
}

func meanOf(us []float64, members []int) (float64, bool) {
	if us == nil || len(members) == 0 {
		return 0, false
	}
	return mean(pick(us, members)), true
}

// setIf fills a cell, or omits it if there is no value.
func setIf(t *lab.Table, row, column int, value float64, ok bool, reason string) {
	if !ok {
		t.Leave(row, column, reason)
		return
	}
	t.Set(row, column, value)
}

// The queries of each non-empty group, and the groups' names.
func fig14Groups(queries []lab.Query) (groups [][]int, names []string) {
	by := make([][]int, len(fig14Terms))
	for i := range queries {
		g := min(len(queries[i].Terms), len(by)) - 1
		by[g] = append(by[g], i)
	}
	for g, members := range by {
		if len(members) > 0 {
			groups, names = append(groups, members), append(names, fig14Terms[g])
		}
	}
	return groups, names
}

var fig14Totals = []string{"2 and more", "all"}

func withTotals(groups [][]int, names []string) [][]int {
	all, several := slices.Concat(groups...), []int(nil)
	for i, g := range groups {
		if names[i] != fig14Terms[0] {
			several = append(several, g...)
		}
	}
	return append(slices.Clone(groups), several, all)
}

func pick[T any](values []T, members []int) []T {
	var some []T
	for _, i := range members {
		some = append(some, values[i])
	}
	return some
}
