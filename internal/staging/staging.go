package staging

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// Folder is a folder beside its final place, locked while in use, so that folders of ended
// processes can be found and removed.
type Folder struct {
	Dir  string
	lock *os.File
}

// Infix is the part of the name of a Folder between the final name and a number.
const Infix = ".building-"

// New makes a Folder for the final place out.
func New(out string) (*Folder, error) {
	parent, base := filepath.Split(filepath.Clean(out))
	if parent == "" {
		parent = "."
	}
	if err := os.MkdirAll(parent, 0o755); err != nil {
		return nil, err
	}
	prefix := "." + base + Infix
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
	return &Folder{Dir: dir, lock: lock}, nil
}

func removeAbandoned(parent, prefix string) {
	entries, err := os.ReadDir(parent)
	if err != nil {
		return // making the new folder reports the error
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

// The lock ends when the file is closed or the process ends.
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

// MoveTo puts the folder at out, in one step, so that there is always one at out.
func (s *Folder) MoveTo(out string) error {
	if err := os.Remove(out); err == nil || os.IsNotExist(err) {
		// There was nothing, or an empty folder.
		return os.Rename(s.Dir, out)
	}
	return exchangeFolders(s.Dir, out)
}

// Remove deletes the folder, or the one that MoveTo exchanged for it.
func (s *Folder) Remove() error {
	defer s.lock.Close()
	return os.RemoveAll(s.Dir)
}
