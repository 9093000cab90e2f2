package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Table2() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table2", Paper: "ding09", Shows: "Table 2", Title: "Query processing on CPU and GPU",
		Did: "Mean milliseconds of a top-10 query, for 1,000 queries on GOV2 with 3.74 million postings each: AND, OR, and AND followed by OR " +
			"if there are fewer than 10 results. The CPU runs document at a time over PForDelta, scoring all that matches.",
		Ours: "A generated collection like GOV2 with 3.74 million postings a query, on one core. Once in the paper's way: AND " +
			"from the shortest list on with skip pointers, OR over all postings, document at a time. And once in Griffin's: the traversals that it chooses " +
			"by itself, which skip what cannot be among the best ten.",
		Differs: "Lists are packed by `simdbp`, not by PForDelta. The first 300 of the queries. The CPU was an Intel Core 2 Duo of 2.66 GHz.",
		Budget:  4 * time.Minute,
		Run:     runDing09Table2,
	}
}

func runDing09Table2(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	queries = queries[:min(len(queries), lab.Pick(env, 300, 20))]
	const k = 10
	run := func(mode exec.Mode, traversal string, runs int) (*answers, error) {
		return answer(ctx, env, c, queries, lab.Pick(env, runs, 1), exec.Options{Mode: mode, K: k, Traversal: traversal})
	}
	t := lab.NewTable("Milliseconds a query, top 10", "", []string{"CPU, as the paper", "CPU, Griffin", "GPU"}, []string{"AND", "OR", "AND+OR"})
	t.SetPapers(0, 8.71, 212.72, 23.85)
	t.SetPapers(2, 7.66, 29.31, 9.98)
	t.LeaveRow(2, noGPU)
	and, err := run(exec.ModeAnd, "svs-binary", 2)
	if err != nil {
		return nil, err
	}
	or, err := run(exec.ModeOr, "exhaustive-daat", 1)
	if err != nil {
		return nil, err
	}
	t.Set(0, 0, and.milliseconds())
	t.Set(0, 1, or.milliseconds())
	t.Set(0, 2, and.orElse(or, k))
	own := make([]float64, 3)
	for column, mode := range []exec.Mode{exec.ModeAnd, exec.ModeOr, exec.ModeAndOr} {
		a, err := run(mode, "", 3)
		if err != nil {
			return nil, err
		}
		own[column] = a.milliseconds()
		t.Set(1, column, own[column])
	}
	figure := &lab.Figure{
		Title: "Milliseconds a query, top 10", Kind: lab.Bars, LogY: true, X: "mode", Y: "ms", Categories: t.Columns,
		Series: []lab.Series{
			{Name: "CPU, as the paper", Points: lab.Heights(and.milliseconds(), or.milliseconds(), and.orElse(or, k))},
			{Name: "CPU, Griffin", Points: lab.Heights(own...)},
			{Name: "CPU of the paper, 2009", Paper: true, Points: lab.Heights(8.71, 212.72, 23.85)},
		},
	}
	ratios := lab.NewTable("How much dearer than AND", "", []string{"CPU, as the paper", "CPU, Griffin"}, []string{"OR", "AND+OR"})
	ratios.SetPapers(0, 212.72/8.71, 23.85/8.71)
	ratios.Set(0, 0, or.milliseconds()/and.milliseconds())
	ratios.Set(0, 1, and.orElse(or, k)/and.milliseconds())
	ratios.Set(1, 0, own[1]/own[0])
	ratios.Set(1, 1, own[2]/own[0])
	return &lab.Result{Tables: []*lab.Table{t, ratios}, Figures: []*lab.Figure{figure}}, nil
}
