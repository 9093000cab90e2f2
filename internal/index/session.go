package index

import (
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/internal/base"
)

// session is the exclusive right to write to an index, from taking its lock to
// giving it back. It is for one goroutine at a time.
type session struct {
	ix   *Index
	lock io.Closer
	// inTemp says that the folder of temporary files was made.
	inTemp bool
}

// begin takes the index's lock, brings the index up to its last commit, and
// removes what writers that crashed or failed left behind. The error wraps
// base.ErrLocked if another process, or a Writer or Build of this one, writes.
func (ix *Index) begin() (*session, error) {
	if err := ix.fs.MkdirAll(ix.dir); err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.dir, err)
	}
	lock, err := ix.fs.Lock(ix.path(lockName))
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.dir, err)
	}
	s := &session{ix: ix, lock: lock}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return s, nil
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
	if _, err := s.ix.Refresh(); err != nil {
		return err
	}
	if got := s.ix.currentManifest().ID; got != id {
		return fmt.Errorf("%s: another index has taken the folder: %w", s.ix.dir, base.ErrExists)
	}
	return s.removeLeftovers()
}

// currentManifest returns the manifest of the current commit, not to be changed.
func (ix *Index) currentManifest() *manifest {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.manifest
}

// temp makes the folder of temporary files, if it is not there, and returns it.
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

// removeTemp removes the temporary files.
func (s *session) removeTemp() error {
	if !s.inTemp {
		return nil
	}
	s.inTemp = false
	return s.ix.fs.RemoveAll(s.ix.path(tempName))
}

// removeLeftovers removes what writers make and the current manifest does not name.
func (s *session) removeLeftovers() error {
	names, err := s.ix.fs.ReadDir(s.ix.dir)
	if err != nil {
		return fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	keep := s.ix.currentManifest().names()
	for _, name := range names {
		if ours(name) && !keep[name] && (name != tempName || !s.inTemp) {
			if err := s.ix.fs.RemoveAll(s.ix.path(name)); err != nil {
				return fmt.Errorf("index %s: remove what an earlier writer left: %w", s.ix.dir, err)
			}
		}
	}
	return nil
}

// end removes the temporary files and gives the lock back. Of a new index that
// was not committed nothing stays: neither the lock's file nor, if nothing else
// is in it, the folder. (A lock on a removed file is not given: vfs.FS.Lock.)
func (s *session) end() error {
	err := s.removeTemp()
	if m := s.ix.currentManifest(); m != nil && m.Generation == 0 {
		err = errors.Join(err, ignoreMissing(s.ix.fs.Remove(s.ix.path(lockName))))
		_ = s.ix.fs.Remove(s.ix.dir) // it may hold other files
	}
	return errors.Join(err, s.lock.Close())
}
