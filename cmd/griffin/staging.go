package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// staging is a folder beside the place of an index, in which a new one is
// built. It is locked while it is in use, so that what an earlier process left
// behind when it was killed can be told apart and removed.
type staging struct {
	dir  string
	lock *os.File
}

const stagingInfix = ".building-"

// newStaging makes the folder for an index that shall be at out.
func newStaging(out string) (*staging, error) {
	parent, base := filepath.Split(filepath.Clean(out))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	prefix := "." + base + stagingInfix
	removeAbandoned(parent, prefix)
	dir, err := os.MkdirTemp(parent, prefix)
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	lock, err := lockFolder(dir)
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &staging{dir: dir, lock: lock}, nil
}

// removeAbandoned removes staging folders whose process is gone.
func removeAbandoned(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // making the new folder will tell
	}
	for _, e := range entries {
		if !e.IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		dir := filepath.Join(parent, e.Name())
		if lock, err := lockFolder(dir); err == nil {
			os.RemoveAll(dir)
			lock.Close()
		}
	}
}

// lockFolder locks a folder until the returned file is closed or the process ends.
func lockFolder(dir string) (*os.File, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock %s: %w", dir, err)
	}
	return f, nil
}

// moveTo puts the finished index at out. What is there is exchanged in one
// step, so that at no moment there is none, and then removed.
func (s *staging) moveTo(out string) error {
	if err := os.Remove(out); err == nil || os.IsNotExist(err) {
		// There was nothing, or an empty folder.
		return os.Rename(s.dir, out)
	}
	return exchangeFolders(s.dir, out)
}

// remove deletes the staging folder, or what moveTo exchanged for it.
func (s *staging) remove() error {
	defer s.lock.Close()
	return os.RemoveAll(s.dir)
}
