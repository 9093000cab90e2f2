package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/simd"
)

// newRootCommand builds the tree of commands.
func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "griffin",
		Short: "A search engine: index documents, search them, measure it",
		Long: `Griffin is a search engine in one binary. Index a folder or a collection, then
search it from the command line, in the browser or from Go.`,
		Example: `  griffin demo                                # see it work on Go's own documentation
  griffin index --out notes.idx ~/notes       # index a folder
  griffin search notes.idx '"rate limit" +http'
  griffin serve notes.idx                     # a search page on http://127.0.0.1:7280`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              cobra.NoArgs,
		RunE:              func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "write the result as JSON, for machines")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress bar and no notes")
	flags.StringVar(&a.color, "color", "auto", "colour the output: auto, always or never")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{flagError(err)} })
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := simd.Check(); err != nil {
			return usageError{err}
		}
		return oneOf("--color", a.color, "auto", "always", "never")
	}
	root.AddGroup(
		&cobra.Group{ID: "use", Title: "Search your documents:"},
		&cobra.Group{ID: "measure", Title: "Measure and exchange:"},
		&cobra.Group{ID: "care", Title: "Look after an index:"},
	)
	add := func(group string, commands ...*cobra.Command) {
		for _, c := range commands {
			c.GroupID = group
			root.AddCommand(c)
		}
	}
	add("use", newDemoCommand(a), newIndexCommand(a), newSearchCommand(a), newServeCommand(a))
	add("measure", newRunCommand(a), newEvalCommand(a), newBenchCommand(a), newPoliciesCommand(a), newLoadCommand(a), newTrainCommand(a), newCIFFCommand(a), newLabCommand(a))
	add("care", newImpactsCommand(a), newVerifyCommand(a), newStatsCommand(a), newDevicesCommand(a), newVersionCommand(a))
	wrapUsage(root)
	return root
}

// wrapUsage makes every complaint about arguments and flags a usage error.
func wrapUsage(c *cobra.Command) {
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := cmd.ValidateRequiredFlags()
		if err == nil {
			err = cmd.ValidateFlagGroups()
		}
		if err == nil && check != nil {
			err = check(cmd, args)
			if err != nil && !cmd.HasSubCommands() {
				err = fmt.Errorf("%s; usage: %s", plural(len(args), "argument"), cmd.UseLine())
			}
		}
		if err != nil {
			return usageError{flagError(err)}
		}
		return nil
	}
	for _, sub := range c.Commands() {
		wrapUsage(sub)
	}
}

// oneOf checks the value of a flag that has a fixed set of values.
func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("%s %q: must be one of %s", flag, value, strings.Join(allowed, ", "))
}
