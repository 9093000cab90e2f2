package vfstest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ErrCrashed is the error of all operations of a Disk from DiskFaults.CrashAt on.
var ErrCrashed = errors.New("the machine is off")

// Disk is a file system in memory with the guarantees of POSIX only. AfterCrash returns the disk after a power failure:
//
//   - Of a file, the bytes before the last Sync, and of the others any prefix, in which sectors may be
//     zero. At a third of crashes all files are whole, at another third all but one.
//   - Of a folder, the names at the last SyncDir of this folder, with any subset of the later
//     creations, renames and removals. A rename within a folder is atomic. A rename between folders
//     is a creation and a removal, either of which can be lost. Sync does not make the name of a file
//     durable, and SyncDir of a folder not the name of the folder.
//
// After a failed Sync, the file's data is dropped at a crash, and later Syncs succeed without effect,
// as on Linux.
type Disk struct {
	mu     sync.Mutex
	root   *node
	locks  map[string]bool
	faults DiskFaults

	numOpen, numOps, numSyncs, numFailedSyncs, largestWrite int
}

var _ vfs.FS = (*Disk)(nil)

// DiskFaults are what fails. The zero value is a disk without faults.
type DiskFaults struct {
	// CrashAt is the operation, as NumOps counts, from which on all fail, until AfterCrash or
	// AfterKill. A write at this operation is cut off. 0: none.
	CrashAt int
	// OnCrash, if not nil, is called once at CrashAt. It must not use the Disk.
	OnCrash func()
	// Capacity bounds the bytes of all files, then ENOSPC; 0: no limit.
	Capacity int
	// ReadOnly makes changes fail with EROFS, and Denied with EACCES.
	ReadOnly, Denied bool
	// CutWrites is the number of next writes, of those at CutFrom or later in a file, half of which
	// is written before ENOSPC.
	CutWrites, CutFrom int
	// FailSyncs is the number of next Syncs that fail.
	FailSyncs int
	// FailDirSyncs is the number of next SyncDirs that fail.
	FailDirSyncs int
	// Lie makes Sync and SyncDir report success without effect.
	Lie bool
	// SyncDelay is the time that a Sync takes, WriteDelay the one of a Write.
	SyncDelay, WriteDelay time.Duration
	// FailReads makes reads of files fail.
	FailReads bool
}

// NewDisk is empty.
func NewDisk() *Disk { return &Disk{root: newFolder(), locks: map[string]bool{}} }

// Change changes the plan of faults.
func (d *Disk) Change(change func(f *DiskFaults)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(&d.faults)
}

// AfterCrash returns the disk as a new process finds it after a power failure. Calls with the same random
// numbers after the same operations return the same.
func (d *Disk) AfterCrash(random *rand.Rand) *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	c := crash{random: random, changes: random.IntN(3), made: map[*node]*node{}}
	c.choose(d.root)
	return &Disk{root: c.after(d.root), locks: map[string]bool{}}
}

// AfterKill returns the disk as a new process finds it after the former one was killed: all that was written,
// and unsynced writes stay unsynced.
func (d *Disk) AfterKill() *Disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &Disk{root: d.root.clone(map[*node]*node{}), locks: map[string]bool{}}
}

// NumOpen counts open files.
func (d *Disk) NumOpen() int { return d.count(&d.numOpen) }

// NumOps counts operations, but not Close.
func (d *Disk) NumOps() int { return d.count(&d.numOps) }

// NumSyncs counts Syncs of files that ended.
func (d *Disk) NumSyncs() int { return d.count(&d.numSyncs) }

// NumFailedSyncs counts Syncs of files that DiskFaults.FailSyncs made fail.
func (d *Disk) NumFailedSyncs() int { return d.count(&d.numFailedSyncs) }

// LargestWrite is the most bytes that a Write wrote.
func (d *Disk) LargestWrite() int { return d.count(&d.largestWrite) }

func (d *Disk) count(n *int) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return *n
}

// Used is the size of all files.
func (d *Disk) Used() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.root.size()
}

// Names returns all files, sorted.
func (d *Disk) Names() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var names []string
	d.root.each("", func(name string) { names = append(names, name) })
	slices.Sort(names)
	return names
}

// Get returns a copy of a file, nil if missing.
func (d *Disk) Get(name string) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := d.root.find(name)
	if n == nil {
		return nil
	}
	return append([]byte{}, n.data...)
}

// Set replaces a file and its folders durably.
func (d *Disk) Set(name string, data []byte) {
	d.mu.Lock()
	defer d.mu.Unlock()
	at := d.root
	parts := split(name)
	for _, part := range parts[:len(parts)-1] {
		if at.entries[part] == nil {
			at.set(part, newFolder())
		}
		at = at.entries[part]
	}
	n := newNode()
	n.data, n.synced = slices.Clone(data), len(data)
	at.set(parts[len(parts)-1], n)
}

// op begins an operation. d.mu is held.
func (d *Disk) op() error {
	d.numOps++
	if f := &d.faults; f.CrashAt == 0 || d.numOps < f.CrashAt {
		return nil
	}
	if f := d.faults.OnCrash; f != nil {
		d.faults.OnCrash = nil
		f()
	}
	return ErrCrashed
}

// refused is the error of a change; nil: it is permitted.
func (f *DiskFaults) refused() error {
	switch {
	case f.ReadOnly:
		return syscall.EROFS
	case f.Denied:
		return syscall.EACCES
	}
	return nil
}

// do runs an operation. Errors name the path.
func (d *Disk) do(what, name string, write bool, fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.op()
	if err == nil && write {
		err = d.faults.refused()
	}
	if err == nil {
		err = fn()
	}
	if err != nil {
		return vfs.PathError(what, name, err)
	}
	return nil
}

// Create implements vfs.FS.
func (d *Disk) Create(name string) (vfs.File, error) {
	f := &diskFile{d: d, n: newNode(), name: name, write: true}
	err := d.do("create", name, true, func() error {
		folder, last, err := d.root.parent(name)
		if err != nil {
			return err
		}
		if n := folder.entries[last]; n != nil && n.isFolder() {
			return syscall.EISDIR
		}
		folder.change(change{to: last, node: f.n})
		d.numOpen++
		return nil
	})
	if err != nil {
		return nil, err
	}
	return f, nil
}

// file returns a file that exists.
func (d *Disk) file(what, name string) (n *node, err error) {
	err = d.do(what, name, false, func() error {
		if n = d.root.find(name); n == nil {
			return fs.ErrNotExist
		}
		if n.isFolder() {
			return syscall.EISDIR
		}
		return nil
	})
	return n, err
}

// Open implements vfs.FS.
func (d *Disk) Open(name string) (vfs.File, error) {
	n, err := d.file("open", name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.numOpen++
	return &diskFile{d: d, n: n, name: name}, nil
}

// Map implements vfs.FS, as Mem does.
func (d *Disk) Map(name string) (*vfs.Mapping, error) {
	n, err := d.file("map", name)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	return mapping(n.data), nil
}

// Rename implements vfs.FS.
func (d *Disk) Rename(oldName, newName string) error {
	return d.do("rename", oldName, true, func() error {
		from, oldLast, err := d.root.parent(oldName)
		if err != nil {
			return err
		}
		to, newLast, err := d.root.parent(newName)
		if err != nil {
			return err
		}
		n := from.entries[oldLast]
		switch there := to.entries[newLast]; {
		case n == nil:
			return fs.ErrNotExist
		case there == n:
			return nil
		case there != nil && (there.isFolder() || n.isFolder()):
			return fs.ErrExist
		}
		if from == to {
			from.change(change{from: oldLast, to: newLast, node: n})
			return nil
		}
		to.change(change{to: newLast, node: n})
		from.change(change{from: oldLast, node: n})
		return nil
	})
}

// Remove implements vfs.FS.
func (d *Disk) Remove(name string) error {
	return d.do("remove", name, true, func() error {
		folder, last, err := d.root.parent(name)
		if err != nil {
			return err
		}
		n := folder.entries[last]
		switch {
		case n == nil:
			return fs.ErrNotExist
		case len(n.entries) > 0:
			return syscall.ENOTEMPTY
		}
		folder.change(change{from: last, node: n})
		return nil
	})
}

// RemoveAll implements vfs.FS. Each removal is an operation.
func (d *Disk) RemoveAll(name string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	folder, last, err := d.root.parent(name)
	if err == nil {
		err = d.removeAll(folder, last)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return vfs.PathError("remove", name, err)
	}
	return nil
}

func (d *Disk) removeAll(folder *node, name string) error {
	n := folder.entries[name]
	if n != nil {
		for _, child := range slices.Sorted(maps.Keys(n.entries)) {
			if err := d.removeAll(n, child); err != nil {
				return err
			}
		}
	}
	if err := d.op(); err != nil {
		return err
	}
	if n == nil {
		return nil
	}
	if err := d.faults.refused(); err != nil {
		return err
	}
	folder.change(change{from: name, node: n})
	return nil
}

// Mkdir implements vfs.FS.
func (d *Disk) Mkdir(dir string) error { return d.mkdir(dir, dir) }

// mkdir creates a folder; errors name path.
func (d *Disk) mkdir(dir, path string) error {
	return d.do("mkdir", path, false, func() error {
		folder, last, err := d.root.parent(dir)
		if err != nil {
			return err
		}
		switch n := folder.entries[last]; {
		case n != nil && !n.isFolder():
			return syscall.ENOTDIR
		case n != nil:
		default:
			if err := d.faults.refused(); err != nil {
				return err
			}
			folder.change(change{to: last, node: newFolder()})
		}
		return nil
	})
}

// MkdirAll implements vfs.FS. Each creation is an operation.
func (d *Disk) MkdirAll(dir string) error {
	at := ""
	for _, part := range split(dir) {
		at = filepath.Join(at, part)
		if err := d.mkdir(at, dir); err != nil {
			return err
		}
	}
	return nil
}

// ReadDir implements vfs.FS.
func (d *Disk) ReadDir(dir string) (names []string, err error) {
	err = d.do("readdir", dir, false, func() error {
		n := d.root.find(dir)
		if n == nil {
			return fs.ErrNotExist
		}
		if !n.isFolder() {
			return syscall.ENOTDIR
		}
		names = slices.Sorted(maps.Keys(n.entries))
		return nil
	})
	return names, err
}

// Stat implements vfs.FS.
func (d *Disk) Stat(name string) (sizeBytes int64, err error) {
	i, err := d.Identify(name)
	return i.SizeBytes, err
}

// Identify implements vfs.FS.
func (d *Disk) Identify(name string) (i vfs.Identity, err error) {
	err = d.do("stat", name, false, func() error {
		n := d.root.find(name)
		if n == nil {
			return fs.ErrNotExist
		}
		i = vfs.Identity{Number: n.number, SizeBytes: int64(len(n.data))}
		return nil
	})
	return i, err
}

// SyncDir implements vfs.FS.
func (d *Disk) SyncDir(dir string) error {
	return d.do("sync", dir, false, func() error {
		n := d.root.find(dir)
		switch {
		case n == nil:
			return fs.ErrNotExist
		case d.faults.FailDirSyncs > 0:
			d.faults.FailDirSyncs--
			return syscall.EIO
		case !d.faults.Lie:
			n.durable, n.changes = maps.Clone(n.entries), nil
		}
		return nil
	})
}

// Lock implements vfs.FS. ReadOnly does not prevent it if the file exists.
func (d *Disk) Lock(name string) (io.Closer, error) {
	err := d.do("lock", name, false, func() error {
		folder, last, err := d.root.parent(name)
		if err != nil {
			return err
		}
		if d.locks[filepath.Clean(name)] {
			return base.ErrLocked
		}
		if folder.entries[last] == nil {
			if err := d.faults.refused(); err != nil {
				return err
			}
			folder.change(change{to: last, node: newNode()})
		}
		d.locks[filepath.Clean(name)] = true
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", name, err)
	}
	return &diskLock{d, filepath.Clean(name)}, nil
}

type diskLock struct {
	d    *Disk
	name string
}

func (l *diskLock) Close() error {
	l.d.mu.Lock()
	defer l.d.mu.Unlock()
	delete(l.d.locks, l.name)
	return nil
}

func split(name string) []string {
	return strings.FieldsFunc(filepath.Clean(name), func(r rune) bool { return r == filepath.Separator })
}
