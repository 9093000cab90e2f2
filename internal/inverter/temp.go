package inverter

import (
	"fmt"
	"path/filepath"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/vfs"
)

// Distinct names in one temporary folder, safe for concurrent use.
type tempNames struct {
	dir  string
	last atomic.Int64
}

func (t *tempNames) next(kind string) string {
	return filepath.Join(t.dir, fmt.Sprintf("%s-%06d", kind, t.last.Add(1)))
}

// Temporary files need not survive a crash: Sync does nothing.
type volatileFS struct{ vfs.FS }

func (f volatileFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	if err != nil {
		return nil, err
	}
	return volatileFile{file}, nil
}

func (volatileFS) SyncDir(string) error { return nil }

type volatileFile struct{ vfs.File }

func (volatileFile) Sync() error { return nil }
