package vfstest

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
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
	// Before, if not nil, is called before each operation, without overlap.
	Before func()
}

// Faulty injects faults.
type Faulty struct {
	fs   vfs.FS
	plan Plan

	mu      sync.Mutex
	ops     int
	written int64
}

var _ vfs.FS = (*Faulty)(nil)

// NewFaulty returns fs with faults.
func NewFaulty(fs vfs.FS, plan Plan) *Faulty { return &Faulty{fs: fs, plan: plan} }

// Ops counts operations.
func (f *Faulty) Ops() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.ops
}

func (f *Faulty) op(what, name string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.ops++
	if f.plan.Before != nil {
		f.plan.Before()
	}
	if n := f.plan.FailAt; n > 0 && (f.ops == n || f.ops > n && !f.plan.Once) {
		return fmt.Errorf("%s %s: operation %d: %w", what, name, f.ops, ErrInjected)
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
		return &faultyFile{f: f, name: name, file: file}, nil
	}
}

// Map implements vfs.FS.
func (f *Faulty) Map(name string) (*vfs.Mapping, error) {
	if err := f.op("map", name); err != nil {
		return nil, err
	}
	return f.fs.Map(name)
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
	return f.fs.Lock(name)
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
	return errors.Join(h.f.op("close", h.name), h.file.Close())
}
