package wal

import (
	"errors"
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

var errCrashed = errors.New("the machine is off")

// disk is a file system in memory whose crash loses what was not synced: of a file's bytes any
// part, of a folder's changes any subset.
type disk struct {
	mu      sync.Mutex
	now     map[string]*inode // what the process sees
	durable map[string]*inode // what SyncDir made durable
	changes []change          // after the last SyncDir
	locks   map[string]bool
	open    int

	ops        int // so far
	crashAt    int // the operation from which on all fail; 0: none
	capacity   int // bytes of all files; 0: no limit
	readOnly   bool
	fullWrites int           // the next writes of records are cut off: the disk is full
	failSyncs  int           // the next syncs of files fail and drop the data
	failDirs   int           // the next syncs of folders fail
	lie        bool          // syncs do nothing
	delay      time.Duration // of a sync of a file
	slow       time.Duration // of a write
	syncs      int           // of files, done
	largest    int           // bytes of a write
	corrupt    bool          // reads fail
}

type inode struct {
	data    []byte
	synced  int // bytes that are durable
	dropped bool
}

// change is a creation (to), a removal (from) or a renaming.
type change struct {
	from, to string
	node     *inode
}

var _ vfs.FS = (*disk)(nil)

func newDisk() *disk {
	return &disk{now: map[string]*inode{}, durable: map[string]*inode{}, locks: map[string]bool{}}
}

func (d *disk) op() error {
	if d.ops++; d.crashAt > 0 && d.ops >= d.crashAt {
		return errCrashed
	}
	return nil
}

// set changes fields while others use the disk.
func (d *disk) set(change func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change()
}

// numSyncs is the number of syncs of files.
func (d *disk) numSyncs() (n int) {
	d.set(func() { n = d.syncs })
	return n
}

func (c *change) apply(names map[string]*inode) {
	if c.from != "" {
		if names[c.from] != c.node {
			return
		}
		delete(names, c.from)
	}
	if c.to != "" {
		names[c.to] = c.node
	}
}

// crash returns what a restart finds.
func (d *disk) crash(random *rand.Rand) *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	after := newDisk()
	names := maps.Clone(d.durable)
	lost := random.IntN(3) // all, some, none
	for _, c := range d.changes {
		if lost == 2 || lost == 1 && random.IntN(2) == 0 {
			c.apply(names)
		}
	}
	nodes := map[*inode]*inode{}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		n := names[name]
		if nodes[n] == nil {
			data := n.tear(random)
			nodes[n] = &inode{data: data, synced: len(data)}
		}
		after.now[name], after.durable[name] = nodes[n], nodes[n]
	}
	return after
}

// tear returns what remains of a file: all synced bytes, and of the others a prefix, perhaps with
// sectors of zeros.
func (n *inode) tear(random *rand.Rand) []byte {
	unsynced := n.data[n.synced:]
	switch random.IntN(4) {
	case 0:
		return slices.Clone(n.data[:n.synced])
	case 1:
		return slices.Clone(n.data)
	}
	data := slices.Clone(n.data[:n.synced+random.IntN(len(unsynced)+1)])
	if random.IntN(2) == 0 {
		return data
	}
	const sector = 512
	for at := n.synced; at < len(data); at += sector - at%sector {
		if random.IntN(2) == 0 {
			clear(data[at:min(at+sector-at%sector, len(data))])
		}
	}
	return data
}

func (d *disk) used() (n int) {
	for _, f := range d.now {
		n += len(f.data)
	}
	return n
}

func (d *disk) locked(write bool, fn func() error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.op(); err != nil {
		return err
	}
	if write && d.readOnly {
		return syscall.EROFS
	}
	return fn()
}

func (d *disk) change(c change) {
	c.apply(d.now)
	d.changes = append(d.changes, c)
}

func (d *disk) Create(name string) (vfs.File, error) {
	var f *diskFile
	err := d.locked(true, func() error {
		n := &inode{}
		d.change(change{to: name, node: n})
		d.open++
		f = &diskFile{d: d, n: n, write: true}
		return nil
	})
	if err != nil {
		return nil, &fs.PathError{Op: "create", Path: name, Err: err}
	}
	return f, nil
}

func (d *disk) Open(name string) (vfs.File, error) {
	var f *diskFile
	err := d.locked(false, func() error {
		n := d.now[name]
		if n == nil {
			return fs.ErrNotExist
		}
		d.open++
		f = &diskFile{d: d, n: n}
		return nil
	})
	if err != nil {
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return f, nil
}

func (d *disk) Map(string) (*vfs.Mapping, error) { return nil, errors.ErrUnsupported }

func (d *disk) Rename(from, to string) error {
	return d.locked(true, func() error {
		n := d.now[from]
		if n == nil {
			return fs.ErrNotExist
		}
		d.change(change{from: from, to: to, node: n})
		return nil
	})
}

func (d *disk) Remove(name string) error {
	return d.locked(true, func() error {
		n := d.now[name]
		if n == nil {
			return fs.ErrNotExist
		}
		d.change(change{from: name, node: n})
		return nil
	})
}

func (d *disk) RemoveAll(string) error { return errors.ErrUnsupported }

// Folders exist from the start.
func (d *disk) MkdirAll(string) error { return d.locked(false, func() error { return nil }) }

func (d *disk) ReadDir(dir string) (names []string, err error) {
	err = d.locked(false, func() error {
		for name := range d.now {
			if filepath.Dir(name) == dir {
				names = append(names, filepath.Base(name))
			}
		}
		slices.Sort(names)
		return nil
	})
	return names, err
}

func (d *disk) Stat(name string) (size int64, err error) {
	err = d.locked(false, func() error {
		n := d.now[name]
		if n == nil && strings.Contains(name, filePrefix) {
			return fs.ErrNotExist
		}
		if n != nil {
			size = int64(len(n.data))
		}
		return nil
	})
	return size, err
}

func (d *disk) Identify(string) (vfs.Identity, error) { return vfs.Identity{}, errors.ErrUnsupported }

func (d *disk) SyncDir(string) error {
	return d.locked(false, func() error {
		if d.failDirs > 0 {
			d.failDirs--
			return syscall.EIO
		}
		if !d.lie {
			d.durable, d.changes = maps.Clone(d.now), nil
		}
		return nil
	})
}

func (d *disk) Lock(name string) (io.Closer, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.locks[name] {
		return nil, base.ErrLocked
	}
	d.locks[name] = true
	return closer(func() error {
		d.set(func() { delete(d.locks, name) })
		return nil
	}), nil
}

type closer func() error

func (c closer) Close() error { return c() }

type diskFile struct {
	d     *disk
	n     *inode
	write bool
	at    int
}

func (f *diskFile) Read(p []byte) (n int, err error) {
	err = f.d.locked(false, func() error {
		if f.d.corrupt {
			return syscall.EIO
		}
		if f.at >= len(f.n.data) {
			return io.EOF
		}
		n = copy(p, f.n.data[f.at:])
		f.at += n
		return nil
	})
	return n, err
}

func (f *diskFile) ReadAt([]byte, int64) (int, error) { return 0, errors.ErrUnsupported }

func (f *diskFile) Write(p []byte) (n int, err error) {
	var slow time.Duration
	f.d.set(func() { slow = f.d.slow })
	time.Sleep(slow)
	err = f.d.locked(true, func() error {
		n = len(p)
		if f.d.capacity > 0 {
			n = max(0, min(n, f.d.capacity-f.d.used()))
		}
		if f.d.fullWrites > 0 && len(f.n.data) >= headerLen {
			f.d.fullWrites--
			n /= 2
		}
		f.d.largest = max(f.d.largest, n)
		f.n.data = append(f.n.data, p[:n]...)
		if n < len(p) {
			return syscall.ENOSPC
		}
		return nil
	})
	if errors.Is(err, errCrashed) && f.write { // the machine stops in the middle of a write
		f.d.set(func() { n = len(p) / 2; f.n.data = append(f.n.data, p[:n]...) })
	}
	return n, err
}

// Sync after a failed Sync succeeds without effect, as on Linux: the pages are clean.
func (f *diskFile) Sync() error {
	target, delay := 0, time.Duration(0)
	err := f.d.locked(false, func() error { target, delay = len(f.n.data), f.d.delay; return nil })
	if err != nil {
		return err
	}
	time.Sleep(delay)
	return f.d.locked(false, func() error {
		f.d.syncs++
		if f.d.failSyncs > 0 {
			f.d.failSyncs--
			f.n.dropped = true
			return syscall.EIO
		}
		if !f.n.dropped && !f.d.lie {
			f.n.synced = max(f.n.synced, target)
		}
		return nil
	})
}

func (f *diskFile) Close() error {
	f.d.set(func() { f.d.open-- })
	return nil
}
