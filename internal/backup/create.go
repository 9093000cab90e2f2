package backup

import (
	"context"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Report is the result of Create.
type Report struct {
	Snapshot
	CopiedBytes    int64         `json:"copied_bytes"`
	CopiedSegments int           `json:"copied_segments"`
	SharedSegments int           `json:"shared_segments"` // that the Store had
	Took           time.Duration `json:"took_ns"`
}

// Create copies the last commit of the index in the folder dir. An empty name stands for the time.
// progress, if not nil, receives bytes. The snapshot appears at the end; after an error, the parts
// whose copies are complete are used by the next one.
//
// The error wraps base.ErrExists if there is a snapshot of the name, base.ErrLocked while another
// Create runs in the store, base.ErrCorrupt if the index is damaged, and ErrNotStore if the folder of the store holds other
// files.
func (s *Store) Create(ctx context.Context, from Source, name string, progress func(done, total int64)) (_ Report, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began := s.now()
	if name == "" {
		name = NameAt(began)
	}
	if err := CheckName(name); err != nil {
		return Report{}, err
	}
	c, err := openCommit(s.fs, from.Dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	if _, err := s.names(); err != nil {
		return Report{}, err
	}
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return Report{}, err
	}
	lock, err := s.fs.Lock(s.path(lockName))
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, lock.Close()) }()
	if taken, err := exists(s.fs, s.path(name+suffix)); err != nil || taken {
		return Report{}, errors.Join(err, &takenError{name, s.dir})
	}
	if err := errors.Join(s.fs.RemoveAll(s.path(tempName)), s.fs.MkdirAll(s.path(tempName)), s.fs.MkdirAll(s.path(c.ID))); err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, s.fs.RemoveAll(s.path(tempName))) }()
	w := &copyRun{store: s, ctx: ctx, progress: progress}
	w.report.Snapshot = Snapshot{Name: name, Created: began.UTC().Truncate(time.Millisecond), Index: nameOf(from.Dir), IndexID: c.ID, Generation: c.Generation, Segments: len(c.Segments), Settings: from.Settings}
	for _, segment := range c.Segments {
		w.report.NumDocs += segment.NumLive
	}
	err = w.run(c)
	w.report.Took = s.now().Sub(began)
	return w.report, err
}

type copyRun struct {
	store       *Store
	ctx         context.Context // of Create
	progress    func(done, total int64)
	done, total int64
	report      Report
	files       []fileCopy
}

func (w *copyRun) run(c *commit) error {
	for _, p := range c.parts {
		for _, f := range p.files {
			w.total += f.sizeBytes
		}
	}
	w.report.SizeBytes = w.total + int64(len(c.text))
	for i := range c.parts {
		if err := w.part(&c.parts[i]); err != nil {
			return err
		}
	}
	// The names of the copies last before the description does.
	if err := errors.Join(w.store.fs.SyncDir(w.store.path(c.ID)), w.store.fs.SyncDir(w.store.dir)); err != nil {
		return err
	}
	return w.store.save(&description{Snapshot: w.report.Snapshot, Manifest: string(c.text), Files: w.files})
}

func (w *copyRun) part(p *part) error {
	fsys := w.store.fs
	if !p.known {
		// The file has its checksum inside: copy it to read it.
		temp := w.store.path(tempName, p.name)
		if err := w.copy(&p.files[0], temp); err != nil {
			return err
		}
		sum, err := verifySealed(w.ctx, fsys, temp)
		if err != nil {
			return err
		}
		p.sum = sum
		return w.place(p, temp)
	}
	if had, err := w.has(p); err != nil || had {
		if p.dir && had {
			w.report.SharedSegments++
		}
		return err
	}
	temp := w.store.path(tempName, p.name)
	if p.dir {
		if err := fsys.MkdirAll(temp); err != nil {
			return err
		}
	}
	for i := range p.files {
		if err := w.copy(&p.files[i], w.store.path(tempName, local(p.files[i].name))); err != nil {
			return err
		}
	}
	if err := w.verify(p, temp); err != nil {
		return err
	}
	if p.dir {
		w.report.CopiedSegments++
	}
	return w.place(p, temp)
}

// place moves a complete copy to its name. A file replaces the same one.
func (w *copyRun) place(p *part, temp string) error {
	fsys, to := w.store.fs, w.store.path(local(p.target()))
	if p.dir {
		if err := errors.Join(fsys.SyncDir(temp), fsys.RemoveAll(to)); err != nil { // to is damaged, if it exists
			return err
		}
	}
	if err := fsys.Rename(temp, to); err != nil {
		return err
	}
	w.record(p)
	return nil
}

// target is the place of the copy in the Store.
func (p *part) target() string { return fmt.Sprintf("%s-%08x", p.copy, p.sum) }

// has reports whether the Store has a complete copy, by the sizes of its files.
func (w *copyRun) has(p *part) (bool, error) {
	for i := range p.files {
		name := w.store.path(local(p.fileTarget(&p.files[i])))
		if had, err := exists(w.store.fs, name); err != nil || !had {
			return false, err
		}
		if size, err := w.store.fs.Stat(name); err != nil || size != p.files[i].sizeBytes {
			return false, err
		}
	}
	for i := range p.files {
		w.advance(p.files[i].sizeBytes)
	}
	w.record(p)
	return true, nil
}

func (p *part) fileTarget(f *openFile) string {
	return path.Join(p.target(), strings.TrimPrefix(strings.TrimPrefix(f.name, p.name), "/"))
}

func (w *copyRun) record(p *part) {
	for i := range p.files {
		f := &p.files[i]
		w.files = append(w.files, fileCopy{Path: f.name, Copy: p.fileTarget(f), SizeBytes: f.sizeBytes})
	}
}

func (w *copyRun) advance(n int64) {
	if w.done += n; w.progress != nil {
		w.progress(w.done, w.total)
	}
}

func (w *copyRun) copy(f *openFile, to string) error {
	n, err := copyFile(w.ctx, w.store.fs, f, to, w.advance)
	w.report.CopiedBytes += n
	if err == nil && n != f.sizeBytes {
		err = fmt.Errorf("%s: %d bytes, expected %d: %w", f.name, n, f.sizeBytes, base.ErrCorrupt)
	}
	return err
}

// verify reads the copy, so that a snapshot is never of a damaged index.
func (w *copyRun) verify(p *part, temp string) error {
	fsys := w.store.fs
	if !p.dir {
		_, err := verifySealed(w.ctx, fsys, temp)
		return err
	}
	for i := range p.files {
		if _, err := verifySealed(w.ctx, fsys, filepath.Join(temp, path.Base(p.files[i].name))); err != nil {
			return err
		}
	}
	seg, err := segment.Open(fsys, temp)
	if err != nil {
		return err
	}
	if seg.Meta().Sum() != p.sum {
		err = fmt.Errorf("%s: its checksum is not the one of the manifest: %w", p.name, base.ErrCorrupt)
	}
	return errors.Join(err, seg.Close())
}
