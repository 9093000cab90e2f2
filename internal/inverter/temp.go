package inverter

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/vfs"
)

// tempNames generates distinct file names in one temporary folder. It is safe for concurrent use.
type tempNames struct {
	dir  string
	last atomic.Int64
}

func (t *tempNames) next(kind string) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%06d", kind, t.last.Add(1)))
}

// volatileFS is an FS for temporary files, which need not survive a crash: Sync does nothing.
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
