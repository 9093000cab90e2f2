package vfs

import (
	"errors"
	"io"
	"time"
)

// FS is a file system. Names are paths in the form of package filepath. Errors
// wrap those of package io/fs (fs.ErrNotExist, fs.ErrPermission) and name the
// path. An FS is safe for concurrent use.
type FS interface {
	// Create creates or truncates a file for writing.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Map maps a whole file for reading.
	Map(name string) (*Mapping, error)
	// Rename renames a file or folder atomically and replaces an existing file.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// RemoveAll deletes a file or folder recursively; a missing one is no
	// error.
	RemoveAll(name string) error
	// MkdirAll creates a folder and its missing parents.
	MkdirAll(dir string) error
	// ReadDir returns the sorted names of a folder's entries.
	ReadDir(dir string) ([]string, error)
	// Stat returns the size of a file in bytes (undefined for a folder).
	Stat(name string) (sizeBytes int64, err error)
	// Identify returns a file's identity, which changes if the file is
	// replaced. Errors are the same as for Stat.
	Identify(name string) (Identity, error)
	// SyncDir makes the creations, renames and removals in a folder durable.
	SyncDir(dir string) error
	// Lock acquires the exclusive lock of the named file and creates the file
	// if needed. It does not wait: if another process or caller holds the lock,
	// the error wraps base.ErrLocked. Close or the end of the process releases
	// it. The holder may remove the file; the next caller then creates another.
	Lock(name string) (io.Closer, error)
}

// Identity distinguishes a file from its replacement of the same name. The zero
// Identity is unknown and equals no file's.
type Identity struct {
	Device, Number uint64 // in the file system; 0 if not available
	SizeBytes      int64
	Modified       int64 // nanoseconds since 1970, in the file system's precision
}

// Settled reports whether the file is old enough that a later write must have
// another time. A replacement of a newer file may have the same Identity: file
// systems store times in milliseconds, FAT in two seconds.
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

// Mapping is a file's content in read-only memory; a write to it ends the
// process. If another program truncates the file, reading causes a fault: see
// RecoverFault.
type Mapping struct {
	data    []byte
	release func([]byte) error
}

// NewMapping returns a Mapping of data. release, if not nil, frees the memory.
func NewMapping(data []byte, release func([]byte) error) *Mapping {
	return &Mapping{data: data, release: release}
}

// Bytes returns the content, valid until Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close releases the memory. Later calls do nothing.
func (m *Mapping) Close() error {
	data, release := m.data, m.release
	m.data, m.release = nil, nil
	if release == nil {
		return nil
	}
	return release(data)
}

// WriteFile creates or replaces a file and syncs its content. After an error a
// partial file may exist. SyncDir makes the name durable.
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
