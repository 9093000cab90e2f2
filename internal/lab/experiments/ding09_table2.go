package experiments

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Table2() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table2", Paper: "ding09", Shows: "Table 2", Title: "Query processing on CPU and GPU",
		Did: "Mean milliseconds of a top-10 query, for 1,000 queries on GOV2 (25.2 million documents) with 3.74 million postings each: AND," +
			" OR, and AND followed by OR if there are fewer than 10 results. The CPU runs document at a time over" +
			" PForDelta, on one core. All lists are in main memory for the CPU, and in global memory for the GPU.",
		Ours: "The engine ding09 (`griffin engines`) on a generated collection similar to GOV2, with `on=cpu` on one core and with `on=gpu,cache=32768`, so " +
			"that all lists stay in GPU memory. Griffin's own engine answers the same queries on the same processors; its traversals skip " +
			"documents that cannot be among the best ten. One query in 14 has fewer than 10 conjunctive results; these queries are drawn from the same log, and the note below states their share. " +
			"A number is the mean over the queries; a query's time is the median of 3 rounds on the CPU and of 9 on the GPU, after a warm-up, by the host's clock. " +
			"The timed region begins with a planned query and ends when the host has the hits. It includes launches and the copies of the query's structure and of the hits; " +
			"it excludes parsing, the coding of lists and their transfer to the GPU. In the warm-up, all hits are compared with Griffin on the CPU. " +
			"The last column is not a measurement of AND+OR: it adds the times of the separate AND and OR.",
		Differs: "300 queries. The CPU decodes blocks to DocIDs, not to gaps. The CPU was an Intel Core 2 Duo of 2.66 GHz, the GPU a GeForce 8800 GTS. " +
			"Directions: the paper's GPU is hardly faster on AND than the CPU, because a query is a chain of short kernels; on today's GPU the kernels are faster by more than " +
			"an order of magnitude, and launches dominate ([Table 3](ding09-table3.md)), so that OR costs less than the paper's 3.8 times AND. " +
			"On the CPU, AND is less cheap beside OR than in the paper: about half of its time goes into scores, because many documents of the shortest lists match in the generated collection (see the note). " +
			"Griffin's OR is not much dearer than its AND, or even cheaper, because block-max bounds skip most postings.",
		Verdicts: ding09Table2Verdicts,
		Budget:   9 * time.Minute,
		Run:      runDing09Table2,
	}
}

// ding09Systems are the rows of Table 2. The paper's times are milliseconds for ding09Modes.
var ding09Systems = []struct {
	name  string
	spec  string // of the engine ding09; "": Griffin's own
	gpu   bool
	paper []float64
}{
	{"CPU, engine ding09", ding09OnCPU, false, []float64{8.71, 212.72, 23.85}},
	{"GPU, engine ding09", ding09OnGPU, true, []float64{7.66, 29.31, 9.98}},
	{"CPU, Griffin", "", false, nil},
	{"GPU, Griffin", "", true, nil},
}

func runDing09Table2(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	if _, _, err := gov2(ctx, env); err != nil {
		return nil, err
	}
	s, err := newDing09Sample(ctx, env)
	if err != nil {
		return nil, err
	}
	var rows, columns []string
	for _, x := range ding09Systems {
		rows = append(rows, x.name)
	}
	for _, mode := range ding09Modes {
		columns = append(columns, map[string]string{"and": "AND", "or": "OR", "and+or": "AND+OR"}[mode.String()])
	}
	t := lab.NewTable("Milliseconds a query, top 10", "", rows, append(slices.Clone(columns), "AND, and OR where needed"))
	dearer := lab.NewTable("How much dearer than AND", "", rows, columns[1:])
	faster := lab.NewTable("How many times faster the GPU is", "", []string{"engine ding09", "Griffin"}, columns)
	ms := make([][]float64, len(rows)) // nil: not measured
	for row, x := range ding09Systems {
		if p := x.paper; p != nil {
			t.SetPapers(row, p...)
			dearer.SetPapers(row, p[1]/p[0], p[2]/p[0])
		}
		if x.gpu && d == nil {
			t.LeaveRow(row, noDevice)
			dearer.LeaveRow(row, noDevice)
			continue
		}
		if ms[row], err = s.system(ctx, env, x.name, x.spec, x.gpu); err != nil {
			return nil, err
		}
		for column, v := range ms[row] {
			t.Set(row, column, v)
			if 0 < column && column < len(columns) {
				dearer.Set(row, column-1, v/ms[row][0])
			}
		}
	}
	for row, pair := range [][2]int{{0, 1}, {2, 3}} {
		cpu, gpu := pair[0], pair[1]
		if ms[gpu] == nil {
			faster.LeaveRow(row, noDevice)
			continue
		}
		for column := range columns {
			faster.Set(row, column, ms[cpu][column]/ms[gpu][column])
		}
	}
	for column := range columns {
		faster.SetPaper(0, column, ding09Systems[0].paper[column]/ding09Systems[1].paper[column])
	}
	return &lab.Result{Tables: []*lab.Table{t, dearer, faster}, Figures: ding09Bars(ms, columns), Notes: []string{s.note()}}, nil
}

// system returns the mean milliseconds by mode, and of AND with the OR of the queries that need it.
func (s *ding09Sample) system(ctx context.Context, env *lab.Env, name, spec string, gpu bool) (ms []float64, err error) {
	var e *ding09Engine
	if spec != "" {
		e, err = openDing09(ctx, env, s.c, s.queries, spec)
	} else {
		e, err = openDing09Griffin(ctx, env, s.c, s.queries, !gpu)
	}
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	rounds := 3
	if gpu {
		rounds = 9
	}
	var byMode []*answers
	for mode := range ding09Modes {
		a, err := s.measure(ctx, env, e, name, mode, lab.Pick(env, rounds, 1))
		if err != nil {
			return nil, err
		}
		ms, byMode = append(ms, a.milliseconds()), append(byMode, a)
	}
	return append(ms, byMode[0].orElse(byMode[1])), nil
}

// ding09Bars draws a figure for each processor: the engine, the paper, and Griffin.
func ding09Bars(ms [][]float64, columns []string) []*lab.Figure {
	var figures []*lab.Figure
	for i, processor := range []string{"CPU", "GPU"} {
		if ms[i] == nil {
			continue
		}
		figures = append(figures, &lab.Figure{
			Title: "Milliseconds a query on the " + processor + ", top 10", Kind: lab.Bars, LogY: true, X: "mode", Y: "ms", Categories: columns,
			Series: []lab.Series{
				{Name: "engine ding09", Points: lab.Heights(ms[i][:len(columns)]...)},
				{Name: "Griffin", Points: lab.Heights(ms[2+i][:len(columns)]...)},
				{Name: "the paper, 2009", Paper: true, Points: lab.Heights(ding09Systems[i].paper...)},
			},
		})
	}
	return figures
}
