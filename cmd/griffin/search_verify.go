package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

const repairHint = "build the index anew with griffin index --replace, or restore a copy"

type verifyOptions struct {
	rebuild bool
	temp    string
	memory  sizeFlag
	threads int
}

func newVerifyCommand(a *app) *cobra.Command {
	o := verifyOptions{memory: 1 << 30}
	c := &cobra.Command{
		Use:   "verify INDEX",
		Short: "Check every byte and every invariant of an index",
		Long: `Verify reads the whole index. It compares every checksum, decodes every posting
list and checks order, bounds, counts and ids. The exit code is 0 if the index is
sound and 3 if it is damaged; the message names the file, term and block.

With --rebuild it also builds a new index of the stored documents, in the order in
which their last versions were written, in a temporary folder. It compares both:
statistics, every posting with frequency and positions, lengths, ids, documents,
and the hits, scores and counts of random queries. The exit code is 3 if they differ;
the message names the field, term and document. The temporary folder takes about
the space of the index, and up to twice as much while the new index is built.`,
		Example: `  griffin verify notes.idx && cp -r notes.idx backup/
  griffin verify --rebuild notes.idx`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.check(cmd.Flags().Changed); err != nil {
				return err
			}
			return a.verify(cmd.Context(), o, args[0])
		},
	}
	f := c.Flags()
	f.BoolVar(&o.rebuild, "rebuild", false, "compare with a new index of the stored documents")
	f.StringVar(&o.temp, "temp", "", "folder `DIR` for the new index; default: the folder that the index is in")
	f.Var(&o.memory, "memory", "memory for building the new index, such as 512M or 4G")
	f.IntVar(&o.threads, "threads", 0, "processors for building the new index, 0 for all")
	return c
}

func (a *app) verify(ctx context.Context, o verifyOptions, dir string) error {
	start := time.Now()
	ix, err := openIndex(dir, griffin.Options{IndexMemory: int64(o.memory), IndexThreads: o.threads})
	if errors.Is(err, griffin.ErrCorrupt) {
		return hintedError{err, repairHint}
	}
	if err != nil {
		return err
	}
	defer ix.Close()
	waiting, err := a.noteUncommitted(dir)
	if err != nil {
		return err
	}
	if o.rebuild {
		return a.verifyRebuild(ctx, o, ix, dir, waiting)
	}
	bar := a.newProgress()
	err = ix.Verify(ctx, bar.bytes("verify"))
	bar.close()
	if errors.Is(err, griffin.ErrCorrupt) {
		return hintedError{err, repairHint}
	}
	if err != nil {
		return err
	}
	s, err := ix.Stats()
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(verifyResult{OK: true, Docs: s.NumDocs, SizeBytes: s.SizeBytes, Took: time.Since(start), uncommitted: waiting})
	}
	a.printf("%s: sound; %s, %s checked in %s%s\n", dir, plural(s.NumDocs, "document"), sizeOf(s.SizeBytes), took(time.Since(start)), waiting.besides())
	return nil
}

type verifyResult struct {
	OK        bool                   `json:"ok"`
	Docs      int                    `json:"num_docs"`
	SizeBytes int64                  `json:"size_bytes"`
	Took      time.Duration          `json:"took_ns"`
	Rebuild   *griffin.RebuildReport `json:"rebuild,omitempty"`
	Error     *jsonError             `json:"error,omitempty"`
	uncommitted
}
