//go:build !nolab

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/lab/experiments"
)

func newLabCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "lab",
		Short: "Reproduce the tables and figures of the papers",
		Long: `The lab runs the experiments of the papers that Griffin builds on and prints its
numbers beside the papers'. It generates the collections that it needs and keeps them.`,
		Example: "  griffin lab list\n  griffin lab run ao11-table1 --data ../shared/data\n  griffin lab report --out docs/lab --data ../shared/data",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newLabListCommand(a), newLabRunCommand(a), newLabReportCommand(a), newLabGenerateCommand(a), newLabSimulateCommand(a))
	return c
}

func newLabListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the experiments",
		Example: "  griffin lab list\n  griffin lab list --json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			all := experiments.All()
			if a.json {
				return a.printJSON(labList(all))
			}
			st := a.style(a.out)
			for i := range all {
				e := &all[i]
				a.printf("%s%-16s%s %-10s %s %s(at most %s)%s\n", st.bold, e.Name, st.reset, e.Shows, e.Title, st.dim, took(e.Budget), st.reset)
			}
			return nil
		},
	}
}

type labExperiment struct {
	Name   string        `json:"name"`
	Paper  string        `json:"paper"`
	Shows  string        `json:"shows"`
	Title  string        `json:"title"`
	Budget time.Duration `json:"budget_ns"`
}

func labList(all []lab.Experiment) []labExperiment {
	list := make([]labExperiment, len(all))
	for i, e := range all {
		list[i] = labExperiment{e.Name, e.Paper, e.Shows, e.Title, e.Budget}
	}
	return list
}

type labOptions struct {
	data   string
	work   string
	index  string
	device string
	seed   uint64
	quick  bool
}

func (o *labOptions) register(f *pflag.FlagSet) {
	f.StringVar(&o.data, "data", "../shared/data", "folder with wiki/*.jsonl.zst and queries/trec_tb0[56]_efficiency.tsv")
	f.StringVar(&o.work, "work", "", "folder for generated collections (default: griffin/lab in the user's cache)")
	f.StringVar(&o.index, "index", "", "index to use instead of the wiki passages")
	f.StringVar(&o.device, "device", "cpu", "device for measurements that a paper made on a GPU: gpu, or a number; cpu leaves those cells empty")
	f.Uint64Var(&o.seed, "seed", 1, "seed of all random choices")
	f.BoolVar(&o.quick, "quick", false, "use toy collections, only to check that an experiment works")
}

// command is for records of experiments. It has the flags that change numbers, but no folders,
// which differ between machines.
func (o *labOptions) command(verb string, names []string) string {
	words := append([]string{"griffin lab", verb}, names...)
	if o.index != "" {
		words = append(words, "--index", filepath.Base(o.index))
	}
	if o.device != "cpu" {
		words = append(words, "--device", o.device)
	}
	if o.seed != 1 {
		words = append(words, "--seed", strconv.FormatUint(o.seed, 10))
	}
	if o.quick {
		words = append(words, "--quick")
	}
	return strings.Join(words, " ")
}

// Close the environment before bar.
func (o *labOptions) env(command string, bar *progress) (*lab.Env, error) {
	if o.work == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, usagef("there is no folder to keep collections in (%v): name one with --work", err)
		}
		o.work = filepath.Join(cache, "griffin", "lab")
	}
	work := o.work
	if o.quick {
		work = filepath.Join(work, "quick")
	}
	env := lab.NewEnv(lab.Config{
		Data: o.data, Work: work, Index: o.index, Device: o.device, Seed: o.seed, Quick: o.quick, Command: command,
		Progress: func(phase string, done, total int64) {
			if phase != "" {
				bar.show(phase, done, total, command)
			}
		},
	})
	// A missing GPU is an error before minutes of generating collections.
	if _, _, err := env.Device(); err != nil {
		env.Close()
		return nil, badFlags(err)
	}
	return env, nil
}

func newLabRunCommand(a *app) *cobra.Command {
	var o labOptions
	var out string
	c := &cobra.Command{
		Use:   "run NAME…",
		Short: "Run experiments and print their tables",
		Long: `Run runs experiments and prints their tables: our number, the paper's in
parentheses, and the ratio. The name of a paper stands for all of its experiments.
--out saves the records, for griffin lab report --render.`,
		Example: "  griffin lab run griffin18-fig11\n  griffin lab run ao11 --out docs/lab",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.labRun(cmd.Context(), o, out, args)
		},
	}
	o.register(c.Flags())
	c.Flags().StringVarP(&out, "out", "o", "", "folder of a report to save the records in")
	return c
}

func (a *app) labRun(ctx context.Context, o labOptions, out string, names []string) error {
	chosen, err := lab.Select(experiments.All(), names)
	if err != nil {
		return badFlags(err)
	}
	if out != "" {
		if err := checkReport(out); err != nil {
			return err
		}
	}
	records, err := a.runExperiments(ctx, o, chosen, out, o.command("run", names), nil)
	if a.json {
		if len(records) > 0 && err != nil {
			err = toldError{err} // only on standard error: the JSON document holds the records
		}
		if len(records) == 0 && err != nil {
			return err
		}
		return errors.Join(a.printJSON(records), err)
	}
	for _, r := range records {
		a.printf("%s\n", recordText(a.style(a.out), r))
	}
	return err
}

// checkReport makes the folder of a report, so that a command fails before it measures.
func checkReport(out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	return checkOutputs(filepath.Join(out, "README.md"))
}

// runExperiments returns the records of experiments, and saves them in out unless it is empty.
// A failure does not stop the others; an interrupt does. skip, which may be nil, excludes
// experiments by name.
func (a *app) runExperiments(ctx context.Context, o labOptions, chosen []lab.Experiment, out, command string, skip func(name string) bool) ([]*lab.Record, error) {
	bar := a.newProgress()
	defer bar.close()
	env, err := o.env(command, bar)
	if err != nil {
		return nil, err
	}
	defer env.Close()
	var records []*lab.Record
	var errs []error
	for i := range chosen {
		e := &chosen[i]
		if skip != nil && skip(e.Name) {
			continue
		}
		bar.show(e.Name, int64(i), int64(len(chosen)), e.Title)
		r, err := env.Run(ctx, *e)
		if err == nil && out != "" {
			err = lab.RecordsIn(out).Save(r)
		}
		if ctx.Err() != nil {
			return records, ctx.Err()
		}
		if err != nil {
			errs = append(errs, err)
			bar.above("griffin: %v", err)
			continue
		}
		records = append(records, r)
		if out != "" && !a.json {
			bar.above("%s: %s of %s", r.Name, took(r.Provenance.Took), took(r.Provenance.Budget))
		}
	}
	if len(errs) > 0 {
		return records, fmt.Errorf("%s of %d failed", plural(len(errs), "experiment"), len(chosen))
	}
	return records, nil
}

func recordText(st style, r *lab.Record) string {
	var b strings.Builder
	p := &r.Provenance
	fmt.Fprintf(&b, "%s%s%s %s, %s: %s of %s", st.bold, r.Name, st.reset, r.Shows, r.Title, took(p.Took), took(p.Budget))
	if p.Prepared > time.Second {
		fmt.Fprintf(&b, ", and %s to make collections", took(p.Prepared))
	}
	for _, t := range r.Result.Tables {
		b.WriteString("\n" + t.Text())
	}
	return b.String()
}

func newLabReportCommand(a *app) *cobra.Command {
	var o labOptions
	var out string
	var render, missing bool
	c := &cobra.Command{
		Use:   "report --out FOLDER [NAME…]",
		Short: "Run experiments and write the report: Markdown, figures, raw numbers",
		Long: `Report runs all experiments, or those named, and writes the report into a folder:
README.md, a page with tables and figures for each, and the raw numbers as JSON.
After an interruption, --missing runs the experiments that have no numbers yet.
--render runs nothing and writes the pages from the saved numbers.`,
		Example: "  griffin lab report --out docs/lab --data ../shared/data\n  griffin lab report --out docs/lab --render",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.labReport(cmd.Context(), o, out, args, render, missing)
		},
	}
	f := c.Flags()
	o.register(f)
	f.StringVarP(&out, "out", "o", "", "folder of the report (required)")
	f.BoolVar(&render, "render", false, "run nothing; write the pages from the saved numbers")
	f.BoolVar(&missing, "missing", false, "run only experiments without saved numbers")
	_ = c.MarkFlagRequired("out")
	return c
}

func (a *app) labReport(ctx context.Context, o labOptions, out string, names []string, render, missing bool) error {
	start := time.Now()
	all := experiments.All()
	chosen, err := lab.Select(all, names)
	if err != nil {
		return badFlags(err)
	}
	store := lab.RecordsIn(out)
	var failed error
	if !render {
		skip := func(name string) bool {
			_, err := store.Load(name)
			return missing && !errors.Is(err, fs.ErrNotExist)
		}
		command := o.command("report", names)
		if err := checkReport(out); err != nil {
			return err
		}
		if _, failed = a.runExperiments(ctx, o, chosen, out, command, skip); ctx.Err() != nil {
			return failed
		}
	}
	records, err := store.LoadAll(all)
	if err != nil {
		return err
	}
	if err := experiments.Report().Render(out, records); err != nil {
		return err
	}
	if a.json {
		result := map[string]any{"out": out, "experiments": len(records), "took_ns": time.Since(start)}
		if failed != nil {
			result["error"] = newJSONError("griffin lab report", failed)
			failed = toldError{failed}
		}
		return errors.Join(a.printJSON(result), failed)
	}
	a.printf("%s in %s → %s\n", plural(len(records), "experiment"), took(time.Since(start)), filepath.Join(out, "README.md"))
	if without := withoutRecord(all, records); len(without) > 0 {
		a.notef("without numbers: %s", strings.Join(without, " "))
	}
	return failed
}

func withoutRecord(all []lab.Experiment, records []*lab.Record) []string {
	var names []string
	for _, e := range all {
		if !slices.ContainsFunc(records, func(r *lab.Record) bool { return r.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	return names
}
