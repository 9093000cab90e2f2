package vfs

import (
	"errors"
	"io"
)

// FS is a file system. Names are paths in the form of package filepath.
// Errors wrap those of package io/fs (fs.ErrNotExist, fs.ErrPermission) and
// name the path. An FS is safe for concurrent use.
type FS interface {
	// Create makes an empty file for writing, over any that has the name.
	Create(name string) (File, error)
	// Open opens a file for reading.
	Open(name string) (File, error)
	// Map maps a whole file for reading.
	Map(name string) (*Mapping, error)
	// Rename gives a file or folder a new name, atomically, over any file that has it.
	Rename(oldName, newName string) error
	// Remove deletes a file or an empty folder.
	Remove(name string) error
	// RemoveAll deletes a file or a folder with all that it holds; no error if there is none.
	RemoveAll(name string) error
	// MkdirAll makes a folder and those above it that are missing.
	MkdirAll(dir string) error
	// ReadDir returns the sorted names of what a folder holds.
	ReadDir(dir string) ([]string, error)
	// Stat returns the size of a file in bytes (undefined for a folder).
	Stat(name string) (sizeBytes int64, err error)
	// SyncDir makes the creations, renames and removals in a folder durable.
	SyncDir(dir string) error
	// Lock takes the exclusive lock that the file name stands for, creating the
	// file if there is none. It does not wait: the error wraps base.ErrLocked if
	// another process or another caller in this one holds it. Close gives it
	// back; the end of the process does too. Its holder may remove the file:
	// then the next to come makes another one.
	Lock(name string) (io.Closer, error)
}

// File is an open file.
type File interface {
	io.Reader
	io.ReaderAt
	io.Writer
	io.Closer
	// Sync makes what was written durable.
	Sync() error
}

// Mapping is a file's content in memory, read only: writing to it ends the
// process. The file must not shrink while it is mapped (Griffin's files are
// written once).
type Mapping struct {
	data    []byte
	release func([]byte) error
}

// NewMapping returns a Mapping of data. release gives the memory back; nil if
// there is nothing to do.
func NewMapping(data []byte, release func([]byte) error) *Mapping {
	return &Mapping{data: data, release: release}
}

// Bytes returns the content, valid until Close.
func (m *Mapping) Bytes() []byte { return m.data }

// Close releases the memory. Calls after the first do nothing.
func (m *Mapping) Close() error {
	data, release := m.data, m.release
	m.data, m.release = nil, nil
	if release == nil {
		return nil
	}
	return release(data)
}

// WriteFile makes a file of data, over any that has the name, and syncs it. After an error
// there may be a part of it. That the file has the name is durable after SyncDir.
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
