package experiments

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Table3() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table3", Paper: "ding09", Shows: "Table 3", Title: "Shares of the steps of a query on the GPU",
		Did: "The share of each step in the time of GPU query processing, for the queries of Table 2. AND: top-k scoring 8 %, intersection 45 %, decompression 47 %. " +
			"OR: initialization 9 %, decompression 30 %, scoring 48 %, top-k 13 %.",
		Ours: "The trace of the engine ding09 with `on=gpu,cache=32768`, for the queries of [Table 2](ding09-table2.md), with all lists in device memory. " +
			"A step's time is the device time between events on the stream; of each query it is the median of 9 rounds after a warm-up, in which all hits are compared with Griffin on the CPU. " +
			"Shares are of the sums over queries, without transfers of lists. The longest tenth are the queries with the most postings. " +
			"Griffin's own engine is not in the tables: it has no such steps, because one launch does all of them.",
		Differs: "300 queries. The paper has no initialization of an AND; here it is the copy of the structures of exceptions and the clearing of counters and results. Waits of the " +
			"device between short kernels count for the step in which they occur. Directions: the paper's steps of an AND are proportional to the data; here most " +
			"are the same few microseconds of a launch, also those of scores and of the best 10. An AND also scores more documents than in the paper if a larger share of the shortest lists matches; " +
			"the note states this share, the paper does not.",
		Verdicts: ding09Table3Verdicts,
		Budget:   5 * time.Minute,
		Run:      runDing09Table3,
	}
}

// The steps of the engine, as its trace names them.
const (
	ding09Initialization = "initialization"
	ding09Decompression  = "decompression"
	ding09Intersection   = "intersection"
	ding09Scoring        = "scoring"
	ding09TopK           = "top-k"
)

var ding09AllSteps = []string{ding09Initialization, ding09Decompression, ding09Intersection, ding09Scoring, ding09TopK}

func runDing09Table3(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	rows := []string{"all queries", "longest tenth"}
	and := lab.NewTable("AND, percent of the time", "", rows, []string{"top-k scoring", "intersection", "decompression", "initialization"})
	or := lab.NewTable("OR, percent of the time", "", rows, []string{ding09Initialization, ding09Decompression, ding09Scoring, ding09TopK})
	times := lab.NewTable("Device time, µs a query", "", []string{"AND", "OR", "AND+OR"}, append(slices.Clone(ding09AllSteps), "all steps"))
	and.SetPapers(0, 8, 45, 47)
	or.SetPapers(0, 9, 30, 48, 13)
	r := &lab.Result{Tables: []*lab.Table{and, or, times}}
	if d == nil {
		for _, t := range r.Tables {
			for row := range t.Rows {
				t.LeaveRow(row, noDevice)
			}
		}
		return r, nil
	}
	if _, _, err := gov2(ctx, env); err != nil {
		return nil, err
	}
	s, err := newDing09Sample(ctx, env)
	if err != nil {
		return nil, err
	}
	byMode, err := s.allSteps(ctx, env)
	if err != nil {
		return nil, err
	}
	longest := s.longest()
	for row, queries := range [][]int{longest, longest[:max(1, len(longest)/10)]} {
		ding09Shares(and, row, byMode[0], queries, [][]string{{ding09Scoring, ding09TopK}, {ding09Intersection}, {ding09Decompression}, {ding09Initialization}})
		ding09Shares(or, row, byMode[1], queries, [][]string{{ding09Initialization}, {ding09Decompression}, {ding09Scoring}, {ding09TopK}})
	}
	for row, steps := range byMode {
		for column, name := range ding09AllSteps {
			times.Set(row, column, ding09MicrosecondsEach(steps.sum(longest, name), len(longest)))
		}
		times.Set(row, len(ding09AllSteps), ding09MicrosecondsEach(steps.sum(longest, ding09AllSteps...), len(longest)))
	}
	r.Notes = []string{s.note()}
	r.Figures = []*lab.Figure{ding09SharesFigure(and, 3), ding09SharesFigure(or, 4)}
	return r, nil
}

func ding09MicrosecondsEach(sum time.Duration, n int) float64 {
	return sum.Seconds() * 1e6 / float64(max(n, 1))
}

// allSteps returns the steps by mode.
func (s *ding09Sample) allSteps(ctx context.Context, env *lab.Env) (byMode []ding09Steps, err error) {
	e, err := openDing09(ctx, env, s.c, s.queries, ding09OnGPU)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	for mode := range ding09Modes {
		steps, err := s.steps(ctx, env, e, mode, lab.Pick(env, 9, 1))
		if err != nil {
			return nil, err
		}
		byMode = append(byMode, steps)
	}
	return byMode, nil
}

// longest returns the queries, the most postings first.
func (s *ding09Sample) longest() []int {
	order := make([]int, len(s.queries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.postings[b], s.postings[a]) })
	return order
}

func ding09Shares(t *lab.Table, row int, steps ding09Steps, queries []int, columns [][]string) {
	all := max(steps.sum(queries, ding09AllSteps...), 1)
	for column, names := range columns {
		t.Set(row, column, 100*float64(steps.sum(queries, names...))/float64(all))
	}
}

// ding09SharesFigure draws the columns that the paper has.
func ding09SharesFigure(t *lab.Table, columns int) *lab.Figure {
	f := &lab.Figure{Title: t.Title, Kind: lab.Bars, X: "step", Y: "percent", Categories: t.Columns[:columns]}
	for row, name := range t.Rows {
		values := make([]float64, columns)
		for i := range values {
			values[i] = *t.Cells[row][i].Ours
		}
		f.Series = append(f.Series, lab.Series{Name: name, Points: lab.Heights(values...)})
	}
	papers := make([]float64, columns)
	for i := range papers {
		papers[i] = *t.Cells[0][i].Paper
	}
	f.Series = append(f.Series, lab.Series{Name: "the paper, 2009", Paper: true, Points: lab.Heights(papers...)})
	return f
}
