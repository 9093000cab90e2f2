package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/trec"
)

var defaultMeasures = []string{
	"num_q", "num_ret", "num_rel", "num_rel_ret",
	"map", "recip_rank", "P.5,10,30", "recall.10,100,1000", "ndcg_cut.10,100",
}

type evalOptions struct {
	qrels    string
	measures []string
	perQuery bool
	complete bool
	level    int
	depth    int
}

func newEvalCommand(a *app) *cobra.Command {
	var o evalOptions
	c := &cobra.Command{
		Use:   "eval --qrels QRELS RUN [RUN]",
		Short: "Compute MAP, nDCG, P, recall, MRR of a run, as trec_eval does",
		Long: `Eval compares a TREC run with relevance judgements and prints the measures of
trec_eval 9: documents are ordered by score, ties by descending document id, and the
ranks in the file are ignored. Two runs are compared with a paired t test and a
randomisation test.`,
		Example: `  griffin eval --qrels qrels.txt bm25.run
  griffin eval --qrels qrels.txt -m AP -m nDCG@10 --per-query bm25.run
  griffin eval --qrels qrels.txt --json before.run after.run`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error { return a.eval(cmd.Context(), o, args) },
	}
	f := c.Flags()
	f.StringVar(&o.qrels, "qrels", "", "judgements: TREC qrels or BEIR's TSV (required)")
	f.StringArrayVarP(&o.measures, "measure", "m", defaultMeasures, "measure, as in trec_eval (map, P.30, ndcg_cut_10) or ir-measures (AP, P@30, nDCG@10); all: every measure")
	f.BoolVar(&o.perQuery, "per-query", false, "also print the values of each query")
	f.BoolVarP(&o.complete, "complete", "c", false, "average over all judged queries; queries without results count 0 (trec_eval -c)")
	f.IntVarP(&o.level, "level", "l", 1, "smallest judgement that counts as relevant (trec_eval -l)")
	f.IntVarP(&o.depth, "depth", "M", 0, "documents of each ranking to evaluate; 0: all (trec_eval -M)")
	_ = c.MarkFlagRequired("qrels")
	return c
}

func (a *app) eval(ctx context.Context, o evalOptions, runs []string) error {
	measures, err := parseMeasures(o.measures)
	if err != nil {
		return err
	}
	qrels, err := readFile(ctx, a.in, o.qrels, trec.ReadQrels)
	if err != nil {
		return err
	}
	evaluations := make([]*trec.Evaluation, len(runs))
	for i, path := range runs {
		run, err := readFile(ctx, a.in, path, trec.ReadRun)
		if err != nil {
			return err
		}
		opts := trec.Options{RelevanceLevel: o.level, Depth: o.depth, Complete: o.complete}
		if evaluations[i], err = trec.Evaluate(qrels, run, measures, opts); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		if n := len(evaluations[i].Missing); n > 0 && !o.complete {
			a.notef("%s: %s without results, left out of the means (count them as 0 with --complete)", path, plural(n, "judged query"))
		}
	}
	if len(runs) == 2 {
		return compareRuns(a.console, runs, evaluations)
	}
	if a.json {
		return a.printJSON(evaluations[0])
	}
	return evaluations[0].Write(a.out, o.perQuery)
}

func compareRuns(con *console, runs []string, ev []*trec.Evaluation) error {
	var rows []trec.Comparison
	for _, m := range ev[0].Measures {
		row, err := trec.Compare(ev[0], ev[1], m.String())
		if errors.Is(err, trec.ErrNotMean) {
			continue // counts and geometric means are not compared
		}
		if err != nil {
			return err
		}
		rows = append(rows, row)
	}
	if con.json {
		return con.printJSON(map[string]any{"a": runs[0], "b": runs[1], "comparisons": rows})
	}
	con.printf("A = %s\nB = %s\n\n%-16s %8s %8s %8s %7s %7s %9s %9s\n", runs[0], runs[1],
		"measure", "A", "B", "B-A", "better", "worse", "p (t)", "p (rand)")
	for _, r := range rows {
		con.printf("%-16s %8.4f %8.4f %+8.4f %7d %7d %9.4f %9.4f\n", r.Measure, r.MeanA, r.MeanB, r.MeanB-r.MeanA,
			r.Better, r.Worse, r.TPValue, r.RandomPValue)
	}
	return nil
}

func parseMeasures(names []string) ([]trec.Measure, error) {
	var all []trec.Measure
	for _, name := range names {
		if name == "all" {
			return trec.AllMeasures(), nil
		}
		m, err := trec.ParseMeasures(name)
		if err != nil {
			return nil, usagef("--measure %s: %w", name, err)
		}
		all = append(all, m...)
	}
	return all, nil
}
