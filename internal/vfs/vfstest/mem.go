package vfstest

import (
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"unsafe"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Mem is a file system in memory. Writing a file creates its folder.
type Mem struct {
	mu    sync.Mutex
	files map[string][]byte // never changed in place
	dirs  map[string]bool
	locks map[string]bool
}

var _ vfs.FS = (*Mem)(nil)

// NewMem is empty.
func NewMem() *Mem {
	return &Mem{files: map[string][]byte{}, dirs: map[string]bool{}, locks: map[string]bool{}}
}

// Set replaces a file.
func (m *Mem) Set(name string, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.files[filepath.Clean(name)] = slices.Clone(data)
}

// Get returns a copy of a file, nil if missing.
func (m *Mem) Get(name string) []byte {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.files[filepath.Clean(name)])
}

// Clone copies the file system without locks.
func (m *Mem) Clone() *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &Mem{files: maps.Clone(m.files), dirs: maps.Clone(m.dirs), locks: map[string]bool{}}
}

// Names returns all files, sorted.
func (m *Mem) Names() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Sorted(maps.Keys(m.files))
}

// Create implements vfs.FS.
func (m *Mem) Create(name string) (vfs.File, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	m.files[name] = nil
	return &memFile{m: m, name: name, writable: true}, nil
}

// Open implements vfs.FS.
func (m *Mem) Open(name string) (vfs.File, error) {
	data, err := m.read("open", name)
	if err != nil {
		return nil, err
	}
	return &memFile{m: m, name: filepath.Clean(name), data: data}, nil
}

func (m *Mem) read(op, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.files[filepath.Clean(name)]
	if !ok {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrNotExist}
	}
	return data, nil
}

// Map implements vfs.FS. Bytes are 64-byte aligned, as in a real mapping, without spare
// capacity, so reads past the end fail.
func (m *Mem) Map(name string) (*vfs.Mapping, error) {
	data, err := m.read("map", name)
	if err != nil {
		return nil, err
	}
	return mapping(data), nil
}

// mapping copies data.
func mapping(data []byte) *vfs.Mapping {
	buf := make([]byte, len(data)+63)
	start := -int(uintptr(unsafe.Pointer(unsafe.SliceData(buf)))) & 63
	buf = buf[start : start+len(data) : start+len(data)]
	copy(buf, data)
	return vfs.NewMapping(buf, nil)
}

// Rename implements vfs.FS.
func (m *Mem) Rename(oldName, newName string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	oldName, newName = filepath.Clean(oldName), filepath.Clean(newName)
	if data, ok := m.files[oldName]; ok {
		delete(m.files, oldName)
		m.files[newName] = data
		return nil
	}
	found := false
	for name, data := range maps.Clone(m.files) {
		if rest, ok := strings.CutPrefix(name, oldName+string(filepath.Separator)); ok {
			delete(m.files, name)
			m.files[filepath.Join(newName, rest)] = data
			found = true
		}
	}
	if m.dirs[oldName] {
		delete(m.dirs, oldName)
		m.dirs[newName] = true
		found = true
	}
	if !found {
		return &fs.PathError{Op: "rename", Path: oldName, Err: fs.ErrNotExist}
	}
	return nil
}

// Remove implements vfs.FS.
func (m *Mem) Remove(name string) error {
	names, err := m.ReadDir(name)
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if _, ok := m.files[name]; ok {
		delete(m.files, name)
		return nil
	}
	switch {
	case err != nil:
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrNotExist}
	case len(names) > 0:
		return &fs.PathError{Op: "remove", Path: name, Err: fmt.Errorf("folder is not empty")}
	}
	delete(m.dirs, name)
	return nil
}

// RemoveAll implements vfs.FS.
func (m *Mem) RemoveAll(name string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	within := func(n string) bool { return n == name || strings.HasPrefix(n, name+string(filepath.Separator)) }
	maps.DeleteFunc(m.files, func(n string, _ []byte) bool { return within(n) })
	maps.DeleteFunc(m.dirs, func(n string, _ bool) bool { return within(n) })
	return nil
}

// Mkdir implements vfs.FS.
func (m *Mem) Mkdir(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	if _, ok := m.files[dir]; ok {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrExist}
	}
	if !m.isFolder(filepath.Dir(dir)) {
		return &fs.PathError{Op: "mkdir", Path: dir, Err: fs.ErrNotExist}
	}
	m.dirs[dir] = true
	return nil
}

// isFolder: a folder with a file exists. m.mu is held.
func (m *Mem) isFolder(dir string) bool {
	if m.dirs[dir] || dir == "." || dir == string(filepath.Separator) {
		return true
	}
	for name := range m.files {
		if strings.HasPrefix(name, dir+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// MkdirAll implements vfs.FS.
func (m *Mem) MkdirAll(dir string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for dir = filepath.Clean(dir); !m.dirs[dir] && dir != "." && dir != string(filepath.Separator); dir = filepath.Dir(dir) {
		m.dirs[dir] = true
	}
	return nil
}

// ReadDir implements vfs.FS.
func (m *Mem) ReadDir(dir string) ([]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir = filepath.Clean(dir)
	found := map[string]bool{}
	add := func(name string) {
		if rest, ok := strings.CutPrefix(name, dir+string(filepath.Separator)); ok {
			first, _, _ := strings.Cut(rest, string(filepath.Separator))
			found[first] = true
		} else if dir == "." && !filepath.IsAbs(name) {
			first, _, _ := strings.Cut(name, string(filepath.Separator))
			found[first] = true
		}
	}
	for name := range m.files {
		add(name)
	}
	for name := range m.dirs {
		add(name)
	}
	if len(found) == 0 && !m.dirs[dir] && dir != "." {
		return nil, &fs.PathError{Op: "readdir", Path: dir, Err: fs.ErrNotExist}
	}
	return slices.Sorted(maps.Keys(found)), nil
}

// Stat implements vfs.FS.
func (m *Mem) Stat(name string) (int64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if data, ok := m.files[name]; ok {
		return int64(len(data)), nil
	}
	if m.dirs[name] {
		return 0, nil
	}
	return 0, &fs.PathError{Op: "stat", Path: name, Err: fs.ErrNotExist}
}

// Identify implements vfs.FS with the unknown Identity.
func (m *Mem) Identify(name string) (vfs.Identity, error) {
	_, err := m.Stat(name)
	return vfs.Identity{}, err
}

// SyncDir implements vfs.FS.
func (m *Mem) SyncDir(string) error { return nil }

// Lock implements vfs.FS.
func (m *Mem) Lock(name string) (io.Closer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	name = filepath.Clean(name)
	if m.locks[name] {
		return nil, fmt.Errorf("lock %s: %w", name, base.ErrLocked)
	}
	m.locks[name] = true
	if _, ok := m.files[name]; !ok {
		m.files[name] = nil
	}
	return &memLock{m: m, name: name}, nil
}

type memLock struct {
	m    *Mem
	name string
}

func (l *memLock) Close() error {
	l.m.mu.Lock()
	defer l.m.mu.Unlock()
	delete(l.m.locks, l.name)
	return nil
}

type memFile struct {
	m        *Mem
	name     string
	writable bool
	data     []byte // content of a file open for reading
	at       int
}

func (f *memFile) Read(p []byte) (int, error) {
	if f.at >= len(f.data) {
		return 0, io.EOF
	}
	n := copy(p, f.data[f.at:])
	f.at += n
	return n, nil
}

func (f *memFile) ReadAt(p []byte, off int64) (int, error) {
	if off >= int64(len(f.data)) {
		return 0, io.EOF
	}
	n := copy(p, f.data[off:])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

func (f *memFile) Write(p []byte) (int, error) {
	if !f.writable {
		return 0, &fs.PathError{Op: "write", Path: f.name, Err: fs.ErrPermission}
	}
	f.m.mu.Lock()
	defer f.m.mu.Unlock()
	f.m.files[f.name] = append(f.m.files[f.name], p...)
	return len(p), nil
}

func (f *memFile) Sync() error  { return nil }
func (f *memFile) Close() error { return nil }
