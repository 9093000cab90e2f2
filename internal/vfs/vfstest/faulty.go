package vfstest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sync"
	"syscall"

	"github.com/griffin-search/griffin/internal/vfs"
)

// ErrInjected is the error of an injected fault.
var ErrInjected = errors.New("injected fault")

// Plan selects failing operations among all calls of an FS and its Files, including Close,
// counted from 1.
type Plan struct {
	// FailAt is the first operation that fails; 0: none.
	FailAt int
	// Once limits the failure to FailAt; otherwise later operations fail, too, as after a lost
	// disk or a killed process.
	Once bool
	// ShortWrite writes half of a failing Write.
	ShortWrite bool
	// DiskBytes is the capacity for all written bytes, then ENOSPC; 0: no limit.
	DiskBytes int64
	// Before, if not nil, is called before each operation, without overlap. It may close files.
	Before func()
}

// Faulty injects faults.
type Faulty struct {
	fs   vfs.FS
	plan Plan

	before  sync.Mutex // held by Before; lock it before mu
	mu      sync.Mutex
	ops     []string
	written int64
	open    map[string]int // files, mappings and locks by name
}

var _ vfs.FS = (*Faulty)(nil)

// NewFaulty returns fs with faults.
func NewFaulty(fs vfs.FS, plan Plan) *Faulty {
	return &Faulty{fs: fs, plan: plan, open: map[string]int{}}
}

// Ops counts operations.
func (f *Faulty) Ops() int { return len(f.Operations()) }

// Operations returns the kind and file name of each operation, such as "rename ix/MANIFEST.new".
func (f *Faulty) Operations() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.ops)
}

// StillOpen names the files, mappings and locks that are not closed, in order.
func (f *Faulty) StillOpen() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Sorted(maps.Keys(f.open))
}

func (f *Faulty) opened(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.open[name]++
}

func (f *Faulty) closed(name string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.open[name]--; f.open[name] <= 0 {
		delete(f.open, name)
	}
}

func (f *Faulty) op(what, name string) error {
	if f.plan.Before != nil {
		f.before.Lock()
		defer f.before.Unlock()
		f.plan.Before()
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops = append(f.ops, what+" "+name)
	if n, now := f.plan.FailAt, len(f.ops); n > 0 && (now == n || now > n && !f.plan.Once) {
		return fmt.Errorf("%s %s: operation %d: %w", what, name, now, ErrInjected)
	}
	return nil
}

// Create implements vfs.FS.
func (f *Faulty) Create(name string) (vfs.File, error) {
	if err := f.op("create", name); err != nil {
		return nil, err
	}
	return f.file(name)(f.fs.Create(name))
}

// Open implements vfs.FS.
func (f *Faulty) Open(name string) (vfs.File, error) {
	if err := f.op("open", name); err != nil {
		return nil, err
	}
	return f.file(name)(f.fs.Open(name))
}

func (f *Faulty) file(name string) func(vfs.File, error) (vfs.File, error) {
	return func(file vfs.File, err error) (vfs.File, error) {
		if err != nil {
			return nil, err
		}
		f.opened(name)
		return &faultyFile{f: f, name: name, file: file}, nil
	}
}

// Map implements vfs.FS.
func (f *Faulty) Map(name string) (*vfs.Mapping, error) {
	if err := f.op("map", name); err != nil {
		return nil, err
	}
	m, err := f.fs.Map(name)
	if err != nil {
		return nil, err
	}
	f.opened(name)
	return vfs.NewMapping(m.Bytes(), func([]byte) error {
		f.closed(name)
		return m.Close()
	}), nil
}

// Rename implements vfs.FS.
func (f *Faulty) Rename(oldName, newName string) error {
	if err := f.op("rename", oldName); err != nil {
		return err
	}
	return f.fs.Rename(oldName, newName)
}

// Remove implements vfs.FS.
func (f *Faulty) Remove(name string) error {
	if err := f.op("remove", name); err != nil {
		return err
	}
	return f.fs.Remove(name)
}

// RemoveAll implements vfs.FS.
func (f *Faulty) RemoveAll(name string) error {
	if err := f.op("remove", name); err != nil {
		return err
	}
	return f.fs.RemoveAll(name)
}

// Mkdir implements vfs.FS.
func (f *Faulty) Mkdir(dir string) error {
	if err := f.op("mkdir", dir); err != nil {
		return err
	}
	return f.fs.Mkdir(dir)
}

// MkdirAll implements vfs.FS.
func (f *Faulty) MkdirAll(dir string) error {
	if err := f.op("mkdir", dir); err != nil {
		return err
	}
	return f.fs.MkdirAll(dir)
}

// ReadDir implements vfs.FS.
func (f *Faulty) ReadDir(dir string) ([]string, error) {
	if err := f.op("readdir", dir); err != nil {
		return nil, err
	}
	return f.fs.ReadDir(dir)
}

// Stat implements vfs.FS.
func (f *Faulty) Stat(name string) (int64, error) {
	if err := f.op("stat", name); err != nil {
		return 0, err
	}
	return f.fs.Stat(name)
}

// Identify implements vfs.FS.
func (f *Faulty) Identify(name string) (vfs.Identity, error) {
	if err := f.op("stat", name); err != nil {
		return vfs.Identity{}, err
	}
	return f.fs.Identify(name)
}

// SyncDir implements vfs.FS.
func (f *Faulty) SyncDir(dir string) error {
	if err := f.op("sync", dir); err != nil {
		return err
	}
	return f.fs.SyncDir(dir)
}

// Lock implements vfs.FS.
func (f *Faulty) Lock(name string) (io.Closer, error) {
	if err := f.op("lock", name); err != nil {
		return nil, err
	}
	l, err := f.fs.Lock(name)
	if err != nil {
		return nil, err
	}
	f.opened(name)
	return &faultyLock{f, name, l}, nil
}

type faultyLock struct {
	f    *Faulty
	name string
	lock io.Closer
}

func (l *faultyLock) Close() error {
	l.f.closed(l.name)
	return l.lock.Close()
}

type faultyFile struct {
	f    *Faulty
	name string
	file vfs.File
}

func (h *faultyFile) Read(p []byte) (int, error) {
	if err := h.f.op("read", h.name); err != nil {
		return 0, err
	}
	return h.file.Read(p)
}

func (h *faultyFile) ReadAt(p []byte, off int64) (int, error) {
	if err := h.f.op("read", h.name); err != nil {
		return 0, err
	}
	return h.file.ReadAt(p, off)
}

func (h *faultyFile) Write(p []byte) (int, error) {
	if err := h.f.op("write", h.name); err != nil {
		n := 0
		if h.f.plan.ShortWrite {
			n, _ = h.file.Write(p[:len(p)/2])
		}
		return n, err
	}
	room, full := h.f.take(len(p))
	n, err := h.file.Write(p[:room])
	if err == nil && full {
		err = &fs.PathError{Op: "write", Path: h.name, Err: syscall.ENOSPC}
	}
	return n, err
}

func (f *Faulty) take(n int) (room int, full bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if left := f.plan.DiskBytes - f.written; f.plan.DiskBytes > 0 && int64(n) > left {
		n, full = int(left), true
	}
	f.written += int64(n)
	return n, full
}

func (h *faultyFile) Sync() error {
	if err := h.f.op("sync", h.name); err != nil {
		return err
	}
	return h.file.Sync()
}

// Close closes the file even if it fails.
func (h *faultyFile) Close() error {
	h.f.closed(h.name)
	return errors.Join(h.f.op("close", h.name), h.file.Close())
}
