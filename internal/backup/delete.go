package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/griffin-search/griffin/internal/base"
)

// Delete removes a snapshot, and the copies that no other has, and returns their bytes. The error wraps
// base.ErrBadInput if there is no such snapshot, and base.ErrLocked while a Create runs. If it ends early,
// copies may be left that a Create or a Delete of the same index uses or removes.
func (s *Store) Delete(ctx context.Context, name string) (freed int64, err error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	d, err := s.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("no snapshot %q in %s: %w", name, s.dir, base.ErrBadInput)
	}
	if err != nil {
		return 0, err
	}
	lock, err := s.fs.Lock(s.path(lockName))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if err := errors.Join(s.fs.Remove(s.path(name+suffix)), s.fs.SyncDir(s.dir)); err != nil {
		return 0, err
	}
	others, err := s.descriptions(ctx)
	if err != nil {
		return 0, err
	}
	needed := map[string]bool{}
	for file := range usedBy(others) {
		needed[partOf(file)] = true
	}
	parts, err := s.fs.ReadDir(s.path(d.IndexID))
	if err != nil {
		return 0, err
	}
	sizes := map[string]int64{}
	for _, f := range d.Files {
		sizes[partOf(f.Copy)] += f.SizeBytes
	}
	for _, part := range parts {
		full := path.Join(d.IndexID, part)
		if needed[full] {
			continue
		}
		if err := s.fs.RemoveAll(s.path(d.IndexID, part)); err != nil {
			return freed, err
		}
		freed += sizes[full]
	}
	return freed, s.fs.SyncDir(s.path(d.IndexID))
}

// partOf is the copy of a segment, or of a file beside the segments, that has a file.
func partOf(file string) string {
	for dir := path.Dir(file); path.Dir(dir) != "."; dir = path.Dir(dir) {
		file = dir
	}
	return file
}
