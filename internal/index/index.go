package index

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an index in a folder: the last commit, to be searched through
// Snapshots, and the way to write another one. All methods are safe for
// concurrent use.
type Index struct {
	fs      vfs.FS
	dir     string
	derived *derived.Cache // of all segments that are open

	// showing is held while another commit becomes the current one, which
	// waits for the disk; it comes before mu, which never waits.
	showing sync.Mutex

	mu       sync.Mutex
	current  *Snapshot // holds one reference; nil after Close
	manifest *manifest // of the last commit shown; what it points to never changes
	closed   bool
}

// Create returns a new index for the folder dir. It touches nothing: the first
// Build, Import or Writer makes the folder, with those above it, and if it ends
// without a commit removes what it made, so that the index never was.
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
	ix := &Index{fs: fsys, dir: dir, derived: derived.NewCache(derived.DefaultLimit)}
	ix.manifest = &manifest{ID: newID(), NextSegment: 1, Options: opts, Segments: []manifestSegment{}}
	if ix.current, err = ix.newSnapshot(ix.manifest, nil); err != nil {
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
// folder, or nothing in it but leftovers of one that was never committed. Those
// come with the file of the lock: a folder that has just a "tmp" is someone's.
func checkVacant(fsys vfs.FS, dir string) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		if err := ignoreMissing(err); err != nil {
			return fmt.Errorf("create index: %w", err)
		}
		return nil
	}
	foreign := false // the manifest of something else
	if slices.Contains(names, manifestName) {
		_, err := loadManifest(fsys, dir)
		if foreign = errors.Is(err, base.ErrNotIndex); !foreign {
			return fmt.Errorf("%s: %w", dir, base.ErrExists)
		}
	}
	for _, name := range names {
		if !ours(name) || foreign && name == manifestName || !slices.Contains(names, lockName) {
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
	ix := &Index{fs: fsys, dir: dir, derived: derived.NewCache(derived.DefaultLimit)}
	if _, err := ix.Refresh(); err != nil {
		return nil, err
	}
	return ix, nil
}

// SetCache bounds the memory of what traversals compute from lists and keep, in
// bytes, instead of derived.DefaultLimit; with 0 nothing is kept.
func (ix *Index) SetCache(limitBytes int64) { ix.derived.SetLimit(limitBytes) }

// Dir is the folder of the index.
func (ix *Index) Dir() string { return ix.dir }

// Options are those that the index was made with, defaults filled in.
func (ix *Index) Options() Options { return ix.currentManifest().Options }

// currentManifest returns the manifest of the current commit, not to be changed;
// nil before the first.
func (ix *Index) currentManifest() *manifest {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.manifest
}

// Refresh makes the last commit, by whatever process, the one that Snapshot
// returns, and tells whether it was another one before. After an error the
// former one stays.
func (ix *Index) Refresh() (changed bool, err error) {
	ix.showing.Lock()
	defer ix.showing.Unlock()
	now := ix.currentManifest() // it stays while showing is held
	m, err := loadManifest(ix.fs, ix.dir)
	if err != nil {
		if now != nil && now.Generation == 0 && errors.Is(err, base.ErrNotIndex) {
			return false, ix.checkOpen() // created, and not committed by anyone yet
		}
		return false, err
	}
	for now == nil || m.ID != now.ID || m.Generation != now.Generation {
		err := ix.show(m)
		if err == nil {
			return true, nil
		}
		// Between reading the manifest and opening what it names, a commit of
		// another process may have removed some of it: then there is a newer one.
		newer, loadErr := loadManifest(ix.fs, ix.dir)
		switch {
		case loadErr != nil:
			return false, err
		case newer.ID == m.ID && newer.Generation == m.Generation:
			if errors.Is(err, fs.ErrNotExist) { // named by the last commit, and lost
				err = fmt.Errorf("%w: %w", err, base.ErrCorrupt)
			}
			return false, err
		}
		m = newer
	}
	return false, ix.checkOpen()
}

// checkOpen returns base.ErrClosed after Close.
func (ix *Index) checkOpen() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if ix.closed {
		return fmt.Errorf("index %s: %w", ix.dir, base.ErrClosed)
	}
	return nil
}

// show opens m and makes it the current commit. ix.showing is held.
func (ix *Index) show(m *manifest) error {
	var former *Snapshot
	// If another index has taken the folder, its segments have the same names.
	if now := ix.currentManifest(); now != nil && now.ID == m.ID {
		var err error
		if former, err = ix.Snapshot(); err != nil {
			return err
		}
		defer former.Release()
	}
	s, err := ix.newSnapshot(m, former)
	if err != nil {
		return err
	}
	return ix.replace(s, m)
}

// replace makes s, the snapshot of m, the current one. If the index was closed
// in the meantime, s is released and the error is base.ErrClosed; what the
// folder holds is known all the same.
func (ix *Index) replace(s *Snapshot, m *manifest) error {
	ix.mu.Lock()
	former, closed := ix.current, ix.closed
	ix.manifest = m
	if !closed {
		ix.current = s
	}
	ix.mu.Unlock()
	if closed {
		s.Release()
		return ix.checkOpen()
	}
	if former != nil {
		former.Release()
	}
	return nil
}

// Snapshot returns the current commit. Its files stay mapped until Release,
// whatever is committed or closed meanwhile. It never waits for the disk.
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
	last := ix.current
	ix.current, ix.closed = nil, true
	ix.mu.Unlock()
	if last != nil {
		last.Release()
	}
	return nil
}

// path returns the path of a file of the index.
func (ix *Index) path(name string) string { return filepath.Join(ix.dir, name) }
