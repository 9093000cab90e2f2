package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/suggest"
)

func newEnginesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "engines [NAME]",
		Short: "Describe the engines: Griffin's own and the systems of the papers",
		Long: `Engines lists the systems that can answer queries, with their papers, algorithms and
options; with a NAME, only that one. Choose one with --engine NAME, or with options
as in --engine griffin18:ratio=64,crossing=32, for search, run, bench, load and serve.

Each answers queries as its paper describes, end to end, with the same hits and scores
as the default engine (saat: as its mode saat), which is faster. A query that a paper
does not describe, such as a phrase, is an error. Without --mode, an engine answers in
the first of its modes. Without a GPU, griffin18, ding09 and ao11 need on=cpu.`,
		Example: `  griffin engines
  griffin engines griffin18
  griffin bench wiki.idx --queries tb05.tsv --engine griffin18:on=cpu`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error { return a.engines(args) },
	}
}

func (a *app) engines(args []string) error {
	all := griffin.Engines()
	if len(args) == 1 {
		var names []string
		var found []griffin.EngineInfo
		for _, e := range all {
			names = append(names, e.Name)
			if name, _, _ := strings.Cut(args[0], ":"); e.Name == name {
				found = append(found, e)
			}
		}
		if len(found) == 0 {
			hint := "there are " + strings.Join(names, ", ")
			if s := suggest.Closest(args[0], names); s != "" {
				hint = "did you mean " + s + "?"
			}
			return usagef("there is no engine %q; %s", args[0], hint)
		}
		all = found
	}
	if a.json {
		return a.printJSON(all)
	}
	for i := range all {
		if i > 0 {
			a.printf("\n")
		}
		printEngine(a.console, &all[i])
	}
	return nil
}

func printEngine(con *console, e *griffin.EngineInfo) {
	con.printf("%-10s %s\n", e.Name, e.Summary)
	if e.Paper != "" {
		con.printf("  paper    %s\n", e.Paper)
	}
	con.printf("  modes    %s\n", strings.Join(e.Modes, ", "))
	for _, line := range e.Algorithms {
		con.printf("  - %s\n", line)
	}
	for _, o := range e.Options {
		con.printf("  %s=%s: %s (%s)\n", o.Name, o.Default, o.Help, o.Values)
	}
}
