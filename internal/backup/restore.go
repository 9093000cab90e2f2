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
	r := restoring{ctx: ctx, fs: s.fs, dir: dir, progress: progress, file: s.restoreFile}
	return d.Snapshot, r.run(d)
}

// restoring is a Restore.
type restoring struct {
	ctx         context.Context // of Restore
	fs          vfs.FS
	dir         string
	progress    func(done, total int64)
	done, total int64
	// file copies a file and verifies it.
	file func(ctx context.Context, f fileCopy, to string, progress func(int64)) error
}

func (r *restoring) run(d *description) error {
	if err := r.fs.MkdirAll(r.dir); err != nil {
		return err
	}
	if names, err := r.fs.ReadDir(r.dir); err != nil || len(names) > 0 {
		return errors.Join(err, fmt.Errorf("%s is not empty: %w", r.dir, base.ErrExists))
	}
	for _, f := range d.Files {
		r.total += f.SizeBytes
	}
	folders := map[string]bool{}
	for _, f := range d.Files {
		to := filepath.Join(r.dir, local(f.Path))
		if folder := filepath.Dir(to); folder != filepath.Clean(r.dir) && !folders[folder] {
			folders[folder] = true
			if err := r.fs.MkdirAll(folder); err != nil {
				return err
			}
		}
		if err := r.file(r.ctx, f, to, r.advance); err != nil {
			return err
		}
	}
	for folder := range folders {
		if err := r.fs.SyncDir(folder); err != nil {
			return err
		}
	}
	temp := filepath.Join(r.dir, base.ManifestName+".new")
	if err := vfs.WriteFile(r.fs, temp, []byte(d.Manifest)); err != nil {
		return vfs.PathError("write", temp, err)
	}
	if err := r.fs.Rename(temp, filepath.Join(r.dir, base.ManifestName)); err != nil {
		return err
	}
	if err := r.fs.SyncDir(r.dir); err != nil {
		return err
	}
	return r.check(d)
}

func (r *restoring) advance(n int64) {
	if r.done += n; r.progress != nil {
		r.progress(r.done, r.total)
	}
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
func (r *restoring) check(d *description) error {
	ix, err := index.Open(r.fs, r.dir)
	if err == nil {
		snapshot, snapshotErr := ix.Snapshot()
		if err = snapshotErr; err == nil {
			if int64(snapshot.NumLive) != d.NumDocs || snapshot.IndexID() != d.IndexID {
				err = fmt.Errorf("%s: not the index that snapshot %q describes: %w", r.dir, d.Name, base.ErrCorrupt)
			}
			snapshot.Release()
		}
		err = errors.Join(err, ix.Close())
	}
	if err != nil {
		err = errors.Join(err, r.fs.Remove(filepath.Join(r.dir, base.ManifestName)))
	}
	return err
}
