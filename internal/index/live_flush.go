package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"syscall"

	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// liveFiles are the files that are written or synced.
type liveFiles struct {
	// written are the deletions of segments in files, by name of the segment.
	written map[string]writtenDeletions
	// synced are segments whose files are durable.
	synced map[string]bool
	// making counts the uses of files and folders that are being written or synced.
	making map[string]int
}

// ErrSyncFailed is the error of Live.Flush after a failed sync.
var ErrSyncFailed = errors.New("a sync failed, so nothing more is committed until the index is opened again")

type writtenDeletions struct {
	deletions *segment.Deletions
	name      string
	sum       uint32
}

// Flush commits the documents that are visible when it begins. Other processes then see them. It returns the
// number of the last record of the log that it includes. After a sync that failed, no Flush succeeds any more. The error wraps
// base.ErrRemoved if the folder is not at its path any more.
func (l *Live) Flush(ctx context.Context) (seq uint64, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	defer func() { err = explainMissing(l.session, err) }()
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.session.checkFolder(); err != nil {
		return 0, err
	}
	l.mu.Lock()
	if l.closed || l.failed != nil {
		defer l.mu.Unlock()
		return 0, cmp.Or(l.failed, errLiveClosed)
	}
	now, durable := l.ix.currentManifest(), l.durable
	next := now.clone()
	next.NextSegment, next.Seq = l.nextSegment, l.seq
	var unsynced []string
	for _, ms := range next.Segments {
		if !l.files.synced[ms.Name] {
			unsynced = append(unsynced, ms.Name)
		}
		l.files.making[ms.Name]++ // a merge may replace it meanwhile
	}
	l.mu.Unlock()
	var made []string
	defer func() {
		for _, ms := range next.Segments {
			l.made(ms.Name)
		}
		for _, name := range made {
			l.made(name)
		}
		if err == nil {
			l.mu.Lock()
			l.checkpoint = nil // the commit has all of it
			l.mu.Unlock()
			err = l.removeLeftovers()
		}
	}()
	if now.Generation == durable.Generation && next.Seq == durable.Seq && !l.session.unsynced {
		return durable.Seq, nil
	}
	for _, name := range unsynced {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		if err := l.sync(name); err != nil {
			return 0, err
		}
	}
	for i := range next.Segments {
		name, err := l.saveDeletions(&next.Segments[i], next.Generation)
		if name != "" {
			made = append(made, name)
		}
		if err != nil {
			return 0, l.failIO(err)
		}
	}
	if err := l.ix.fs.SyncDir(l.ix.dir); err != nil {
		return 0, l.failIO(err)
	}
	if err := l.session.checkFolder(); err != nil {
		return 0, err
	}
	renamed, err := next.save(l.ix.fs, l.ix.dir)
	if renamed {
		l.mu.Lock()
		l.durable = next
		l.session.unsynced = err != nil
		l.mu.Unlock()
	}
	switch {
	case err == nil:
		return next.Seq, nil
	case renamed: // the next Flush writes and renames another
		return 0, err
	}
	return 0, l.failIO(err)
}

// sync makes a segment durable.
func (l *Live) sync(name string) error {
	dir := l.ix.path(name)
	files, err := l.ix.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, file := range files {
		f, err := l.ix.fs.Open(filepath.Join(dir, file))
		if err != nil {
			return err
		}
		if err := errors.Join(f.Sync(), f.Close()); err != nil {
			return l.fail(vfs.PathError("sync", filepath.Join(dir, file), err))
		}
	}
	if err := l.ix.fs.SyncDir(dir); err != nil {
		return l.fail(err)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files.synced[name] = true
	return nil
}

func (l *Live) fail(err error) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = fmt.Errorf("index %s: %w: %w", l.ix.dir, ErrSyncFailed, err)
	return l.failed
}

// failIO is fail for an I/O error. After a lack of room or permission, a Flush can succeed.
func (l *Live) failIO(err error) error {
	if errors.Is(err, syscall.EIO) {
		return l.fail(err)
	}
	return err
}

// saveDeletions writes the deletions of a segment to a file unless one has them, and returns the
// name of a new one.
func (l *Live) saveDeletions(ms *manifestSegment, generation uint64) (made string, err error) {
	if ms.deletions == nil {
		return "", nil
	}
	if w, ok := l.deletionsIn(ms); ok {
		ms.Live, ms.LiveSum = w.name, w.sum
		return "", nil
	}
	made = liveName(ms.Name, generation)
	l.mu.Lock()
	l.files.making[made]++
	l.mu.Unlock()
	sum, err := ms.deletions.Save(l.ix.fs, l.ix.path(made))
	if err != nil {
		return made, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.files.written[ms.Name] = writtenDeletions{ms.deletions, made, sum}
	ms.Live, ms.LiveSum = made, sum
	return made, nil
}

// deletionsIn returns the file of a commit that has the deletions of a segment.
func (l *Live) deletionsIn(ms *manifestSegment) (w writtenDeletions, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	w, ok = l.files.written[ms.Name]
	return w, ok && w.deletions == ms.deletions
}

// made ends a use of a file or folder.
func (l *Live) made(name string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.files.making[name]--; l.files.making[name] == 0 {
		delete(l.files.making, name)
	}
}

// removeLeftovers removes the files that neither the last commit nor the current snapshot names.
// l.flushing is held. l.mu is not: the system takes seconds to remove large files.
func (l *Live) removeLeftovers() error {
	names, err := l.ix.fs.ReadDir(l.ix.dir)
	if err != nil {
		return err
	}
	for _, name := range l.leftovers(names) {
		if err := l.session.removeLeftover(name); err != nil {
			return fmt.Errorf("index %s: remove former segments: %w", l.ix.dir, err)
		}
	}
	return nil
}

// leftovers returns the names that nobody needs, nor will: names are not used again.
func (l *Live) leftovers(names []string) (unused []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	keep := l.durable.names()
	now := l.ix.currentManifest()
	maps.Copy(keep, l.checkpoint)
	for i := range now.Segments {
		keep[now.Segments[i].Name] = true
	}
	for name, w := range l.files.written { // a Flush that failed may have written it
		if keep[name] {
			keep[w.name] = true
		} else {
			delete(l.files.written, name)
		}
	}
	for _, name := range names {
		if ours(name) && !keep[name] && l.files.making[name] == 0 {
			unused = append(unused, name)
			delete(l.files.synced, name)
		}
	}
	return unused
}
