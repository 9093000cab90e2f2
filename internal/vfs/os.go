package vfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/griffin-search/griffin/internal/base"
)

// OS is the operating system's.
var OS FS = osFS{}

type osFS struct{}

var _ FS = osFS{}

func (osFS) Create(name string) (File, error) {
	f, err := os.Create(name)
	if err != nil {
		return nil, err // not f: a nil *os.File makes a non-nil File
	}
	return osFile{f}, nil
}

type osFile struct{ *os.File }

func (f osFile) Sync() error { return syncData(f.File) }

func (f osFile) IsRemoved() bool { return hasNoName(f.File) }

func (osFS) Open(name string) (File, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	return osFile{f}, nil
}

func (osFS) Map(name string) (*Mapping, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close() // the mapping outlives the descriptor
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "map", Path: name, Err: errors.New("not a regular file")}
	}
	size := info.Size()
	if size == 0 {
		return NewMapping(nil, nil), nil
	}
	if size != int64(int(size)) {
		return nil, &fs.PathError{Op: "map", Path: name, Err: errors.New("file does not fit into the address space")}
	}
	if m, err := mapFile(f, int(size)); err == nil {
		return m, nil
	}
	// Some file systems do not support mmap.
	data := make([]byte, size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, PathError("read", name, err)
	}
	return NewMapping(data, nil), nil
}

// PathError adds operation and path, unless err already names the path, like package os.
func PathError(op, name string, err error) error {
	if at := (*fs.PathError)(nil); errors.As(err, &at) && at.Path == name {
		return err
	}
	return &fs.PathError{Op: op, Path: name, Err: err}
}

func (osFS) Rename(oldName, newName string) error { return os.Rename(oldName, newName) }

func (osFS) Remove(name string) error { return os.Remove(name) }

func (osFS) RemoveAll(name string) error { return os.RemoveAll(name) }

func (osFS) Mkdir(dir string) error {
	if isFolder(dir) { // some file systems refuse to create it before they find that it exists
		return nil
	}
	err := os.Mkdir(dir, 0o777)
	if errors.Is(err, fs.ErrExist) && isFolder(dir) { // made meanwhile
		return nil
	}
	return err
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func (osFS) MkdirAll(dir string) error { return os.MkdirAll(dir, 0o777) }

func (osFS) ReadDir(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names, nil
}

func (osFS) Stat(name string) (int64, error) {
	info, err := os.Stat(name)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

func (osFS) Identify(name string) (Identity, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Identity{}, err
	}
	i := Identity{SizeBytes: info.Size(), Modified: info.ModTime().UnixNano()}
	i.Device, i.Number = fileNumber(info)
	return i, nil
}

func (osFS) SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(syncDir(d), d.Close())
}

// Retries of Lock when other holders remove the file.
const lockAttempts = 100

func (osFS) Lock(name string) (io.Closer, error) {
	for range lockAttempts {
		f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
		if errors.Is(err, syscall.EROFS) {
			if there, err2 := os.Open(name); err2 == nil {
				f, err = there, nil
			}
		}
		if err != nil {
			return nil, err
		}
		if err := lockFile(f); err != nil {
			return nil, errors.Join(fmt.Errorf("lock %s: %w", name, err), f.Close())
		}
		if isAt(f, name) {
			return f, nil
		}
		// The holder removed the file. A lock on a removed file excludes nobody, so lock the
		// current one.
		if err := f.Close(); err != nil {
			return nil, err
		}
	}
	return nil, fmt.Errorf("lock %s: %w", name, base.ErrLocked)
}

func isAt(f *os.File, name string) bool {
	opened, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Stat(name)
	return err == nil && os.SameFile(opened, there)
}
