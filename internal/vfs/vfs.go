package vfs

import (
	"errors"
	"io"
	"os"
	"time"
)

// FS is a file system, safe for concurrent use. Names are package filepath's. Errors wrap
// package io/fs's (fs.ErrNotExist, fs.ErrPermission) and name the path.
type FS interface {
	// Create creates or truncates for writing.
	Create(name string) (File, error)
	// Open is for reading.
	Open(name string) (File, error)
	// Map maps a whole file for reading.
	Map(name string) (*Mapping, error)
	// Rename is atomic and replaces an existing file.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// RemoveAll deletes recursively; a missing name is no error.
	RemoveAll(name string) error
	// Mkdir creates one folder; an existing folder is no error. If the parent is missing, the error wraps fs.ErrNotExist.
	Mkdir(dir string) error
	// MkdirAll also creates missing parents. Below a folder that another program may remove, use Mkdir: MkdirAll would make
	// that folder anew.
	MkdirAll(dir string) error
	// ReadDir returns a folder's sorted names.
	ReadDir(dir string) ([]string, error)
	// Stat returns a file's size (undefined for a folder).
	Stat(name string) (sizeBytes int64, err error)
	// Identify returns an identity that changes if the file is replaced. Errors are as for
	// Stat.
	Identify(name string) (Identity, error)
	// SyncDir makes a folder's creations, renames and removals durable.
	SyncDir(dir string) error
	// Lock acquires a file's exclusive lock, creating the file if needed, without waiting: if
	// anyone, also in this process, holds it, the error wraps base.ErrLocked. Close or the end
	// of the process releases it. The holder may remove the file; the next caller then creates
	// another. On a read-only file system, a file that exists can be locked.
	Lock(name string) (io.Closer, error)
}

// Identity distinguishes a file from its replacement. Zero is unknown and equals no file's.
type Identity struct {
	Device, Number uint64 // in the file system; 0 if not available
	SizeBytes      int64
	Modified       int64 // nanoseconds since 1970, in the file system's precision
}

// SameFile reports whether both are of one file, also if it was written in between. Files whose numbers are not available
// count as the same.
func (i Identity) SameFile(other Identity) bool {
	return i.Device == other.Device && i.Number == other.Number
}

// Settled reports whether the file is so old that a later write must have another time. File
// systems store times in milliseconds, FAT in two seconds, so a newer file's replacement may
// have the same Identity.
func (i Identity) Settled(now time.Time) bool {
	const precision = 3 * time.Second
	return now.UnixNano()-i.Modified > int64(precision)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes written data durable.
	Sync() error
}

// IsRemoved reports whether the open file has no name any more, in any folder: its content is lost when it is closed. false
// if the file system does not tell. Some (FUSE) tell it of every file: see that a new file is not removed. It allocates nothing.
func IsRemoved(f File) bool {
	r, ok := f.(interface{ IsRemoved() bool })
	return ok && r.IsRemoved()
}

// Mapping is a file in read-only memory; a write ends the process. If another program truncates
// the file, reading faults: see RecoverFault.
type Mapping struct {
	data    []byte
	release func([]byte) error
	// nil: the content is not a file's
	prefetch, drop func([]byte) error
}

// NewMapping wraps data; release, if not nil, frees it.
func NewMapping(data []byte, release func([]byte) error) *Mapping {
	return &Mapping{data: data, release: release}
}

// Bytes returns the content, valid until Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Prefetch begins to read the bytes [from, to) from the disk into memory, and nothing else. Without it, the reader of
// the first byte waits for the read-ahead of the system: 8 MiB with some settings of Linux. It takes about a
// microsecond for 64 KiB that are in memory.
func (m *Mapping) Prefetch(from, to int) error {
	if m.prefetch == nil || from >= to {
		return nil
	}
	from -= from % os.Getpagesize()
	return m.prefetch(m.data[from:to])
}

// Drop frees the memory until the content is read again, from the file. It may run beside readers.
func (m *Mapping) Drop() error {
	if m.drop == nil || len(m.data) == 0 {
		return nil
	}
	return m.drop(m.data)
}

// Close releases the memory; later calls do nothing.
func (m *Mapping) Close() error {
	data, release := m.data, m.release
	m.data, m.release, m.prefetch, m.drop = nil, nil, nil, nil
	if release == nil {
		return nil
	}
	return release(data)
}

// WriteFile creates or replaces a file and syncs its content; SyncDir makes the name durable.
// After an error a partial file may exist.
func WriteFile(fsys FS, name string, data []byte) error {
	f, err := fsys.Create(name)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}
