package index

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// sessionTemps guards the folder of temporary files.
type sessionTemps struct {
	mu    sync.Mutex
	inUse bool
}

// session holds the write lock from begin to end, for one goroutine at a time.
type session struct {
	ix   *Index
	lock io.Closer
	// identity of the lock file.
	identity vfs.Identity
	// made are a new index's folders, the deepest first; after a retry some repeatedly.
	made  []string
	temps sessionTemps
	// unsynced is set if a visible commit's folder could not be synced.
	unsynced bool
	// adopts keeps the files of a checkpoint at the beginning.
	adopts     bool
	checkpoint *manifest // nil: there is none to adopt
}

// Lock takes the write lock until the Closer is closed, even if the folder is moved meanwhile.
// The error wraps base.ErrLocked if there is a writer.
func (ix *Index) Lock() (io.Closer, error) {
	lock, err := ix.fs.Lock(ix.path(lockName))
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.dir, err)
	}
	return lock, nil
}

// begin takes the lock, loads the last commit, and removes crashed or failed writers'
// leftovers. The error wraps base.ErrLocked if there is another writer.
func (ix *Index) begin() (*session, error) { return (&session{ix: ix}).begin() }

func (s *session) begin() (*session, error) {
	ix := s.ix
	if err := s.takeLock(); err != nil {
		s.removeMade()
		return nil, fmt.Errorf("index %s: %w", ix.dir, err)
	}
	if err := s.start(); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return s, nil
}

func (s *session) takeLock() (err error) {
	created := s.ix.currentManifest().Generation == 0
	const attempts = 100
	for range attempts {
		if created {
			if err := s.makeFolder(); err != nil {
				return err
			}
		}
		if !created { // the lock would be the only file of an empty folder
			if _, err := s.ix.fs.Stat(s.ix.path(manifestName)); errors.Is(err, fs.ErrNotExist) {
				return base.ErrRemoved
			} else if err != nil {
				return err
			}
		}
		s.lock, err = s.ix.fs.Lock(s.ix.path(lockName))
		switch {
		case err == nil && created:
			return s.nameLock()
		case !errors.Is(err, fs.ErrNotExist):
			return err
		case !created:
			return base.ErrRemoved
		}
		// Another writer gave up and removed the folder.
	}
	return err
}

// nameLock makes the name of the lock durable: after a loss of power, other names without it would be a folder of other files.
func (s *session) nameLock() error {
	err := s.ix.fs.SyncDir(s.ix.dir)
	if err == nil {
		return nil
	}
	if names, readErr := s.ix.fs.ReadDir(s.ix.dir); readErr == nil && len(names) == 1 { // else another handle has committed
		err = errors.Join(err, ignoreMissing(s.ix.fs.Remove(s.ix.path(lockName))))
	}
	return errors.Join(err, s.lock.Close())
}

// checkFolder returns an error that wraps base.ErrRemoved if the folder of the index is not at its path any more, or another
// is: it has another lock file. Files that were made there would be an index without its segments.
func (s *session) checkFolder() error {
	now, err := s.ix.fs.Identify(s.ix.path(lockName))
	if errors.Is(err, fs.ErrNotExist) || err == nil && !now.SameFile(s.identity) {
		err = base.ErrRemoved
	}
	if err != nil {
		return fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	return nil
}

// explainMissing adds base.ErrRemoved to an error of a missing file if the folder of the index is gone: it can disappear after
// checkFolder.
func explainMissing(s *session, err error) error {
	if errors.Is(err, fs.ErrNotExist) && !errors.Is(err, base.ErrRemoved) {
		if removed := s.checkFolder(); errors.Is(removed, base.ErrRemoved) {
			return fmt.Errorf("%w: %w", removed, err)
		}
	}
	return err
}

func (s *session) makeFolder() error {
	for dir := filepath.Clean(s.ix.dir); ; dir = filepath.Dir(dir) {
		_, err := s.ix.fs.Stat(dir)
		if !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir) {
			break
		}
		s.made = append(s.made, dir)
	}
	err := s.ix.fs.MkdirAll(s.ix.dir)
	if err != nil {
		s.made = nil // some of them were not made
	}
	return err
}

// removeMade removes the folders that were made, except those that are not empty any more.
func (s *session) removeMade() {
	for _, dir := range s.made {
		_ = s.ix.fs.Remove(dir)
	}
}

// syncParents makes a new index's folder, and the parents that were made for it,
// durable.
func (s *session) syncParents() error {
	for _, dir := range append([]string{filepath.Clean(s.ix.dir)}, s.made...) {
		err := s.ix.fs.SyncDir(filepath.Dir(dir))
		if err != nil && !errors.Is(err, fs.ErrPermission) { // a folder without read permission cannot be synced
			return err
		}
	}
	return nil
}

func (s *session) start() (err error) {
	if s.identity, err = s.ix.fs.Identify(s.ix.path(lockName)); err != nil {
		return fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	now := s.ix.currentManifest()
	// Searches follow another index only after Refresh, so it is not shown here.
	if err := s.checkSame(now); err != nil {
		return err
	}
	if _, err := s.ix.reload(); err != nil {
		return err
	}
	if s.ix.currentManifest().ID != now.ID {
		return s.replaced()
	}
	if s.adopts {
		if err := s.keepCheckpoint(); err != nil {
			return err
		}
	}
	// The commit that does not name them must be durable first.
	if left, err := s.leftovers(); err != nil || len(left) == 0 {
		return err
	}
	return s.settle()
}

// checkSame returns an error if the folder now holds another index than the manifest m.
func (s *session) checkSame(m *manifest) error {
	now, err := loadManifest(s.ix.fs, s.ix.dir)
	switch {
	case m.Generation == 0 && errors.Is(err, base.ErrNotIndex):
		return nil // created, and not committed by anyone yet
	case err != nil:
		return err
	case now.ID == m.ID:
		return nil
	case m.Generation == 0:
		return fmt.Errorf("%s: another process created an index in the meantime: %w", s.ix.dir, base.ErrExists)
	}
	return s.replaced()
}

func (s *session) replaced() error {
	return fmt.Errorf("%s: another index has replaced this one; call Refresh, then write to the new one: %w", s.ix.dir, base.ErrExists)
}

// settle makes the last commit durable and removes its leftovers.
func (s *session) settle() error {
	if err := s.ix.fs.SyncDir(s.ix.dir); err != nil {
		return fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	s.unsynced = false
	return s.removeLeftovers()
}

func (s *session) temp() (string, error) {
	s.temps.mu.Lock()
	defer s.temps.mu.Unlock()
	if err := s.checkFolder(); err != nil {
		return "", err
	}
	dir := s.ix.path(tempName)
	if err := s.ix.fs.Mkdir(dir); err != nil {
		return "", explainMissing(s, fmt.Errorf("index %s: %w", s.ix.dir, err))
	}
	s.temps.inUse = true
	return dir, nil
}

func (s *session) removeTemp() error {
	s.temps.mu.Lock()
	defer s.temps.mu.Unlock()
	s.temps.inUse = false
	return s.ix.fs.RemoveAll(s.ix.path(tempName))
}

// removeLeftover removes a file or folder that nobody needs, unless it is the one of temporary files and in use
// by now.
func (s *session) removeLeftover(name string) error {
	if name == tempName {
		s.temps.mu.Lock()
		defer s.temps.mu.Unlock()
		if s.temps.inUse {
			return nil
		}
	}
	return s.ix.fs.RemoveAll(s.ix.path(name))
}

// leftovers returns writers' files that the current manifest does not name.
func (s *session) leftovers() ([]string, error) {
	names, err := s.ix.fs.ReadDir(s.ix.dir)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", s.ix.dir, err)
	}
	keep := s.ix.currentManifest().names()
	if s.checkpoint != nil {
		keep[CheckpointName] = true
		maps.Copy(keep, s.checkpoint.names())
	}
	s.temps.mu.Lock()
	inTemp := s.temps.inUse
	s.temps.mu.Unlock()
	return slices.DeleteFunc(names, func(name string) bool {
		return !ours(name) || keep[name] || name == tempName && inTemp
	}), nil
}

// removeLeftovers requires a durable current manifest.
func (s *session) removeLeftovers() error {
	names, err := s.leftovers()
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := s.removeLeftover(name); err != nil {
			return fmt.Errorf("index %s: remove leftovers of an earlier writer: %w", s.ix.dir, err)
		}
	}
	return nil
}

// end removes the temporary files and releases the lock. A new index without a commit loses the
// lock's file and the made folders, unless these have other content. (vfs.FS.Lock lets only the
// holder remove that file.)
func (s *session) end() error {
	err := s.removeTemp()
	if s.ix.currentManifest().Generation == 0 {
		names, readErr := s.ix.fs.ReadDir(s.ix.dir)
		if readErr == nil && len(names) == 1 && names[0] == lockName {
			// A loss of power may undo removals of other names; the lock must be beside them then.
			removeErr := s.ix.fs.SyncDir(s.ix.dir)
			if removeErr == nil {
				removeErr = ignoreMissing(s.ix.fs.Remove(s.ix.path(lockName)))
			}
			err = errors.Join(err, removeErr)
			s.removeMade()
		}
	}
	return errors.Join(err, s.lock.Close())
}
