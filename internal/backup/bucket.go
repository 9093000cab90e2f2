package backup

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Objects is a bucket of an object store. An interface keeps the modules of providers, several
// megabytes each, out of programs that have no buckets. Methods are safe for concurrent use.
type Objects interface {
	// Put writes an object; it is there when it is complete, or not at all. With create it must be new:
	// otherwise the error wraps base.ErrExists.
	Put(ctx context.Context, name string, from io.Reader, create bool) error
	// Get reads an object. The error wraps fs.ErrNotExist if there is none.
	Get(ctx context.Context, name string) (io.ReadCloser, error)
	// List returns the sizes of the objects whose names begin with prefix.
	List(ctx context.Context, prefix string) (map[string]int64, error)
	// Delete removes an object; one that is not there is no error.
	Delete(ctx context.Context, name string) error
}

// Bucket is a Store in a bucket, with the same names. It has no lock. Copies are not read back when
// a snapshot is made: the files of the index are verified before they are sent.
type Bucket struct {
	fs      vfs.FS
	objects Objects
	where   string // for messages
	now     func() time.Time
	pause   func(ctx context.Context, attempt int) error
}

// NewBucket returns the store in a bucket that is described by where.
func NewBucket(fsys vfs.FS, o Objects, where string) *Bucket {
	return &Bucket{fs: fsys, objects: o, where: where, now: time.Now, pause: pause}
}

// maxTries is how often a transfer is tried that fails.
const maxTries = 4

func pause(ctx context.Context, attempt int) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(time.Second << attempt):
		return nil
	}
}

// again repeats f while it fails and a repetition may succeed.
func (b *Bucket) again(ctx context.Context, f func() error) error {
	for attempt := 0; ; attempt++ {
		err := f()
		if err == nil || ctx.Err() != nil || attempt+1 == maxTries ||
			errors.Is(err, fs.ErrNotExist) || errors.Is(err, base.ErrExists) || errors.Is(err, base.ErrCorrupt) || errors.Is(err, fs.ErrPermission) {
			return err
		}
		if err := b.pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// Prepare reports, after one request, whether the bucket can be read. It has no mark.
func (b *Bucket) Prepare(ctx context.Context) error {
	if _, err := b.objects.List(ctx, "LOCK"); err != nil { // a prefix that no object has
		return fmt.Errorf("%s: %w", b.where, err)
	}
	return nil
}

// List is Store.List.
func (b *Bucket) List(ctx context.Context) ([]Snapshot, error) {
	all, err := b.descriptions(ctx)
	if err != nil {
		return nil, err
	}
	return listed(all), nil
}

func (b *Bucket) list(ctx context.Context, prefix string) (objects map[string]int64, err error) {
	err = b.again(ctx, func() (err error) {
		objects, err = b.objects.List(ctx, prefix)
		return err
	})
	return objects, err
}

func (b *Bucket) descriptions(ctx context.Context) ([]*description, error) {
	objects, err := b.list(ctx, "")
	if err != nil {
		return nil, err
	}
	var all []*description
	for object := range objects {
		name, ok := strings.CutSuffix(object, suffix)
		if !ok || CheckName(name) != nil {
			continue
		}
		d, err := b.load(ctx, name)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func (b *Bucket) load(ctx context.Context, name string) (d *description, err error) {
	data, err := b.read(ctx, name)
	if err == nil {
		d, err = parseDescription(data)
	}
	if err == nil && d.Name != name {
		err = fmt.Errorf("it describes the snapshot %q: %w", d.Name, base.ErrCorrupt)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %s%s: %w", b.where, name, suffix, err)
	}
	return d, nil
}

// read returns the stored description of a snapshot.
func (b *Bucket) read(ctx context.Context, name string) ([]byte, error) {
	var data bytes.Buffer
	err := b.again(ctx, func() error {
		data.Reset()
		from, err := b.objects.Get(ctx, name+suffix)
		if err != nil {
			return err
		}
		_, err = io.Copy(&data, io.LimitReader(from, maxDescriptionLen))
		return errors.Join(err, from.Close())
	})
	return data.Bytes(), err
}

// describe writes the description of a snapshot. A repetition finds the object of an attempt whose answer
// was lost, so one with the same bytes is no error.
func (b *Bucket) describe(ctx context.Context, name string, data []byte) error {
	err := b.again(ctx, func() error { return b.objects.Put(ctx, name+suffix, bytes.NewReader(data), true /* create */) })
	if !errors.Is(err, base.ErrExists) {
		return err
	}
	stored, readErr := b.read(ctx, name)
	switch {
	case readErr != nil:
		return fmt.Errorf("%s: %s%s: %w", b.where, name, suffix, readErr)
	case bytes.Equal(stored, data):
		return nil
	}
	return err
}

// Create is Store.Create. Objects that are there with the same name and size are not sent again, also
// after a Create that was interrupted. The description is written last.
func (b *Bucket) Create(ctx context.Context, from Source, name string, progress func(done, total int64)) (_ Report, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	began := b.now()
	if name == "" {
		name = NameAt(began)
	}
	if err := CheckName(name); err != nil {
		return Report{}, err
	}
	taken := &takenError{name, b.where}
	switch objects, err := b.list(ctx, name+suffix); {
	case err != nil:
		return Report{}, err
	case len(objects) > 0:
		return Report{}, taken
	}
	for attempt := 1; ; attempt++ {
		r, err := b.create(ctx, from, name, began, progress)
		switch {
		case err == nil:
			r.Took = b.now().Sub(began)
			return r, nil
		case errors.Is(err, errRemoved) && attempt < maxAttempts:
		case errors.Is(err, base.ErrExists):
			return r, taken
		default:
			return r, err
		}
	}
}

// errRemoved: a newer commit has removed a file before it was verified.
var errRemoved = errors.New("a file of the commit was removed")

func (b *Bucket) create(ctx context.Context, from Source, name string, began time.Time, progress func(done, total int64)) (_ Report, err error) {
	c, err := openCommit(b.fs, from.Dir)
	if err != nil {
		return Report{}, err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	u := &upload{bucket: b, ctx: ctx, dir: from.Dir, progress: progress}
	u.report.Snapshot = Snapshot{Name: name, Created: began.UTC().Truncate(time.Millisecond), Index: nameOf(from.Dir), IndexID: c.ID, Generation: c.Generation, Segments: len(c.Segments), Settings: from.Settings}
	for _, s := range c.Segments {
		u.report.NumDocs += s.NumLive
	}
	for _, p := range c.parts {
		for _, f := range p.files {
			u.total += f.sizeBytes
		}
	}
	u.report.SizeBytes = u.total + int64(len(c.text))
	if u.there, err = b.list(ctx, c.ID+"/"); err != nil {
		return u.report, err
	}
	for i := range c.parts {
		if err := u.part(&c.parts[i]); err != nil {
			return u.report, err
		}
	}
	d := &description{Snapshot: u.report.Snapshot, Manifest: string(c.text), Files: u.files}
	data, err := d.encode()
	if err != nil {
		return u.report, err
	}
	return u.report, b.describe(ctx, name, data)
}

// upload is a Create.
type upload struct {
	bucket      *Bucket
	ctx         context.Context // of Create
	dir         string
	progress    func(done, total int64)
	there       map[string]int64 // objects of the index
	done, total int64
	report      Report
	files       []fileCopy
}

func (u *upload) part(p *part) error {
	if !p.known {
		sum, err := verifySealed(u.ctx, u.bucket.fs, filepath.Join(u.dir, local(p.name)))
		if err != nil {
			return removed(err)
		}
		p.sum = sum
	}
	missing := false
	for i := range p.files {
		size, ok := u.there[p.fileTarget(&p.files[i])]
		missing = missing || !ok || size != p.files[i].sizeBytes
	}
	if missing {
		if err := u.verify(p); err != nil {
			return removed(err)
		}
	}
	for i := range p.files {
		if err := u.file(p, &p.files[i]); err != nil {
			return err
		}
	}
	switch {
	case p.dir && missing:
		u.report.CopiedSegments++
	case p.dir:
		u.report.SharedSegments++
	}
	return nil
}

func removed(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%w: %w", errRemoved, err)
	}
	return err
}

// verify checks every byte of a part of the index.
func (u *upload) verify(p *part) error {
	fsys := u.bucket.fs
	for i := range p.files {
		if _, err := verifySealed(u.ctx, fsys, filepath.Join(u.dir, local(p.files[i].name))); err != nil {
			return err
		}
	}
	if !p.dir {
		return nil
	}
	seg, err := segment.Open(fsys, filepath.Join(u.dir, p.name))
	if err != nil {
		return err
	}
	if seg.Meta().Sum() != p.sum {
		err = fmt.Errorf("%s: its checksum is not the one of the manifest: %w", p.name, base.ErrCorrupt)
	}
	return errors.Join(err, seg.Close())
}

func (u *upload) file(p *part, f *openFile) error {
	target := p.fileTarget(f)
	u.files = append(u.files, fileCopy{Path: f.name, Copy: target, SizeBytes: f.sizeBytes})
	if size, ok := u.there[target]; ok && size == f.sizeBytes {
		u.advance(f.sizeBytes)
		return nil
	}
	err := u.bucket.again(u.ctx, func() error {
		sent := int64(0)
		from := &counted{r: io.NewSectionReader(f, 0, f.sizeBytes), ctx: u.ctx, count: func(n int64) { sent += n; u.advance(n) }}
		err := u.bucket.objects.Put(u.ctx, target, from, false)
		if err == nil && sent != f.sizeBytes {
			err = fmt.Errorf("%s: %d bytes, expected %d: %w", f.name, sent, f.sizeBytes, base.ErrCorrupt)
		}
		if err != nil {
			u.advance(-sent)
		}
		return err
	})
	if err == nil {
		u.report.CopiedBytes += f.sizeBytes
	}
	return err
}

func (u *upload) advance(n int64) {
	if u.done += n; u.progress != nil {
		u.progress(u.done, u.total)
	}
}

type counted struct {
	r     io.Reader
	ctx   context.Context // it ends reading
	count func(n int64)
}

// Read implements io.Reader.
func (c *counted) Read(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.r.Read(p)
	c.count(int64(n))
	return n, err
}

// Restore is Store.Restore.
func (b *Bucket) Restore(ctx context.Context, name, dir string, progress func(done, total int64)) (_ Snapshot, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := CheckName(name); err != nil {
		return Snapshot{}, err
	}
	d, err := b.load(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return Snapshot{}, fmt.Errorf("no snapshot %q in %s: %w", name, b.where, base.ErrBadInput)
	}
	if err != nil {
		return Snapshot{}, err
	}
	r := restoring{ctx: ctx, fs: b.fs, dir: dir, progress: progress, file: b.restoreFile}
	return d.Snapshot, r.run(d)
}

func (b *Bucket) restoreFile(ctx context.Context, f fileCopy, to string, progress func(int64)) error {
	err := b.again(ctx, func() (err error) {
		from, err := b.objects.Get(ctx, f.Copy)
		if errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("%w: %w", err, base.ErrCorrupt)
		}
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, from.Close()) }()
		read := int64(0)
		n, err := copyFile(ctx, b.fs, from, to, func(n int64) { read += n; progress(n) })
		if err == nil && n != f.SizeBytes {
			err = fmt.Errorf("%d bytes, expected %d: %w", n, f.SizeBytes, base.ErrCorrupt)
		}
		if err != nil {
			progress(-read)
		}
		return err
	})
	if err == nil {
		_, err = verifySealed(ctx, b.fs, to)
	}
	if err != nil {
		return fmt.Errorf("%s: %s: %w", b.where, f.Copy, err)
	}
	return nil
}

// Delete removes a snapshot, and the objects that no other has. A Create must not run at the same time: the
// objects that it shares may be among them. It returns the number of removed bytes.
func (b *Bucket) Delete(ctx context.Context, name string) (freed int64, err error) {
	if err := CheckName(name); err != nil {
		return 0, err
	}
	d, err := b.load(ctx, name)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, fmt.Errorf("no snapshot %q in %s: %w", name, b.where, base.ErrBadInput)
	}
	if err != nil {
		return 0, err
	}
	if err := b.again(ctx, func() error { return b.objects.Delete(ctx, name+suffix) }); err != nil {
		return 0, err
	}
	others, err := b.descriptions(ctx)
	if err != nil {
		return 0, err
	}
	used := usedBy(others)
	objects, err := b.list(ctx, d.IndexID+"/")
	if err != nil {
		return 0, err
	}
	for object, size := range objects {
		if used[object] {
			continue
		}
		if err := b.again(ctx, func() error { return b.objects.Delete(ctx, object) }); err != nil {
			return freed, err
		}
		freed += size
	}
	return freed, nil
}

// usedBy are the copies that snapshots need.
func usedBy(all []*description) map[string]bool {
	used := map[string]bool{}
	for _, d := range all {
		for _, f := range d.Files {
			used[path.Clean(f.Copy)] = true
		}
	}
	return used
}
