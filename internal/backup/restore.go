package backup

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Restore copies a snapshot into the empty folder dir, verifies it, and makes it an index; the
// manifest is written last. After an error, dir has files but no index.
//
// The error wraps base.ErrNotFound if there is no such snapshot, base.ErrExists if dir is not
// empty, and base.ErrCorrupt if a copy is damaged.
func (s *Store) Restore(ctx context.Context, name, dir string, progress func(done, total int64)) (_ Snapshot, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := CheckName(name); err != nil {
		return Snapshot{}, err
	}
	d, err := s.load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, fmt.Errorf("no snapshot %q in %s: %w", name, s.dir, base.ErrBadInput)
	}
	if err != nil {
		return Snapshot{}, err
	}
	if err := s.fs.MkdirAll(dir); err != nil {
		return Snapshot{}, err
	}
	if names, err := s.fs.ReadDir(dir); err != nil || len(names) > 0 {
		return Snapshot{}, errors.Join(err, fmt.Errorf("%s is not empty: %w", dir, base.ErrExists))
	}
	if err := s.restore(ctx, d, dir, progress); err != nil {
		return Snapshot{}, err
	}
	return d.Snapshot, nil
}

func (s *Store) restore(ctx context.Context, d *description, dir string, progress func(done, total int64)) error {
	done, total := int64(0), int64(0)
	for _, f := range d.Files {
		total += f.SizeBytes
	}
	advance := func(n int64) {
		if done += n; progress != nil {
			progress(done, total)
		}
	}
	folders := map[string]bool{}
	for _, f := range d.Files {
		to := filepath.Join(dir, local(f.Path))
		if folder := filepath.Dir(to); folder != filepath.Clean(dir) && !folders[folder] {
			folders[folder] = true
			if err := s.fs.MkdirAll(folder); err != nil {
				return err
			}
		}
		if err := s.restoreFile(ctx, f, to, advance); err != nil {
			return err
		}
	}
	for folder := range folders {
		if err := s.fs.SyncDir(folder); err != nil {
			return err
		}
	}
	temp := filepath.Join(dir, base.ManifestName+".new")
	if err := vfs.WriteFile(s.fs, temp, []byte(d.Manifest)); err != nil {
		return vfs.PathError("write", temp, err)
	}
	if err := s.fs.Rename(temp, filepath.Join(dir, base.ManifestName)); err != nil {
		return err
	}
	if err := s.fs.SyncDir(dir); err != nil {
		return err
	}
	return s.check(d, dir)
}

func (s *Store) restoreFile(ctx context.Context, f fileCopy, to string, progress func(int64)) (err error) {
	name := s.path(local(f.Copy))
	from, err := s.fs.Open(name)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("%w: %w", err, base.ErrCorrupt)
		}
		return err
	}
	defer func() { err = errors.Join(err, from.Close()) }()
	n, err := copyFile(ctx, s.fs, from, to, progress)
	if err != nil {
		return err
	}
	if n != f.SizeBytes {
		return fmt.Errorf("%s: %d bytes, expected %d: %w", name, n, f.SizeBytes, base.ErrCorrupt)
	}
	_, err = verifySealed(ctx, s.fs, to)
	return err
}

// check opens the index, which compares the parts with the manifest. If they contradict, it takes the
// manifest away.
func (s *Store) check(d *description, dir string) error {
	ix, err := index.Open(s.fs, dir)
	if err == nil {
		snapshot, snapshotErr := ix.Snapshot()
		if err = snapshotErr; err == nil {
			if int64(snapshot.NumLive) != d.NumDocs || snapshot.IndexID() != d.IndexID {
				err = fmt.Errorf("%s: not the index that snapshot %q describes: %w", dir, d.Name, base.ErrCorrupt)
			}
			snapshot.Release()
		}
		err = errors.Join(err, ix.Close())
	}
	if err != nil {
		err = errors.Join(err, s.fs.Remove(filepath.Join(dir, base.ManifestName)))
	}
	return err
}
