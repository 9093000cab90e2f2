package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/staging"
	"github.com/griffin-search/griffin/internal/vfs"
)

func newSnapshotCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Copy an index into a folder of snapshots, and restore it",
		Long: `Snapshot copies the last commit of an index into a folder. Snapshots of a folder
share the segments that did not change, so that only new ones are copied. Writers
and searches of the index go on. Every copy is read back and its checksums are
verified.`,
		Example: `  griffin snapshot create notes.idx snapshots --name monday
  griffin snapshot list snapshots
  griffin snapshot restore snapshots monday --out restored`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newSnapshotCreateCommand(a), newSnapshotListCommand(a), newSnapshotRestoreCommand(a))
	return c
}

func newSnapshotCreateCommand(a *app) *cobra.Command {
	name := ""
	c := &cobra.Command{
		Use:   "create INDEX FOLDER",
		Short: "Copy the last commit of an index into a folder of snapshots",
		Long: `Create copies the last commit of an index into a folder, which is made if it is
missing. Segments that the folder has are not copied again. The snapshot appears at
the end; after Ctrl-C, the next one uses what was copied.`,
		Example: `  griffin snapshot create notes.idx snapshots
  griffin snapshot create notes.idx snapshots --name monday`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.createSnapshot(cmd.Context(), args[0], args[1], name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the snapshot (default: the time)")
	return c
}

func newSnapshotListCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:     "list FOLDER",
		Short:   "List the snapshots of a folder",
		Example: `  griffin snapshot create notes.idx snapshots && griffin snapshot list snapshots`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.listSnapshots(cmd.Context(), args[0]) },
	}
}

func newSnapshotRestoreCommand(a *app) *cobra.Command {
	out := ""
	c := &cobra.Command{
		Use:   "restore FOLDER NAME --out INDEX",
		Short: "Make an index of a snapshot",
		Long: `Restore copies a snapshot into a new folder and verifies it. The index appears at
the end; an error or Ctrl-C leaves nothing.`,
		Example: `  griffin snapshot create notes.idx snapshots --name monday
  griffin snapshot restore snapshots monday --out restored`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restoreSnapshot(cmd.Context(), args[0], args[1], out)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "folder of the index (required)")
	_ = c.MarkFlagRequired("out")
	return c
}

func (a *app) createSnapshot(ctx context.Context, dir, folder, name string) error {
	if name != "" {
		if err := backup.CheckName(name); err != nil {
			return badFlags(err)
		}
	}
	bar := a.newProgress()
	r, err := backup.New(vfs.OS, folder).Create(ctx, dir, name, bar.bytes("copy"))
	bar.close()
	if errors.Is(err, base.ErrExists) {
		return hintedError{err, "choose another --name"}
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(r)
	}
	a.printf("%s → %s, snapshot %s: %s, %s in %s\n", dir, folder, r.Name, plural(r.NumDocs, "document"), sizeOf(r.SizeBytes), took(r.Took))
	a.printf("%s copied, %s shared with earlier snapshots\n", plural(r.CopiedSegments, "segment"), count(r.SharedSegments))
	return nil
}

// snapshotList is the JSON of "griffin snapshot list".
type snapshotList struct {
	Snapshots []backup.Snapshot `json:"snapshots"`
}

func (a *app) listSnapshots(ctx context.Context, folder string) error {
	if _, err := os.Stat(folder); err != nil {
		return err // a wrong path is likelier than an empty list
	}
	all, err := backup.New(vfs.OS, folder).List(ctx)
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(snapshotList{append([]backup.Snapshot{}, all...)})
	}
	if len(all) == 0 {
		a.printf("no snapshots in %s\n", folder)
		return nil
	}
	width := len("snapshot")
	for _, s := range all {
		width = max(width, len(s.Name))
	}
	a.printf("%-*s  %-20s  %12s  %10s\n", width, "snapshot", "date", "documents", "size")
	for _, s := range all {
		a.printf("%-*s  %-20s  %12s  %10s\n", width, s.Name, s.Created.UTC().Format(time.RFC3339), count(s.NumDocs), sizeOf(s.SizeBytes))
	}
	return nil
}

func (a *app) restoreSnapshot(ctx context.Context, folder, name, out string) (err error) {
	if _, err := os.Lstat(out); err == nil {
		return hintedError{fmt.Errorf("%s: %w", out, base.ErrExists), "restore into a new folder"}
	}
	began := time.Now()
	staged, err := staging.New(out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, staged.Remove()) }()
	bar := a.newProgress()
	s, err := backup.New(vfs.OS, folder).Restore(ctx, name, staged.Dir, bar.bytes("copy"))
	bar.close()
	if err == nil {
		err = staged.MoveTo(out)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(s)
	}
	a.printf("snapshot %s → %s: %s, %s in %s\n", s.Name, out, plural(s.NumDocs, "document"), sizeOf(s.SizeBytes), took(time.Since(began)))
	return nil
}
