package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/griffin-search/griffin/internal/backup"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/rest"
	"github.com/griffin-search/griffin/internal/staging"
	"github.com/griffin-search/griffin/internal/vfs"
)

func newSnapshotCommand(a *app) *cobra.Command {
	c := &cobra.Command{
		Use:   "snapshot",
		Short: "Copy an index into a folder or bucket of snapshots, and restore it",
		Long: `Snapshot copies the last commit of an index into a folder, or into a bucket of an
object store. Snapshots share the segments that did not change, so that only new
ones are copied. Writers and searches of the index go on. Checksums are verified
when a snapshot is made and when it is restored.

A bucket is a URL: s3://BUCKET/PREFIX, with parameters after "?" such as
region=eu-west-1, or endpoint=http://127.0.0.1:9000&use_path_style=true for other
servers with the protocol of S3. Credentials are found as the aws command finds
them: in AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, ~/.aws or the machine's role.

With --server, a running server does the work: INDEX is the name of one of its
indexes, and STORE a repository that it was started with (griffin serve DATA
--repository NAME=STORE). Writes that it has acknowledged are in the snapshot.`,
		Example: `  griffin snapshot create notes.idx snapshots --name monday
  griffin snapshot list snapshots
  griffin snapshot restore snapshots monday --out restored
  griffin snapshot create notes.idx 's3://backups/notes?region=eu-west-1'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	c.AddCommand(newSnapshotCreateCommand(a), newSnapshotListCommand(a), newSnapshotRestoreCommand(a), newSnapshotDeleteCommand(a))
	return c
}

func newSnapshotCreateCommand(a *app) *cobra.Command {
	name := ""
	var server serverFlag
	c := &cobra.Command{
		Use:   "create INDEX STORE",
		Short: "Copy the last commit of an index into a folder or bucket of snapshots",
		Long: `Create copies the last commit of an index into a folder, which is made if it is
missing, or a bucket. What a process that ended left in the log of the index is
committed first; of an index that a server has open, use --server. Segments that are there are not copied again. The snapshot appears at
the end; after Ctrl-C, the next one uses what was copied.`,
		Example: `  griffin snapshot create notes.idx snapshots
  griffin snapshot create notes.idx snapshots --name monday`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.createSnapshot(cmd.Context(), &server, args[0], args[1], name)
		},
	}
	c.Flags().StringVar(&name, "name", "", "`NAME` of the snapshot (default: the time)")
	server.registerStore(c.Flags())
	return c
}

func newSnapshotListCommand(a *app) *cobra.Command {
	var server serverFlag
	c := &cobra.Command{
		Use:     "list STORE",
		Short:   "List the snapshots of a folder or bucket",
		Example: `  griffin snapshot create notes.idx snapshots && griffin snapshot list snapshots`,
		Args:    cobra.ExactArgs(1),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.listSnapshots(cmd.Context(), &server, args[0]) },
	}
	server.registerStore(c.Flags())
	return c
}

func newSnapshotRestoreCommand(a *app) *cobra.Command {
	out := ""
	var server serverFlag
	c := &cobra.Command{
		Use:   "restore STORE NAME --out INDEX",
		Short: "Make an index of a snapshot",
		Long: `Restore copies a snapshot into a new folder and verifies it. The index appears at
the end; an error or Ctrl-C leaves nothing.`,
		Example: `  griffin snapshot create notes.idx snapshots --name monday
  griffin snapshot restore snapshots monday --out restored`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.restoreSnapshot(cmd.Context(), &server, args[0], args[1], out)
		},
	}
	c.Flags().StringVarP(&out, "out", "o", "", "folder of the index (required)")
	_ = c.MarkFlagRequired("out")
	server.registerStore(c.Flags())
	return c
}

func newSnapshotDeleteCommand(a *app) *cobra.Command {
	var server serverFlag
	c := &cobra.Command{
		Use:   "delete STORE NAME",
		Short: "Delete a snapshot, and what no other snapshot needs",
		Long: `Delete removes a snapshot, and the segments that no other snapshot of the folder or
bucket has. In a bucket, which has no locks, no snapshot must be made at the same
time.`,
		Example: `  griffin snapshot create notes.idx snapshots --name monday
  griffin snapshot delete snapshots monday`,
		Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.deleteSnapshot(cmd.Context(), &server, args[0], args[1])
		},
	}
	server.registerStore(c.Flags())
	return c
}

func (s *serverFlag) registerStore(f *pflag.FlagSet) {
	f.StringVar(&s.url, "server", "", "let a server do it, at this `URL`, such as http://127.0.0.1:7280: indexes are its own, and STORE is the name of one of its repositories")
}

// withStore opens a folder, the URL of a bucket, or a repository of a server.
func (s *serverFlag) withStore(ctx context.Context, where string, work func(s rest.SnapshotStore) error) (err error) {
	if s.url != "" {
		r, err := s.repository(where)
		if err != nil {
			return err
		}
		return work(r)
	}
	store, closeStore, err := openStore(ctx, where)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeStore()) }()
	return work(store)
}

// localStore is a store of this process, a backup.Store or backup.Bucket.
type localStore interface {
	rest.SnapshotStore
	// Prepare reports whether the store can be used.
	Prepare(ctx context.Context) error
}

// openStore opens a folder or the URL of a bucket.
func openStore(ctx context.Context, where string) (localStore, func() error, error) {
	done := func() error { return nil }
	scheme, path, isURL := strings.Cut(where, "://")
	switch {
	case !isURL:
		return backup.New(vfs.OS, where), done, nil
	case scheme == "file":
		if path == "" || path[0] != '/' || strings.ContainsAny(path, "?#") {
			return nil, nil, usagef("%s: want file:///PATH, without parameters", where)
		}
		return backup.New(vfs.OS, filepath.FromSlash(path)), done, nil
	}
	return openBucket(ctx, where)
}

// deletedSnapshot is the JSON of "griffin snapshot delete".
type deletedSnapshot struct {
	Name       string `json:"name"`
	FreedBytes int64  `json:"freed_bytes"`
}

func (a *app) deleteSnapshot(ctx context.Context, server *serverFlag, where, name string) error {
	return server.withStore(ctx, where, func(s rest.SnapshotStore) error {
		freed, err := s.Delete(ctx, name)
		if err != nil {
			return err
		}
		if a.json {
			return a.printJSON(deletedSnapshot{name, freed})
		}
		a.printf("%s: snapshot %s deleted, %s freed\n", where, name, sizeOf(freed))
		return nil
	})
}

func (a *app) createSnapshot(ctx context.Context, server *serverFlag, dir, folder, name string) error {
	if name != "" {
		if err := backup.CheckName(name); err != nil {
			return badFlags(err)
		}
	}
	var waiting uncommitted
	if server.url == "" {
		var err error
		if waiting, err = a.commitLog(ctx, dir); err != nil {
			return explainFolder(dir, err)
		}
	}
	bar := a.newProgress()
	var r backup.Report
	err := server.withStore(ctx, folder, func(s rest.SnapshotStore) (err error) {
		r, err = s.Create(ctx, backup.Source{Dir: dir}, name, bar.bytes("copy"))
		return err
	})
	bar.close()
	if errors.Is(err, base.ErrExists) {
		return hintedError{err, "choose another --name"}
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(struct {
			backup.Report
			uncommitted
		}{r, waiting})
	}
	a.printf("%s → %s, snapshot %s: %s, %s in %s\n", dir, folder, r.Name, plural(r.NumDocs, "document"), sizeOf(r.SizeBytes), took(r.Took))
	a.printf("%s copied, %s shared with earlier snapshots\n", plural(r.CopiedSegments, "segment"), count(r.SharedSegments))
	return nil
}

// snapshotList is the JSON of "griffin snapshot list".
type snapshotList struct {
	Snapshots []backup.Snapshot `json:"snapshots"`
}

func (a *app) listSnapshots(ctx context.Context, server *serverFlag, folder string) error {
	if !strings.Contains(folder, "://") && server.url == "" {
		if _, err := os.Stat(folder); err != nil {
			return err // a wrong path is likelier than an empty list
		}
	}
	var all []backup.Snapshot
	if err := server.withStore(ctx, folder, func(s rest.SnapshotStore) (err error) { all, err = s.List(ctx); return err }); err != nil {
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

func (a *app) restoreSnapshot(ctx context.Context, server *serverFlag, folder, name, out string) (err error) {
	if server.url != "" {
		return a.restoreOnServer(ctx, server, folder, name, out)
	}
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
	var s backup.Snapshot
	err = server.withStore(ctx, folder, func(from rest.SnapshotStore) (err error) {
		s, err = from.Restore(ctx, name, staged.Dir, bar.bytes("copy"))
		return err
	})
	bar.close()
	if err == nil {
		err = staged.MoveTo(out)
	}
	if err != nil {
		return err
	}
	return a.reportRestored(s, out, began)
}

func (a *app) restoreOnServer(ctx context.Context, server *serverFlag, repository, name, index string) error {
	began := time.Now()
	var s backup.Snapshot
	err := server.withStore(ctx, repository, func(from rest.SnapshotStore) (err error) {
		s, err = from.Restore(ctx, name, index, nil)
		return err
	})
	if errors.Is(err, base.ErrExists) {
		return hintedError{err, "restore into a new index: choose another --out"}
	}
	if err != nil {
		return err
	}
	return a.reportRestored(s, index, began)
}

func (a *app) reportRestored(s backup.Snapshot, out string, began time.Time) error {
	if a.json {
		return a.printJSON(s)
	}
	a.printf("snapshot %s → %s: %s, %s in %s\n", s.Name, out, plural(s.NumDocs, "document"), sizeOf(s.SizeBytes), took(time.Since(began)))
	return nil
}
