package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

// session holds the write lock of an index from begin to end. One goroutine at a time may use it.
type session struct {
	ix   *Index
	lock io.Closer
	// made are the folders that were made for a new index, the deepest first.
	made []string
	// inTemp is set if the folder of temporary files was made.
	inTemp bool
	// unsynced is set if a commit is visible whose folder could not be synced.
	unsynced bool
}

// begin takes the lock, loads the last commit, and removes the leftovers of writers that
// crashed or failed. The error wraps base.ErrLocked if another process, or a Writer or
// Build of this one, writes.
func (ix *Index) begin() (*session, error) {
	s := &session{ix: ix}
	if err := s.takeLock(); err != nil {
		s.removeMade()
		return nil, fmt.Errorf("index %s: %w", ix.dir, err)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.lock.Close())
	}
	return s, nil
}

// takeLock takes the lock. The folder of a new index is made for it.
func (s *session) takeLock() (err error) {
	created := s.ix.currentManifest().Generation == 0
	const attempts = 100
	for range attempts {
		if created {
			if err := s.makeFolder(); err != nil {
				return err
			}
		}
		s.lock, err = s.ix.fs.Lock(s.ix.path(lockName))
		switch {
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case !created:
			return fmt.Errorf("the folder is gone: %w", base.ErrNotIndex)
		}
		// Another writer gave up and removed the folder in between.
	}
	return err
}

// makeFolder makes the folder of the index and those above it, if they are missing.
func (s *session) makeFolder() error {
	for dir := filepath.Clean(s.ix.dir); ; dir = filepath.Dir(dir) {
		_, err := s.ix.fs.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		if !slices.Contains(s.made, dir) {
			s.made = append(s.made, dir)
		}
	}
	err := s.ix.fs.MkdirAll(s.ix.dir)
	if err != nil {
		s.made = nil // some of them were not made
	}
	return err
}

// removeMade removes the folders that were made, if they are empty.
func (s *session) removeMade() {
	for _, dir := range s.made {
		if s.ix.fs.Remove(dir) != nil {
			return // not empty any more
		}
	}
}

// syncParents makes the folder of a new index and its new parents durable.
func (s *session) syncParents() error {
	for _, dir := range append([]string{filepath.Clean(s.ix.dir)}, s.made...) {
		err := s.ix.fs.SyncDir(filepath.Dir(dir))
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a folder without read permission cannot be synced
			return err
		}
	}
	return nil
}

func (s *session) start() error {
	s.ix.mu.Lock()
	created := s.ix.manifest != nil && s.ix.manifest.Generation == 0
	id := ""
	if s.ix.manifest != nil {
		id = s.ix.manifest.ID
	}
	s.ix.mu.Unlock()
	if created {
		m, err := loadManifest(s.ix.fs, s.ix.dir)
		if err == nil && m.ID != id {
			return fmt.Errorf("%s: made by another process in the meantime: %w", s.ix.dir, base.ErrExists)
		}
		if err != nil && !errors.Is(err, base.ErrNotIndex) {
			return err
		}
	}
	if _, err := s.ix.reload(); err != nil {
		return err
	}
	if got := s.ix.currentManifest().ID; got != id {
		return fmt.Errorf("%s: another index has taken the folder: %w", s.ix.dir, base.ErrExists)
	}
	// The commit that does not name them must be durable before leftovers are removed.
	if left, err := s.leftovers(); err != nil || len(left) == 0 {
		return err
	}
	return s.settle()
}

// settle makes the last commit durable and removes leftovers.
func (s *session) settle() error {
	if err := s.ix.fs.SyncDir(s.ix.dir); err != nil {
		return fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	s.unsynced = false
	return s.removeLeftovers()
}

// temp returns the folder of temporary files and makes it if it is missing.
func (s *session) temp() (string, error) {
	dir := s.ix.path(tempName)
	if !s.inTemp {
		if err := s.ix.fs.MkdirAll(dir); err != nil {
			return "", fmt.Errorf("index %s: %w", s.ix.dir, err)
		}
		s.inTemp = true
	}
	return dir, nil
}

func (s *session) removeTemp() error {
	if !s.inTemp {
		return nil
	}
	s.inTemp = false
	return s.ix.fs.RemoveAll(s.ix.path(tempName))
}

// leftovers returns the files of writers that the current manifest does not name.
func (s *session) leftovers() ([]string, error) {
	names, err := s.ix.fs.ReadDir(s.ix.dir)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	keep := s.ix.currentManifest().names()
	return slices.DeleteFunc(names, func(name string) bool {
		return !ours(name) || keep[name] || name == tempName && s.inTemp
	}), nil
}

// removeLeftovers requires a durable current manifest.
func (s *session) removeLeftovers() error {
	names, err := s.leftovers()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.ix.fs.RemoveAll(s.ix.path(name)); err != nil {
			return fmt.Errorf("index %s: remove what an earlier writer left: %w", s.ix.dir, err)
		}
	}
	return nil
}

// end removes the temporary files and releases the lock. If the index is new and has no
// commit, it removes the lock's file and the folders that were made, unless they have
// other content. (Only the holder removes the lock's file; vfs.FS.Lock handles that.)
func (s *session) end() error {
	err := s.removeTemp()
	if s.ix.currentManifest().Generation == 0 {
		names, readErr := s.ix.fs.ReadDir(s.ix.dir)
		if readErr == nil && len(names) == 1 && names[0] == lockName {
			err = errors.Join(err, ignoreMissing(s.ix.fs.Remove(s.ix.path(lockName))))
			s.removeMade()
		}
	}
	return errors.Join(err, s.lock.Close())
}
