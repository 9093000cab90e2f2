package index

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an index in a folder: the last commit, to be searched through
// Snapshots, and the way to write another one. All methods are safe for
// concurrent use.
type Index struct {
	fs   vfs.FS
	dir  string
	opts Options

	mu       sync.Mutex
	current  *Snapshot // holds one reference; nil after Close
	manifest *manifest // of current
	open     map[string]*openSegment
}

// Create returns a new index for the folder dir, which is made, with those
// above it, by the first commit (of Build, Import or a Writer). Until then
// nothing is on disk, so an index whose first commit fails or is cancelled
// never was.
//
// The error wraps base.ErrExists if the folder holds an index already, and
// base.ErrBadInput if it holds other files or an option cannot be used.
func Create(fsys vfs.FS, dir string, opts Options) (*Index, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("create index %s: %w", dir, err)
	}
	if err := checkVacant(fsys, dir); err != nil {
		return nil, err
	}
	ix := &Index{fs: fsys, dir: dir, opts: opts, open: map[string]*openSegment{}}
	ix.manifest = &manifest{ID: newID(), NextSegment: 1, Options: opts, Segments: []manifestSegment{}}
	if ix.current, err = ix.newSnapshot(ix.manifest); err != nil {
		return nil, err
	}
	return ix, nil
}

// newID returns 16 random bytes in hexadecimal.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// checkVacant makes sure that a new index may be made in dir: there is no such
// folder, or nothing in it but leftovers of one that was never committed.
func checkVacant(fsys vfs.FS, dir string) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		if err := ignoreMissing(err); err != nil {
			return fmt.Errorf("create index: %w", err)
		}
		return nil
	}
	for _, name := range names {
		if name == manifestName {
			return fmt.Errorf("%s: %w", dir, base.ErrExists)
		}
	}
	for _, name := range names {
		if !ours(name) {
			return fmt.Errorf("create index %s: the folder holds other files (%s): %w", dir, name, base.ErrBadInput)
		}
	}
	return nil
}

// Open opens the last commit of the index in the folder dir, for reading; it
// takes no lock. It reads the manifest and the segments' metadata and maps their
// files. The error wraps base.ErrNotIndex if there is no index, base.ErrCorrupt
// or base.ErrVersion if it cannot be read.
func Open(fsys vfs.FS, dir string) (*Index, error) {
	ix := &Index{fs: fsys, dir: dir, open: map[string]*openSegment{}}
	if _, err := ix.Refresh(); err != nil {
		return nil, err
	}
	ix.opts = ix.manifest.Options
	return ix, nil
}

// Dir is the folder of the index.
func (ix *Index) Dir() string { return ix.dir }

// Options are those that the index was made with, defaults filled in.
func (ix *Index) Options() Options { return ix.opts }

// Refresh makes the last commit, by whatever process, the one that Snapshot
// returns, and tells whether it was another one before. After an error the
// former one stays.
func (ix *Index) Refresh() (changed bool, err error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.open == nil {
		return false, fmt.Errorf("index %s: %w", ix.dir, base.ErrClosed)
	}
	m, err := loadManifest(ix.fs, ix.dir)
	if err != nil {
		if ix.current != nil && ix.manifest.Generation == 0 && errors.Is(err, base.ErrNotIndex) {
			return false, nil // created, and not committed by anyone yet
		}
		return false, err
	}
	for {
		if ix.current != nil && m.ID == ix.manifest.ID && m.Generation == ix.manifest.Generation {
			return false, nil
		}
		err := ix.show(m)
		if err == nil {
			return true, nil
		}
		// Between reading the manifest and opening what it names, a commit of
		// another process may have removed some of it: then there is a newer one.
		newer, loadErr := loadManifest(ix.fs, ix.dir)
		if loadErr != nil || newer.ID == m.ID && newer.Generation == m.Generation {
			return false, err
		}
		m = newer
	}
}

// show makes m the current commit. ix.mu is held.
func (ix *Index) show(m *manifest) error {
	if ix.manifest != nil && m.ID != ix.manifest.ID {
		// Another index has taken the folder; its segments have the same names.
		ix.open = map[string]*openSegment{}
	}
	s, err := ix.newSnapshot(m)
	if err != nil {
		return err
	}
	if ix.current != nil {
		ix.current.Release()
	}
	ix.current, ix.manifest = s, m
	return nil
}

// Snapshot returns the current commit. Its files stay mapped until Release,
// whatever is committed or closed meanwhile. It costs an atomic addition.
// The error is base.ErrClosed after Close.
func (ix *Index) Snapshot() (*Snapshot, error) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.current == nil {
		return nil, fmt.Errorf("index %s: %w", ix.dir, base.ErrClosed)
	}
	ix.current.references.Add(1)
	return ix.current, nil
}

// Close lets go of the current commit. Snapshots that are held stay valid. A
// Writer must be closed on its own. Calls after the first do nothing.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.current == nil {
		return nil
	}
	ix.current.Release()
	ix.current, ix.open = nil, nil
	return nil
}

// path returns the path of a file of the index.
func (ix *Index) path(name string) string { return filepath.Join(ix.dir, name) }
