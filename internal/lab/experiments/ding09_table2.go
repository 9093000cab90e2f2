package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
)

func ding09Table2() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table2", Paper: "ding09", Shows: "Table 2", Title: "Query processing on CPU and GPU",
		Did: "Mean milliseconds of a top-10 query, for 1,000 queries on GOV2 with 3.74 million postings each: AND," +
			" OR, and AND followed by OR if there are fewer than 10 results. The CPU runs document at a time over" +
			" PForDelta and scores all matches.",
		Ours: "A generated collection similar to GOV2 with 3.74 million postings per query, on one core. First with" +
			" the paper's method: AND from the shortest list on with skip pointers, OR over all postings, " +
			"document at a time. Then with Griffin's own choice of traversals, which skip documents that cannot " +
			"be among the best ten. Likewise on the GPU: the paper's stages, list by list, and Griffin's image " +
			"search. Lists are in device memory; times end when the host has the hits, which are identical " +
			"everywhere.",
		Differs: "Lists are packed by `simdbp` instead of PForDelta. Only the first 300 queries. The CPU was an Intel " +
			"Core 2 Duo of 2.66 GHz.",
		Budget: 4 * time.Minute,
		Run:    runDing09Table2,
	}
}

func runDing09Table2(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	queries = queries[:min(len(queries), lab.Pick(env, 300, 20))]
	run := func(mode plan.Mode, traversal string, runs int) (*answers, error) {
		return answer(ctx, env, c, queries, lab.Pick(env, runs, 1), dispatch.Options{Mode: mode, K: stagedK, Traversal: traversal})
	}
	t := lab.NewTable("Milliseconds a query, top 10", "", []string{"CPU, as the paper", "CPU, Griffin", "GPU, as the paper", "GPU, Griffin"}, []string{"AND", "OR", "AND+OR"})
	t.SetPapers(0, 8.71, 212.72, 23.85)
	t.SetPapers(2, 7.66, 29.31, 9.98)
	and, err := run(plan.ModeAnd, "svs-binary", 2)
	if err != nil {
		return nil, err
	}
	or, err := run(plan.ModeOr, "exhaustive-daat", 1)
	if err != nil {
		return nil, err
	}
	t.Set(0, 0, and.milliseconds())
	t.Set(0, 1, or.milliseconds())
	t.Set(0, 2, and.orElse(or))
	own := make([]float64, 3)
	for column, mode := range []plan.Mode{plan.ModeAnd, plan.ModeOr, plan.ModeAndOr} {
		a, err := run(mode, "", 3)
		if err != nil {
			return nil, err
		}
		own[column] = a.milliseconds()
		t.Set(1, column, own[column])
	}
	device, err := deviceRows(ctx, env, t, c, queries, and, or)
	if err != nil {
		return nil, err
	}
	figure := &lab.Figure{
		Title: "Milliseconds a query, top 10", Kind: lab.Bars, LogY: true, X: "mode", Y: "ms", Categories: t.Columns,
		Series: []lab.Series{
			{Name: "CPU, as the paper", Points: lab.Heights(and.milliseconds(), or.milliseconds(), and.orElse(or))},
			{Name: "CPU, Griffin", Points: lab.Heights(own...)},
			{Name: "CPU of the paper, 2009", Paper: true, Points: lab.Heights(8.71, 212.72, 23.85)},
		},
	}
	figure.Series = append(figure.Series, device...)
	ratios := lab.NewTable("How much dearer than AND", "", []string{"CPU, as the paper", "CPU, Griffin"}, []string{"OR", "AND+OR"})
	ratios.SetPapers(0, 212.72/8.71, 23.85/8.71)
	ratios.Set(0, 0, or.milliseconds()/and.milliseconds())
	ratios.Set(0, 1, and.orElse(or)/and.milliseconds())
	ratios.Set(1, 0, own[1]/own[0])
	ratios.Set(1, 1, own[2]/own[0])
	return &lab.Result{Tables: []*lab.Table{t, ratios}, Figures: []*lab.Figure{figure}}, nil
}

// deviceRows fills the GPU rows and returns their bars, after comparing the
// hits with the CPU's.
func deviceRows(ctx context.Context, env *lab.Env, t *lab.Table, c *lab.Collection, queries []lab.Query, and, or *answers) ([]lab.Series, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	if d == nil {
		t.LeaveRow(2, noDevice)
		t.LeaveRow(3, noDevice)
		return nil, nil
	}
	staged, _, _, err := stagedAnswers(ctx, env, d, c, queries, and, or)
	if err != nil {
		return nil, err
	}
	own, err := fastAnswers(ctx, env, c, queries, and, or)
	if err != nil {
		return nil, err
	}
	for column := range staged {
		t.Set(2, column, staged[column])
		t.Set(3, column, own[column])
	}
	return []lab.Series{
		{Name: "GPU, as the paper", Points: lab.Heights(staged...)},
		{Name: "GPU, Griffin", Points: lab.Heights(own...)},
		{Name: "GPU of the paper, 2009", Paper: true, Points: lab.Heights(7.66, 29.31, 9.98)},
	}, nil
}

// stagedAnswers returns the milliseconds per query with the paper's stages, for
// AND, OR, and AND+OR, and the times of the stages.
func stagedAnswers(ctx context.Context, env *lab.Env, d *lab.Device, c *lab.Collection, queries []lab.Query, and, or *answers) (ms []float64, andTimes, orTimes *stagedTimes, err error) {
	e, err := newStagedEngine(d, c, queries)
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() { err = errors.Join(err, e.free()) }()
	if andTimes, err = e.run(ctx, env, queries, lab.Pick(env, 3, 1), e.and); err != nil {
		return nil, nil, nil, err
	}
	if err = and.same("AND on the GPU", andTimes.hits); err != nil {
		return nil, nil, nil, err
	}
	if orTimes, err = e.run(ctx, env, queries, lab.Pick(env, 3, 1), e.or); err != nil {
		return nil, nil, nil, err
	}
	if err = or.same("OR on the GPU", orTimes.hits); err != nil {
		return nil, nil, nil, err
	}
	both := (&answers{times: andTimes.wall, hits: and.hits}).orElse(&answers{times: orTimes.wall})
	return []float64{andTimes.milliseconds(), orTimes.milliseconds(), both}, andTimes, orTimes, nil
}

// fastAnswers returns the milliseconds per query of image search.
func fastAnswers(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, and, or *answers) (ms []float64, err error) {
	gpu, err := dispatch.OpenGPU(dispatch.GPUOptions{Device: env.DeviceName()}, dispatch.ListBytes(c.Snapshot))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, gpu.Close()) }()
	if _, _, err := gpu.Warm(ctx, c.Snapshot, dispatch.WarmOptions{}); err != nil {
		return nil, err
	}
	d, err := dispatch.NewDispatcher(gpu, dispatch.Config{Policy: dispatch.PolicyGPU})
	if err != nil {
		return nil, err
	}
	searcher := dispatch.NewSearcher(c.Snapshot, nil)
	searcher.Use(d)
	for _, mode := range []plan.Mode{plan.ModeAnd, plan.ModeOr, plan.ModeAndOr} {
		a, err := answerBy(ctx, env, c, searcher, queries, lab.Pick(env, 5, 1), dispatch.Options{Mode: mode, K: stagedK})
		if err != nil {
			return nil, err
		}
		switch mode {
		case plan.ModeAnd:
			err = and.same("AND by image search", a.found)
		case plan.ModeOr:
			err = or.same("OR by image search", a.found)
		}
		if err != nil {
			return nil, err
		}
		ms = append(ms, a.milliseconds())
	}
	if s := gpu.Stats(); s.OnCPU > 0 {
		return nil, fmt.Errorf("%d of %d queries went to the CPU", s.OnCPU, s.OnCPU+s.OnGPU)
	}
	return ms, nil
}
