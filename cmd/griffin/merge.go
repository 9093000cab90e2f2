package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin"
)

type mergeOptions struct {
	to      int
	reorder string
	dryRun  bool
	memory  sizeFlag
	threads int
	server  serverFlag
}

func newMergeCommand(a *app) *cobra.Command {
	o := mergeOptions{memory: 1 << 30}
	c := &cobra.Command{
		Use:   "merge INDEX",
		Short: "Merge the segments of an index and remove deleted documents",
		Long: `Merge writes the segments of an index as one, or as at most --to segments, and
leaves out documents that were deleted or replaced, which take space until then.
Scores do not change: they are always those of a new index of the same documents.

The merged index appears all at once at the end: an interruption leaves the index
as it was. Searches and servers that have the index open go on. The disk needs
room for the segments before and after. If the index had impact-ordered lists,
they are made again. Writes that a program left in the log are committed first,
also if there is nothing to merge.

With --server, INDEX is the name of an index on a running server.`,
		Example: `  griffin merge notes.idx --dry-run
  griffin merge notes.idx
  griffin merge notes.idx --to 4`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.server.url != "" {
				return a.mergeOnServer(cmd.Context(), &o, cmd.Flags(), args[0])
			}
			return a.merge(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.IntVar(&o.to, "to", 1, "merge until at most `N` segments are left")
	f.BoolVar(&o.dryRun, "dry-run", false, "print what a merge would do and change nothing")
	f.StringVar(&o.reorder, "reorder", "none", "bp puts similar documents next to each other; none keeps their order")
	f.Var(&o.memory, "memory", "memory for --reorder bp, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors to use, 0 for all")
	o.server.register(f)
	return c
}

func (o *mergeOptions) check() error {
	if o.to < 1 {
		return usagef("--to %d: must be at least 1", o.to)
	}
	if o.threads < 0 {
		return usagef("--threads %d: must not be negative", o.threads)
	}
	if err := oneOf("--reorder", o.reorder, "none", "bp"); err != nil {
		return err
	}
	return o.memory.check()
}

func (a *app) mergeOnServer(ctx context.Context, o *mergeOptions, flags *pflag.FlagSet, index string) error {
	if err := errors.Join(o.server.check(flags, "dry-run", "reorder", "memory", "threads"), o.check()); err != nil {
		return err
	}
	s, err := o.server.open(index)
	if err != nil {
		return err
	}
	began := time.Now()
	if err := s.merge(ctx, o.to); err != nil {
		return err
	}
	if a.json {
		return a.printJSON(map[string]time.Duration{"took_ns": time.Since(began)})
	}
	a.printf("%s: merged in %s\n", s.url, took(time.Since(began)))
	return nil
}

func (a *app) merge(ctx context.Context, o mergeOptions, dir string) (err error) {
	if err := o.check(); err != nil {
		return err
	}
	ix, err := openIndex(dir, griffin.Options{IndexMemory: int64(o.memory), IndexThreads: o.threads})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	bar := a.newProgress()
	r, err := ix.Merge(ctx, griffin.MergeOptions{Segments: o.to, Reorder: griffin.Reorder(o.reorder), DryRun: o.dryRun, Progress: bar.merging})
	bar.close()
	if err != nil {
		return ofDisk(dir, err)
	}
	if a.json {
		return a.printJSON(r)
	}
	if r.Committed > 0 {
		a.printf("%s of the log committed\n", plural(r.Committed, "write"))
	}
	printMerged(a.console, dir, o, &r)
	return nil
}

func printMerged(con *console, dir string, o mergeOptions, r *griffin.MergeReport) {
	con.printf("%s: %s, %s, %s deleted, %s\n", dir, plural(int64(r.Before.Segments), "segment"), plural(int64(r.Before.Docs), "document"),
		count(int64(r.Before.Deleted)), sizeOf(r.Before.SizeBytes))
	after := plural(int64(r.After.Segments), "segment") + ", " + plural(int64(r.After.Docs), "document")
	switch {
	case !r.Changed:
		con.printf("nothing to merge\n")
		switch {
		case r.Impacts != griffin.ImpactsRebuilt:
		case o.dryRun:
			con.printf("a merge would store the impact-ordered lists again\n")
		default:
			con.printf("impact-ordered lists stored in %s\n", took(r.Took))
		}
		return
	case o.dryRun:
		con.printf("a merge would leave %s, about %s\n", after, sizeOf(r.After.SizeBytes))
	default:
		con.printf("merged in %s: %s, %s\n", took(r.Took), after, sizeOf(r.After.SizeBytes))
	}
	if r.Impacts == griffin.ImpactsDropped {
		con.notef("its impact-ordered lists came from another program and are not kept")
	}
}
