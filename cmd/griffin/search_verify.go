package main

import (
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin"
)

const repairHint = "build the index anew with griffin index --replace, or restore a copy"

func newVerifyCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "verify INDEX",
		Short: "Check every byte and every invariant of an index",
		Long: `Verify reads the whole index. It compares every checksum, decodes every posting
list and checks order, bounds, counts and ids. The exit code is 0 if the index is
sound and 3 if it is damaged; the message names the file, term and block.`,
		Example: "  griffin verify notes.idx && cp -r notes.idx backup/",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			start := time.Now()
			ix, err := griffin.Open(args[0], griffin.Options{})
			if errors.Is(err, griffin.ErrCorrupt) {
				return hintedError{err, repairHint}
			}
			if err != nil {
				return err
			}
			defer ix.Close()
			bar := a.newProgress()
			err = ix.Verify(cmd.Context(), bar.bytes("verify"))
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
				return a.printJSON(map[string]any{"ok": true, "num_docs": s.NumDocs, "size_bytes": s.SizeBytes, "took_ns": time.Since(start)})
			}
			a.printf("%s: sound; %s, %s checked in %s\n", args[0], plural(s.NumDocs, "document"), sizeOf(s.SizeBytes), took(time.Since(start)))
			return nil
		},
	}
}
