package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/plan"
)

func ding09Table3() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-table3", Paper: "ding09", Shows: "Table 3", Title: "Shares of the steps of a query on the GPU",
		Did: "The share of each step in the time of GPU query processing. AND: top-k scoring 8 %, intersection 45 %, decompression 47 %. " +
			"OR: initialization 9 %, decompression 30 %, scoring 48 %, top-k 13 %.",
		Ours: "The paper's stages on a generated collection similar to GOV2, the first 300 of its queries, lists in" +
			" device memory. The shortest list is decoded, and of the others the blocks that can contain " +
			"candidates. OR adds every posting, list by list, to an accumulator per document. A 512-way heap " +
			"selects the best 10. Shares of the device time between events on the stream.",
		Differs: "Lists are packed by `simdbp` instead of PForDelta. Griffin's choice between merging and searching " +
			"finds the candidates. Waits between short kernels count for the stage in which they occur.",
		Budget: 3 * time.Minute,
		Run:    runDing09Table3,
	}
}

func runDing09Table3(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	d, noDevice, err := env.Device()
	if err != nil {
		return nil, err
	}
	and := lab.NewTable("AND, percent of the time", "", []string{"share"}, []string{"top-k scoring", "intersection", "decompression"})
	or := lab.NewTable("OR, percent of the time", "", []string{"share"}, []string{"initialization", "decompression", "scoring", "top-k"})
	and.SetPapers(0, 8, 45, 47)
	or.SetPapers(0, 9, 30, 48, 13)
	r := &lab.Result{Tables: []*lab.Table{and, or}}
	if d == nil {
		and.LeaveRow(0, noDevice)
		or.LeaveRow(0, noDevice)
		return r, nil
	}
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	queries = queries[:min(len(queries), lab.Pick(env, 300, 20))]
	foundAnd, err := answer(ctx, env, c, queries, 0, dispatch.Options{Mode: plan.ModeAnd, K: stagedK})
	if err != nil {
		return nil, err
	}
	foundOr, err := answer(ctx, env, c, queries, 0, dispatch.Options{Mode: plan.ModeOr, K: stagedK})
	if err != nil {
		return nil, err
	}
	_, a, o, err := stagedAnswers(ctx, env, d, c, queries, foundAnd, foundOr)
	if err != nil {
		return nil, err
	}
	for column, stages := range [][]stageName{{stageScoring, stageTopK}, {stageIntersection}, {stageDecompression, stageInitialization}} {
		and.Set(0, column, a.share(stages...))
	}
	for column, s := range []stageName{stageInitialization, stageDecompression, stageScoring, stageTopK} {
		or.Set(0, column, o.share(s))
	}
	return r, nil
}
