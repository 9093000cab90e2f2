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
		Short: "Redraw the tables and figures of the papers behind Griffin",
		Long: `The lab runs the experiments of the papers that Griffin builds on and writes what
came out beside what the papers printed. It makes the collections that it needs, and
keeps them for the next time.`,
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

// labExperiment is one line of "griffin lab list --json".
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

// labOptions are the flags of commands that run experiments.
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
	f.StringVar(&o.work, "work", "", "folder in which collections are made and kept (default: griffin/lab in the user's cache)")
	f.StringVar(&o.index, "index", "", "index to use in the place of the wiki passages")
	f.StringVar(&o.device, "device", "cpu", "where the papers measured a GPU: measure on gpu, or on the GPU of this number; cpu leaves those cells empty")
	f.Uint64Var(&o.seed, "seed", 1, "seed of everything random")
	f.BoolVar(&o.quick, "quick", false, "toy collections: only to see that an experiment works")
}

// command is what measures the experiments of these names again, for their records: with what
// changes numbers, but for folders, which are elsewhere on other machines.
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

// labEnv makes the environment of experiments. It is to be closed before bar is.
func (a *app) labEnv(o *labOptions, command string, bar *progress) (*lab.Env, error) {
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
	// A GPU that cannot be had is not to be found out after minutes of making collections.
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
		Short: "Run experiments and show what they found",
		Long: `Run runs experiments and prints their tables: our number, the paper's in
parentheses, and the ratio. A name may be that of a paper, for all of its experiments.
With --out the records are kept, for griffin lab report --render.`,
		Example: "  griffin lab run griffin18-fig11\n  griffin lab run ao11 --out docs/lab",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.labRun(cmd.Context(), o, out, args)
		},
	}
	o.register(c.Flags())
	c.Flags().StringVarP(&out, "out", "o", "", "folder of a report to keep the records in")
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
			err = toldError{err} // on standard error alone: the records are the document
		}
		if len(records) == 0 && err != nil {
			return err
		}
		return errors.Join(a.printJSON(records), err)
	}
	for _, r := range records {
		a.printf("%s\n", a.labRecord(r))
	}
	return err
}

// checkReport makes the folder of a report, and returns an error if files cannot be written
// there: that is not to be found out after minutes of measuring.
func checkReport(out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	return checkOutputs(filepath.Join(out, "README.md"))
}

// runExperiments runs experiments one after another, keeps their records in the
// report in the folder out, if it is not empty, and returns them. What fails does
// not stop the others, but for an interrupt. With skip it passes over those that
// have a record.
func (a *app) runExperiments(ctx context.Context, o labOptions, chosen []lab.Experiment, out, command string, skip func(name string) bool) ([]*lab.Record, error) {
	bar := a.newProgress()
	defer bar.close()
	env, err := a.labEnv(&o, command, bar)
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

// labRecord formats a record for a terminal.
func (a *app) labRecord(r *lab.Record) string {
	var b strings.Builder
	st := a.style(a.out)
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
After an interrupt, --missing goes on with those that have no numbers yet; --render
runs nothing and writes the pages of the numbers that are there.`,
		Example: "  griffin lab report --out docs/lab --data ../shared/data\n  griffin lab report --out docs/lab --render",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.labReport(cmd.Context(), o, out, args, render, missing)
		},
	}
	f := c.Flags()
	o.register(f)
	f.StringVarP(&out, "out", "o", "", "folder of the report (required)")
	f.BoolVar(&render, "render", false, "run nothing: write the pages of the numbers that are there")
	f.BoolVar(&missing, "missing", false, "run only what has no numbers yet")
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
	if err := lab.Render(out, records); err != nil {
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

// withoutRecord names the experiments that have no record.
func withoutRecord(all []lab.Experiment, records []*lab.Record) []string {
	var names []string
	for _, e := range all {
		if !slices.ContainsFunc(records, func(r *lab.Record) bool { return r.Name == e.Name }) {
			names = append(names, e.Name)
		}
	}
	return names
}
