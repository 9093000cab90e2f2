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
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/query"
	"github.com/griffin-search/griffin/internal/vfs"
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
		Short: "Learn from a query log how long queries take, on the CPU and on the GPU",
		Long: `Train answers every query of a file on the CPU and, if there is one, on the GPU, as
OR and as AND, and learns what each takes: a model tree for each processor and mode
(policy query), over the lengths of the shortest list and the second shortest, the sum
of all lengths and the number of terms, as Ding et al. (WWW 2009) have them; and the
model of policy cost. It prints how far off both are on the queries that they were not
trained on, and keeps them in the folder of the index, for this machine.

Without it, the model of policy cost is fitted to queries of random terms the first
time that the index is used with a GPU, and policy query falls back on it. Train with
the --gpu-memory and --gpu-host-memory that queries will have: the times of a GPU depend on it.`,
		Example: `  griffin train wiki.idx --queries tb05.tsv
  griffin train wiki.idx --queries tb05.tsv --device cpu --json`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return a.train(cmd.Context(), o, args[0]) },
	}
	f := c.Flags()
	f.StringVar(&o.queries, "queries", "", "queries: TSV, JSON lines or TREC topics (required)")
	f.IntVar(&o.train, "train", 0, "queries to train on, at least 20; the others test (default: 3000, but at most three quarters)")
	f.IntVarP(&o.k, "k", "k", griffin.DefaultK, "hits for each query")
	f.StringVar(&o.device, "device", "auto", "processors to learn of: `DEVICE` is cpu (alone), gpu (all there are), auto (those, if any), or their numbers, as 0,1")
	o.registerMemory(f)
	o.ratio = exec.DefaultRatio // there is no flag
	_ = c.MarkFlagRequired("queries")
	return c
}

// trainResult is what "griffin train --json" prints.
type trainResult struct {
	Index string `json:"index"`
	exec.TrainReport
	// Paper has the errors of Ding et al., for AND.
	Paper map[string]float64 `json:"paper_mean_relative_error"`
	// Saved says whether what was learnt could be kept.
	Saved   bool          `json:"saved"`
	Took    time.Duration `json:"took_ns"`
	Machine string        `json:"machine"`
}

// paperErrors are the mean relative errors of Ding et al. (WWW 2009, §9), by processor.
var paperErrors = map[string]float64{"cpu": 0.20, "gpu": 0.22}

func (a *app) train(ctx context.Context, o trainOptions, dir string) error {
	if o.k < 1 || o.k > griffin.MaxK || o.train < 0 {
		return usagef("--k must be from 1 to %d, --train not negative", griffin.MaxK)
	}
	if err := o.deviceFlags.check(); err != nil {
		return err
	}
	topics, err := readFile(ctx, a.in, o.queries, trec.ReadTopics)
	if err != nil {
		return err
	}
	snapshot, err := openSnapshot(dir)
	if err != nil {
		return err
	}
	defer snapshot.Release()
	gpu, err := exec.OpenGPU(o.deviceFlags.options(), exec.ListBytes(snapshot))
	if err != nil {
		return err
	}
	dispatch := exec.DispatchOptions{Admit: true} // what is known is to be kept, without a GPU too
	dispatch.LoadCosts(vfs.OS, dir, gpu)
	a.noteCosts(&dispatch)
	d, err := exec.NewDispatcher(gpu, dispatch)
	if err != nil {
		return errors.Join(err, gpu.Close())
	}
	defer d.Close()
	queries, err := queriesOf(topics, snapshot.Options.Weighted())
	if err != nil {
		return fmt.Errorf("%s: %w", o.queries, err)
	}
	start := time.Now()
	bar := a.newProgress()
	report, err := d.Train(ctx, snapshot, queries, exec.TrainOptions{K: o.k, Train: o.train, Progress: bar.items("measure", "queries")})
	bar.close()
	if errors.Is(err, griffin.ErrBadInput) {
		return fmt.Errorf("%s: %w", o.queries, err)
	}
	if err != nil {
		return err
	}
	r := trainResult{Index: filepath.Base(dir), TrainReport: report, Paper: paperErrors, Took: time.Since(start), Machine: machine()}
	if err := d.SaveCosts(vfs.OS, dir); err != nil {
		a.notef("what was learnt could not be kept: %v", err)
	} else {
		r.Saved = true
	}
	if a.json {
		return a.printJSON(&r)
	}
	a.printTrained(&r)
	return nil
}

// queriesOf returns the queries of topics: words, or, of an index of weights, vectors.
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

func (a *app) printTrained(r *trainResult) {
	st := a.style(a.out)
	a.printf("%s, %d of them trained on, in %s\n%s\n\n", plural(r.Queries, "query"), r.Train, took(r.Took), r.Machine)
	a.printf("%smean relative error on the other queries%s\n", st.bold, st.reset)
	a.printf("%s%-4s %-4s %8s %8s %7s %9s %9s %9s%s\n", st.bold, "", "mode", "trained", "tested", "leaves", "tree", "model", "Ding", st.reset)
	for _, t := range r.Trees {
		paper := "-"
		if t.Mode == griffin.ModeAnd {
			paper = percentOf(r.Paper[t.Processor])
		}
		tree, model := percentOf(t.Error), percentOf(t.Model)
		if t.Tested == 0 {
			tree, model = "-", "-"
		}
		a.printf("%-4s %-4s %8d %8d %7d %9s %9s %9s\n", t.Processor, t.Mode, t.Queries, t.Tested, t.Leaves, tree, model, paper)
	}
	if !slices.ContainsFunc(r.Trees, func(t exec.TrainedTree) bool { return t.Processor == "gpu" }) {
		a.printf("\nno GPU was used: only the CPU is known\n")
	}
}
