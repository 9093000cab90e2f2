package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/simd"
)

func newRootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "griffin",
		Short: "A search engine: index, search, serve, measure",
		Long: `Griffin is a search engine in one binary. Index a folder or a collection, then
search it from the command line, in the browser or from Go.`,
		Example: `  griffin demo                                # see it work on Go's own documentation
  griffin index --out notes.idx ~/notes
  griffin search notes.idx '"rate limit" +http'
  griffin serve notes.idx                     # a search page on http://127.0.0.1:7280`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		DisableAutoGenTag: true,
		Args:              cobra.NoArgs,
	}
	version := root.Flags().BoolP("version", "v", false, "show the version, as griffin version does")
	root.RunE = func(cmd *cobra.Command, _ []string) error {
		if *version {
			return a.version()
		}
		return cmd.Help()
	}
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "write the result as JSON")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "no progress bar and no notes")
	flags.StringVar(&a.color, "color", "auto", "colour the output: auto, always or never")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usageError{parseError(cmd, err)} })
	root.PersistentPreRunE = func(*cobra.Command, []string) error {
		if err := simd.Check(); err != nil {
			return usageError{err}
		}
		return oneOf("--color", a.color, "auto", "always", "never")
	}
	add := func(id, title string, commands ...*cobra.Command) {
		root.AddGroup(&cobra.Group{ID: id, Title: title})
		for _, c := range commands {
			c.GroupID = id
			root.AddCommand(c)
		}
	}
	add("search", "Search: build, query and maintain an index",
		newIndexCommand(a), newSearchCommand(a), newAddCommand(a), newDeleteCommand(a), newWatchCommand(a), newMergeCommand(a), newSnapshotCommand(a), newStatsCommand(a), newSuggestCommand(a), newCompleteCommand(a), newSimilarCommand(a), newGetCommand(a), newExportCommand(a), newMappingCommand(a), newAnalyzeCommand(a), newVerifyCommand(a), newDemoCommand(a))
	add("serve", "Serve: answer queries over HTTP, on CPU and GPU",
		newServeCommand(a), newDevicesCommand(a), newTrainCommand(a))
	add("measure", "Measure: result quality, speed, behaviour under load",
		newRunCommand(a), newEvalCommand(a), newBenchCommand(a), newLoadCommand(a))
	add("research", "Research: methods of the papers, exchange with other engines",
		newEnginesCommand(a), newPoliciesCommand(a), newImpactsCommand(a), newCIFFCommand(a), newLabCommand(a))
	root.AddCommand(newVersionCommand(a))
	addHelpAndCompletion(root)
	wrapUsage(root)
	registerCompletions(root)
	return root
}

// addHelpAndCompletion adds cobra's commands, which ignore wrong names, and makes these errors.
func addHelpAndCompletion(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Run, c.Example = nil, "  griffin help index"
			c.RunE = func(_ *cobra.Command, args []string) error {
				about, rest, err := root.Traverse(args)
				if err != nil {
					return usageError{err}
				}
				if len(rest) > 0 {
					return usageError{unknownCommand(about, rest[0])}
				}
				about.InitDefaultHelpFlag()
				return about.Help()
			}
		case "completion":
			c.Args, c.Example = cobra.NoArgs, "  source <(griffin completion bash)"
			for _, shell := range c.Commands() {
				shell.Example = "  griffin completion " + shell.Name()
			}
			c.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
}

func wrapUsage(c *cobra.Command) {
	check := c.Args
	c.Args = func(cmd *cobra.Command, args []string) error {
		err := cmd.ValidateRequiredFlags()
		if err == nil {
			err = cmd.ValidateFlagGroups()
		}
		if err == nil && check != nil {
			err = check(cmd, args)
			switch {
			case err != nil && cmd.HasSubCommands():
				err = unknownCommand(cmd, args[0])
			case err != nil:
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

func oneOf(flag, value string, allowed ...string) error {
	if slices.Contains(allowed, value) {
		return nil
	}
	return usagef("%s %q: must be one of %s", flag, value, strings.Join(allowed, ", "))
}
