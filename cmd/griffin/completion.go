package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/trec"
)

// flagValues returns nil if the flag has no fixed set of values.
func flagValues(name string) []string {
	switch name {
	case "mode":
		return []string{"or", "and", "and+or", "saat"}
	case "traversal":
		names := slices.Concat(griffin.Traversals(griffin.ModeOr), griffin.Traversals(griffin.ModeAnd))
		slices.Sort(names)
		return slices.Compact(names)
	case "engine":
		var names []string
		for _, e := range griffin.Engines() {
			names = append(names, e.Name+"\t"+e.Summary)
		}
		return names
	case "device":
		return []string{"auto", "cpu", "gpu"}
	case "policy":
		var names []string
		for _, p := range griffin.Policies() {
			names = append(names, string(p.Name)+"\t"+p.Doc)
		}
		return names
	case "analyzer":
		return griffin.Analyzers()
	case "codec":
		return griffin.Codecs()
	case "format":
		return griffin.Formats()
	case "reorder":
		return []string{"bp", "none"}
	case "color":
		return []string{"auto", "always", "never"}
	case "measure":
		return append(trec.MeasureNames(), "all", "nDCG@10", "RR@10", "AP", "R@1000")
	case "part":
		return []string{"title", "desc", "title+desc"}
	}
	return nil
}

// registerCompletions completes flag values, and folders for an index argument.
func registerCompletions(c *cobra.Command) {
	register := func(f *pflag.Flag) {
		if values := flagValues(f.Name); values != nil {
			// It fails only if a flag is registered twice.
			_ = c.RegisterFlagCompletionFunc(f.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
	c.LocalFlags().VisitAll(register)
	if _, args, _ := strings.Cut(c.Use, " "); strings.HasPrefix(args, "INDEX") {
		c.ValidArgsFunction = func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
			switch {
			case len(args) == 0:
				return nil, cobra.ShellCompDirectiveFilterDirs
			case strings.HasSuffix(c.Use, " PATH…"):
				return nil, cobra.ShellCompDirectiveDefault
			}
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
	}
	for _, sub := range c.Commands() {
		registerCompletions(sub)
	}
}
