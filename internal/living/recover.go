package living

import (
	"context"
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// Recover commits the acknowledged writes that a Store left in the log because its process ended. A
// writer without a log calls it first, so that its changes come later. Errors are as for
// Open.
func Recover(ctx context.Context, fsys vfs.FS, ix *index.Index) error {
	dir := filepath.Join(ix.Dir(), index.LogName)
	if _, err := fsys.Stat(dir); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return err
	}
	if _, err := ix.Refresh(); err != nil {
		return err
	}
	log, err := wal.Open(fsys, dir, wal.Options{After: wal.Seq(ix.Seq())})
	if err != nil {
		return err
	}
	last := log.Stats().Last
	if err := log.Close(); err != nil || uint64(last) <= ix.Seq() {
		return err
	}
	s, err := Open(ctx, fsys, ix, Options{RefreshInterval: -1})
	if err != nil {
		return err
	}
	return s.Close(ctx)
}
