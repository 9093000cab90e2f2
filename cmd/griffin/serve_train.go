package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/query"
	"github.com/griffin-search/griffin/trec"
)

type trainOptions struct {
	deviceFlags
	queries string
	k       int
	train   int
}

func newTrainCommand(a *app) *cobra.Command {
	var o trainOptions
	c := &cobra.Command{
		Use:   "train INDEX --queries FILE",
		Short: "Fit the cost models of CPU and GPU to a query log",
		Long: `Train runs every query of a file as OR and as AND, on the CPU and on the GPU if there
is one, and fits two models to the measured times: the model of policy cost, and for
policy query a model tree for each processor and mode. The inputs of a tree are the
lengths of the two shortest lists, the sum of all lengths and the number of terms
(Ding et al., WWW 2009). Train prints the errors of both models on queries that it did
not train on, and saves the models in the index folder, for this machine.

Without training, the model of policy cost is fitted to random queries when the index
is first used with a GPU, and policy query uses that model. Train with the --gpu-memory
and --gpu-host-memory of later use: the times of a GPU depend on them.`,
		Example: `  griffin train wiki.idx --queries tb05.tsv
  griffin train wiki.idx --queries tb05.tsv --device cpu --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.train(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics (required)")
	f.IntVar(&o.train, "train", 0, "queries to train on, at least 20; the others are for testing (default: 3000, at most three quarters)")
	f.IntVarP(&o.k, "k", "k", griffin.DefaultK, "hits for each query")
	f.StringVar(&o.device, "device", "auto", "processors to measure: `DEVICE` is cpu, gpu (CPU and all GPUs), auto (GPUs if there are any), or numbers of GPUs such as 0,1")
	o.registerMemory(f)
	o.ratio = dispatch.DefaultRatio // there is no flag
	_ = c.MarkFlagRequired("queries")
	return c
}

// trainResult is the JSON of "griffin train".
type trainResult struct {
	Index string `json:"index"`
	griffin.TrainReport
	// Paper has the errors of Ding et al., for AND.
	Paper   map[string]float64 `json:"paper_mean_relative_error"`
	Saved   bool               `json:"saved"`
	Took    time.Duration      `json:"took_ns"`
	Machine string             `json:"machine"`
}

// paperErrors are the mean relative errors of Ding et al. (WWW 2009, §9), by processor.
var paperErrors = map[string]float64{"cpu": 0.20, "gpu": 0.22}

func (a *app) train(ctx context.Context, o trainOptions, dir string) (err error) {
	if o.k < 1 || o.k > griffin.MaxK || o.train < 0 {
		return usagef("--k must be from 1 to %d, --train must not be negative", griffin.MaxK)
	}
	if err := o.deviceFlags.check(); err != nil {
		return err
	}
	topics, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	ix, closeIndex, err := o.openIndex(dir, griffin.RuntimeOptions{Limits: &griffin.Limits{}}, griffin.Options{}) // with limits, a CPU has a model too
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeIndex()) }()
	noteCosts(a.console, ix.Runtime().CostModelError())
	stats, err := ix.Stats()
	if err != nil {
		return err
	}
	queries, err := queriesOf(topics, stats.WeightScale > 0)
	if err != nil {
		return fmt.Errorf("%s: %w", o.queries, err)
	}
	start := time.Now()
	bar := a.newProgress()
	report, err := ix.Train(ctx, queries, griffin.TrainOptions{K: o.k, Train: o.train, Progress: bar.items("measure", "queries")})
	bar.close()
	if errors.Is(err, griffin.ErrBadInput) {
		return fmt.Errorf("%s: %w", o.queries, err)
	}
	if err != nil {
		return err
	}
	r := trainResult{Index: filepath.Base(dir), TrainReport: report, Paper: paperErrors, Took: time.Since(start), Machine: machine(), Saved: report.SaveErr == nil}
	if !r.Saved {
		a.notef("the models could not be saved: %v", report.SaveErr)
	}
	if a.json {
		return a.printJSON(&r)
	}
	printTrained(a.console, &r)
	return nil
}

// queriesOf returns words or, for an index of weights, vectors.
func queriesOf(topics []trec.Topic, weighted bool) ([]query.Node, error) {
	queries := make([]query.Node, len(topics))
	for i, t := range topics {
		queries[i] = &query.Words{Text: t.Title, Boost: 1}
		if weighted && query.IsWeights(t.Title) {
			node, err := query.ParseWeights(t.Title)
			if err != nil {
				return nil, fmt.Errorf("query %s: %w", t.ID, err)
			}
			queries[i] = node
		}
	}
	return queries, nil
}

func printTrained(con *console, r *trainResult) {
	st := con.style(con.out)
	con.printf("%s, %d of them trained on, in %s\n%s\n\n", plural(r.Queries, "query"), r.Train, took(r.Took), r.Machine)
	con.printf("%smean relative error on the other queries%s\n", st.bold, st.reset)
	con.printf("%s%-4s %-4s %8s %8s %7s %9s %9s %9s%s\n", st.bold, "", "mode", "trained", "tested", "leaves", "tree", "model", "Ding", st.reset)
	for _, t := range r.Trees {
		paper := "-"
		if t.Mode == griffin.ModeAnd {
			paper = percentOf(r.Paper[t.Processor])
		}
		tree, model := percentOf(t.Error), percentOf(t.ModelError)
		if t.Tested == 0 {
			tree, model = "-", "-"
		}
		con.printf("%-4s %-4s %8d %8d %7d %9s %9s %9s\n", t.Processor, t.Mode, t.Queries, t.Tested, t.Leaves, tree, model, paper)
	}
	if !slices.ContainsFunc(r.Trees, func(t griffin.TrainedTree) bool { return t.Processor == "gpu" }) {
		con.printf("\nno GPU was used: only the CPU is known\n")
	}
}
