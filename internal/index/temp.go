package index

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/vfs"
)

// tempNames gives the files of one temporary folder distinct names. It is safe
// for concurrent use.
type tempNames struct {
	dir  string
	last atomic.Int64
}

func (t *tempNames) next(kind string) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%06d", kind, t.last.Add(1)))
}

// volatileFS is an FS whose files need not survive a crash: Sync does nothing.
// Temporary files are written through it.
type volatileFS struct{ vfs.FS }

// Create implements vfs.FS.
func (f volatileFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return volatileFile{file}, nil
}

// SyncDir implements vfs.FS.
func (volatileFS) SyncDir(string) error { return nil }

type volatileFile struct{ vfs.File }

// Sync implements vfs.File.
func (volatileFile) Sync() error { return nil }
