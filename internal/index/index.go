package index

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an index in a folder, safe for concurrent use. Snapshots give access to its last
// commit.
type Index struct {
	fs      vfs.FS
	dir     string
	derived *derived.Cache // of all segments that are open
	owner   Owner
	retired atomic.Bool
	live    atomic.Bool // a Live changes the index: snapshots can be newer than the manifest's file
	ready   ReadyFunc   // nil: none

	unmapping unmapping

	// showing is held while another commit becomes current, which waits for the disk. Lock it
	// before mu.
	showing sync.Mutex
	// seen identifies the manifest's file when it was last read and agreed with manifest; zero
	// if it may have been replaced since. Guarded by showing.
	seen vfs.Identity

	// current holds one reference; nil after Close. It is changed with mu held, and read without: many
	// searches that wait for a mutex hand it over one by one.
	current atomic.Pointer[Snapshot]

	mu       sync.Mutex
	manifest *manifest // of the last commit shown; what it points to never changes
	closed   bool
}

// Create returns a new index for the folder dir. The first Build, Import or Writer makes the
// folder and its missing parents, and removes them if it ends without a commit.
//
// The error wraps base.ErrExists if the folder holds an index, base.ErrBadInput if it holds
// other files or options are invalid.
func Create(fsys vfs.FS, dir string, opts Options) (*Index, error) {
	return CreateWithCache(fsys, dir, opts, derived.NewCache(derived.DefaultLimit))
}

// CreateWithCache is Create with a shared cache.
func CreateWithCache(fsys vfs.FS, dir string, opts Options, cache *derived.Cache) (*Index, error) {
	opts, err := opts.withDefaults()
	if err != nil {
		return nil, fmt.Errorf("create index %s: %w", dir, err)
	}
	return createComplete(fsys, dir, opts, cache)
}

// createComplete is CreateWithCache with the options of an index.
func createComplete(fsys vfs.FS, dir string, opts Options, cache *derived.Cache) (*Index, error) {
	if err := checkVacant(fsys, dir); err != nil {
		return nil, err
	}
	ix := &Index{fs: fsys, dir: dir, derived: cache, owner: Owner(lastOwner.Add(1))}
	ix.manifest = &manifest{ID: newID(), NextSegment: 1, Options: opts, Segments: []manifestSegment{}}
	first, err := ix.newSnapshot(ix.manifest, nil)
	if err != nil {
		return nil, err
	}
	ix.current.Store(first)
	return ix, nil
}

// 16 random bytes in hexadecimal.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// checkVacant returns an error unless dir is missing or holds only leftovers, with a lock file,
// of an index without a commit. A folder with only a "tmp" belongs to someone else.
func checkVacant(fsys vfs.FS, dir string) error {
	names, err := fsys.ReadDir(dir)
	if err != nil {
		if err := ignoreMissing(err); err != nil {
			return fmt.Errorf("create index: %w", err)
		}
		return nil
	}
	foreign := false // a manifest of another program
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

// Open opens an index's last commit for reading, without a lock: it reads the manifest and the
// segments' metadata and maps files. The error wraps base.ErrNotIndex, base.ErrCorrupt or
// base.ErrVersion.
func Open(fsys vfs.FS, dir string) (*Index, error) {
	return OpenWithCache(fsys, dir, derived.NewCache(derived.DefaultLimit))
}

// OpenWithCache is Open with a shared cache.
func OpenWithCache(fsys vfs.FS, dir string, cache *derived.Cache) (*Index, error) {
	ix := &Index{fs: fsys, dir: dir, derived: cache, owner: Owner(lastOwner.Add(1))}
	if _, err := ix.Refresh(); err != nil {
		return nil, err
	}
	return ix, nil
}

// SetCache bounds the memory of structures that traversals keep, instead of
// derived.DefaultLimit; 0 keeps none.
func (ix *Index) SetCache(limitBytes int64) { ix.derived.SetLimit(limitBytes) }

// Owner identifies an Index within the process and is never used again.
type Owner uint64

var lastOwner atomic.Uint64

// Owner identifies the Index within the process.
func (ix *Index) Owner() Owner { return ix.owner }

// Retire marks the Index as closed for users of its snapshots that keep memory of their own for
// it, such as GPUs. Snapshots stay readable.
func (ix *Index) Retire() { ix.retired.Store(true) }

// ReadyFunc makes other memories, such as a GPU's, ready for a snapshot that the Index is about to show,
// while former is current, or with merged for one that has only the segment that a merge has made of
// segments of former. Searches and, with merged, commits and other merges go on meanwhile: several calls
// with merged can run at once. Both snapshots are the caller's,
// which shows next soon after ctx ends.
type ReadyFunc func(ctx context.Context, next, former *Snapshot, merged bool)

// SetReady sets the function for later commits. It must be called before other use of the Index.
func (ix *Index) SetReady(f ReadyFunc) { ix.ready = f }

func (ix *Index) makeReady(ctx context.Context, next, former *Snapshot, merged bool) {
	if ix.ready != nil && former != nil {
		ix.ready(ctx, next, former, merged)
	}
}

// Seq is the number of the last record of the log that the last commit has; 0 without a log.
func (ix *Index) Seq() uint64 { return ix.currentManifest().Seq }

// Dir is the folder of the index.
func (ix *Index) Dir() string { return ix.dir }

// FS is the file system of the index.
func (ix *Index) FS() vfs.FS { return ix.fs }

// Options returns the options with defaults filled in.
func (ix *Index) Options() Options { return ix.currentManifest().Options }

// currentManifest returns the manifest of the current commit, which must not be changed;
// nil before the first.
func (ix *Index) currentManifest() *manifest {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.manifest
}

// Refresh shows the last commit of any process, and reports whether it was another one before.
// It follows an index that replaced this one under its path. After an error the former commit
// stays.
//
// It may be called every second beside searches, which never wait for it: without a new commit
// it looks at the manifest's file (microseconds; for some seconds after a commit it reads it).
func (ix *Index) Refresh() (changed bool, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	ix.showing.Lock()
	defer ix.showing.Unlock()
	if ix.live.Load() {
		return false, ix.checkOpen()
	}
	identity, err := ix.fs.Identify(ix.path(manifestName)) // before it is read
	if err == nil && identity == ix.seen && identity != (vfs.Identity{}) {
		return false, ix.checkOpen()
	}
	ix.seen = vfs.Identity{}
	looked := time.Now()
	if changed, err = ix.readCommit(); err == nil && identity.Settled(looked) {
		ix.seen = identity
	}
	return changed, err
}

// A writer must not rely on file attributes, which network file systems cache: reload always
// reads the manifest.
func (ix *Index) reload() (changed bool, err error) {
	ix.showing.Lock()
	defer ix.showing.Unlock()
	return ix.readCommit()
}

// ix.showing is held.
func (ix *Index) readCommit() (changed bool, err error) {
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
		// Another process's commit may have removed files that the manifest names: then there
		// is a newer one.
		newer, loadErr := loadManifest(ix.fs, ix.dir)
		switch {
		case loadErr != nil:
			return false, err
		case newer.ID == m.ID && newer.Generation == m.Generation:
			if errors.Is(err, fs.ErrNotExist) { // named by the last commit, but missing
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
	// Another index in the folder has segments of the same names.
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
	ix.makeReady(context.Background(), s, former, false /* merged */)
	return ix.replace(s, m)
}

// replace makes s, a snapshot of m, the current one. If the index was closed meanwhile,
// s is released and the error is base.ErrClosed, but ix.manifest is updated.
func (ix *Index) replace(s *Snapshot, m *manifest) error {
	ix.mu.Lock()
	former, closed := ix.current.Load(), ix.closed
	ix.manifest = m
	if !closed {
		ix.current.Store(s)
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

// Snapshot returns the current commit, whose files stay mapped until Release, without waiting
// for the disk. The error is base.ErrClosed after Close.
func (ix *Index) Snapshot() (*Snapshot, error) {
	for s := ix.current.Load(); s != nil; s = ix.current.Load() {
		if s.retain() {
			return s, nil
		} // another snapshot, or none, has replaced it meanwhile
	}
	return nil, fmt.Errorf("index %s: %w", ix.dir, base.ErrClosed)
}

// IsCurrent reports whether Snapshot would return s, which is not released.
func (ix *Index) IsCurrent(s *Snapshot) bool { return ix.current.Load() == s }

// Close releases the current commit, and waits until the segments that nobody uses are unmapped; repeated calls do nothing.
// Snapshots stay valid until released; a Writer must be closed separately.
func (ix *Index) Close() error {
	ix.mu.Lock()
	last := ix.current.Swap(nil)
	ix.closed = true
	ix.mu.Unlock()
	if last != nil {
		last.Release()
	}
	ix.unmapping.end()
	return nil
}

func (ix *Index) path(name string) string { return filepath.Join(ix.dir, name) }
