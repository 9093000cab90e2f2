package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A checkpoint is a manifest of visible documents that no commit has. Neither it nor its files are
// synced. If the process ends before the next commit, Adopt takes them over, so that less of the log
// must be indexed again.
const (
	// CheckpointName is the file of the last checkpoint in an index folder, for programs that measure recoveries without it.
	CheckpointName = "CHECKPOINT"
	checkpointTemp = "CHECKPOINT.new"
)

// Checkpoint saves the visible segments for Adopt, without a sync. The next Flush removes it.
func (l *Live) Checkpoint(ctx context.Context) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	defer func() { err = explainMissing(l.session, err) }()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.session.checkFolder(); err != nil {
		return err
	}
	l.mu.Lock()
	if l.closed {
		defer l.mu.Unlock()
		return errLiveClosed
	}
	next := l.ix.currentManifest().clone()
	next.NextSegment, next.Seq = l.nextSegment, l.seq
	for _, ms := range next.Segments {
		l.files.making[ms.Name]++ // a merge may replace it meanwhile
	}
	l.mu.Unlock()
	defer func() {
		for _, ms := range next.Segments {
			l.made(ms.Name)
		}
	}()
	former := l.checkpointed
	l.checkpointed = map[string]writtenDeletions{}
	for i := range next.Segments {
		if err := errors.Join(ctx.Err(), l.checkpointDeletions(&next.Segments[i], next.Generation, former)); err != nil {
			return err
		}
	}
	data, err := next.encodeValid()
	if err != nil {
		return err
	}
	temp := l.ix.path(checkpointTemp)
	if err := vfs.WriteFile(l.volatile, temp, data); err != nil {
		return errors.Join(vfs.PathError("write", temp, err), ignoreMissing(l.ix.fs.Remove(temp)))
	}
	if err := l.volatile.Rename(temp, l.ix.path(CheckpointName)); err != nil {
		return err
	}
	l.mu.Lock()
	l.checkpoint = next.names()
	l.checkpoint[CheckpointName] = true
	unsynced := l.session.unsynced
	l.mu.Unlock()
	if unsynced { // a power failure can restore the former manifest
		return nil
	}
	// Sources of merges since the last checkpoint need not be written to the disk at all.
	return l.removeLeftovers()
}

// checkpointDeletions names the file of a segment's deletions in a checkpoint, which it writes unless a
// commit or the former checkpoint has them.
func (l *Live) checkpointDeletions(ms *manifestSegment, generation uint64, former map[string]writtenDeletions) (err error) {
	if ms.deletions == nil {
		return nil
	}
	w, ok := l.deletionsIn(ms)
	if !ok {
		if w, ok = former[ms.Name]; !ok || w.deletions != ms.deletions {
			w = writtenDeletions{deletions: ms.deletions, name: liveName(ms.Name, generation)}
			if w.sum, err = ms.deletions.Save(l.volatile, l.ix.path(w.name)); err != nil {
				return err
			}
		}
		l.checkpointed[ms.Name] = w
	}
	ms.Live, ms.LiveSum = w.name, w.sum
	return nil
}

// keepCheckpoint keeps the checkpoint that continues the last commit, until Adopt. Another one is removed;
// the log has all that it has.
func (s *session) keepCheckpoint() error {
	f, err := s.ix.fs.Open(s.ix.path(CheckpointName))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	var data []byte
	if err == nil {
		data, err = io.ReadAll(io.LimitReader(f, maxManifestLen))
		err = errors.Join(err, f.Close())
	}
	var m *manifest
	if err == nil {
		m, err = parseManifest(data)
	}
	now := s.ix.currentManifest()
	if err != nil || m.ID != now.ID || m.Generation < now.Generation || m.Seq <= now.Seq {
		return s.removeCheckpoint()
	}
	s.checkpoint = m
	return nil
}

// removeCheckpoint makes sure that the checkpoint does not come back, when the log has other records with
// its numbers.
func (s *session) removeCheckpoint() error {
	s.checkpoint = nil
	if err := s.ix.fs.Remove(s.ix.path(CheckpointName)); err != nil {
		return fmt.Errorf("index %s: drop a checkpoint: %w", s.ix.dir, err)
	}
	return s.ix.fs.SyncDir(s.ix.dir)
}

// Adopt makes the documents of the last checkpoint visible, if there is one and its files are intact,
// and if it has no record of the log after last. It returns the number of the last record that is
// visible. It is called before all other methods.
//
// It copies the files that are not in a commit. After a write error that nobody has seen, the system may
// show content that it has not written, and a sync of the same file may succeed. If the copy finds no
// room, the checkpoint is removed, since its files take the room that indexing the log again needs. If
// the file system permits no writes, the result is that error, and the checkpoint stays for the next attempt.
func (l *Live) Adopt(ctx context.Context, last uint64) (seq uint64, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	defer func() { err = explainMissing(l.session, err) }()
	c := l.session.checkpoint
	if c == nil {
		return l.Seq(), nil
	}
	l.session.checkpoint = nil
	var next *manifest
	var made []string
	defer func() {
		for _, name := range made {
			l.made(name)
		}
	}()
	if c.Seq > last { // the log has lost its end
		err = base.ErrCorrupt
	} else if next, made, err = l.copyCheckpoint(ctx, c); err == nil {
		err = l.adopt(next)
	}
	if err != nil { // the log has the documents
		for _, name := range made {
			_ = l.ix.fs.RemoveAll(l.ix.path(name))
		}
		switch {
		case ctx.Err() != nil:
			return 0, ctx.Err()
		case forbidden(err):
			return 0, fmt.Errorf("index %s: take over a checkpoint: %w", l.ix.dir, err)
		}
		if err := l.session.removeCheckpoint(); err != nil {
			return 0, err
		}
		return l.Seq(), l.removeLeftovers()
	}
	if err := l.Checkpoint(ctx); err != nil { // the former one stays
		return next.Seq, ctx.Err()
	}
	return next.Seq, nil
}

func forbidden(err error) bool {
	return errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)
}

func (l *Live) adopt(next *manifest) error {
	if err := l.changing.take(context.Background()); err != nil {
		return err
	}
	defer l.changing.giveBack()
	former, err := l.ix.Snapshot()
	if err != nil {
		return err
	}
	defer former.Release()
	return l.show(next, former, func() {
		l.seq = next.Seq
		l.schema.Store(next.Options.Schema()) // fields were added
	})
}

// copyCheckpoint returns the manifest of a checkpoint with copies of the segments that no commit has, and
// their names.
func (l *Live) copyCheckpoint(ctx context.Context, c *manifest) (next *manifest, made []string, err error) {
	committed := map[string]manifestSegment{}
	for _, ms := range l.durable.Segments {
		committed[ms.Name] = ms
	}
	next = c.clone()
	if next.Impacts == nil { // former versions kept the settings only in the file of the lists
		next.Impacts = l.ix.currentManifest().Impacts
	}
	errs := make([]error, len(next.Segments))
	var group sync.WaitGroup
	running := make(chan struct{}, runtime.GOMAXPROCS(0))
	for i := range next.Segments {
		ms, from := &next.Segments[i], next.Segments[i]
		switch is := committed[ms.Name]; {
		case is.Sum != ms.Sum || is.NumDocs != ms.NumDocs:
			ms.Name = l.newSegment()
			made = append(made, ms.Name)
		case is.Live == ms.Live && is.LiveSum == ms.LiveSum:
			continue
		}
		group.Go(func() {
			running <- struct{}{}
			defer func() { <-running }()
			errs[i] = l.takeSegment(ctx, ms, &from)
		})
	}
	group.Wait()
	return next, made, errors.Join(errs...)
}

// takeSegment copies a segment of a checkpoint unless it keeps its name, and loads its deletions.
func (l *Live) takeSegment(ctx context.Context, ms, from *manifestSegment) (err error) {
	dir := l.ix.path(ms.Name)
	if ms.Name != from.Name {
		if err := copyFolder(ctx, l.volatile, dir, l.ix.path(from.Name)); err != nil {
			return err
		}
	}
	seg, err := segment.Open(l.ix.fs, dir)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, seg.Close()) }()
	if ms.Name != from.Name {
		if err := segment.VerifyChecksums(ctx, seg); err != nil {
			return err
		}
	}
	if ms.Live == "" {
		return nil
	}
	ms.deletions, err = seg.LoadDeletions(l.ix.fs, l.ix.path(ms.Live), ms.LiveSum)
	if err == nil && ms.deletions.Live().Count() != ms.NumLive {
		err = fmt.Errorf("%s: %w", ms.Live, base.ErrCorrupt)
	}
	ms.Live, ms.LiveSum = "", 0
	return err
}

func copyFolder(ctx context.Context, fsys vfs.FS, to, from string) error {
	names, err := fsys.ReadDir(from)
	if err == nil {
		err = fsys.Mkdir(to)
	}
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := errors.Join(ctx.Err(), copyFile(fsys, filepath.Join(to, name), filepath.Join(from, name))); err != nil {
			return err
		}
	}
	return nil
}

func copyFile(fsys vfs.FS, to, from string) (err error) {
	in, err := fsys.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := fsys.Create(to)
	if err != nil {
		return err
	}
	const buffer = 1 << 20
	_, err = io.CopyBuffer(struct{ io.Writer }{out}, struct{ io.Reader }{in}, make([]byte, buffer))
	return errors.Join(err, out.Close())
}
