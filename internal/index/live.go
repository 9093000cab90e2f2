package index

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Live changes an index in two steps. Publish makes documents visible to this process at once. Their
// segments need not survive a crash: the caller has a log. Flush commits the visible documents.
// Merge joins segments beside both.
//
// A Live holds the write lock until Close. All methods are safe for concurrent use. Publish
// and Flush wait for others of their kind; merges run at the same time. Flush and Merge block Publish
// only for the moment in which they change the list of segments.
type Live struct {
	ix       *Index
	session  *session
	schema   atomic.Pointer[inverter.Schema]
	volatile vfs.FS

	flushing sync.Mutex // lock it before mu

	files liveFiles // lock it after mu

	mu sync.Mutex // guards what follows, and changes of the current snapshot
	// durable is the last commit.
	durable *manifest
	// checkpointed are those that only a checkpoint has; guarded by flushing.
	checkpointed map[string]writtenDeletions
	// checkpoint are the files of the last checkpoint that no commit has made useless.
	checkpoint map[string]bool
	// failed is the error of a sync, after which the system may have dropped the data and report
	// success to the next one: nothing is committed any more.
	failed error
	// seq is the number of the last record of the log that is visible.
	seq uint64
	// nextSegment is at least NextSegment of the current manifest.
	nextSegment uint64
	closed      bool
	closing     bool // no more merges
	merging     merging
	temps       temps
	computing   computing
}

// liveFiles are the files that are written or synced. They have a lock of their own: Publish holds Live.mu for seconds when
// writes are many, and Flush would wait for that several times a segment.
type liveFiles struct {
	sync.Mutex
	// written are the deletions of segments in files, by name of the segment.
	written map[string]writtenDeletions
	// synced are segments whose files are durable.
	synced map[string]bool
	// making counts the uses of files and folders that are being written or synced.
	making map[string]int
}

// temps are folders for temporary files. They have a lock of their own, so that the next batch does not wait
// for Publish.
type temps struct {
	mu     sync.Mutex
	n      int
	closed bool
}

// computing is how Publish and merges use the processors.
type computing struct {
	threads             int // of Publish; 0: GOMAXPROCS
	publishing, merging *turns.Turns
}

// ErrSyncFailed is the error of Live.Flush after a failed sync.
var ErrSyncFailed = errors.New("a sync failed, so nothing more is committed until the index is opened again")

type writtenDeletions struct {
	deletions *segment.Deletions
	name      string
	sum       uint32
}

// Live takes the write lock. The index must have a commit. Until Close, Refresh does nothing: this
// process is the only one that commits. The error wraps base.ErrLocked if there is another writer.
func (ix *Index) Live() (*Live, error) {
	s, err := (&session{ix: ix, adopts: true}).begin()
	if err != nil {
		return nil, err
	}
	now := ix.currentManifest()
	if now.Generation == 0 {
		return nil, errors.Join(fmt.Errorf("index %s: nothing is committed yet: %w", ix.dir, base.ErrBadInput), s.end())
	}
	options := ix.Options()
	l := &Live{
		ix: ix, session: s, volatile: vfs.Volatile(ix.fs), durable: now,
		files: liveFiles{written: map[string]writtenDeletions{}, synced: map[string]bool{}, making: map[string]int{}}, merging: newMerging(), seq: now.Seq, nextSegment: now.NextSegment,
	}
	l.schema.Store(options.Schema())
	for i := range now.Segments {
		l.files.synced[now.Segments[i].Name] = true
	}
	if c := s.checkpoint; c != nil {
		l.nextSegment = max(l.nextSegment, c.NextSegment)
	}
	// A process that ended after it renamed the manifest may not have synced the folder, and the caller
	// removes records of the log that the commit has.
	if err := ix.fs.SyncDir(ix.dir); err != nil {
		return nil, errors.Join(fmt.Errorf("index %s: %w", ix.dir, err), s.end())
	}
	ix.live.Store(true)
	return l, nil
}

// SetTurns sets the number of threads of Publish, and what bounds the goroutines of Publish and of merges. It must
// be called before other methods.
func (l *Live) SetTurns(threads int, publishing, merging *turns.Turns) {
	l.computing = computing{threads, publishing, merging}
}

// Seq is the number of the last record of the log that the index has durably.
func (l *Live) Seq() uint64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.durable.Seq
}

// Schema is how documents are inverted for Publish, with the fields that are visible.
func (l *Live) Schema() *inverter.Schema { return l.schema.Load() }

// Publish adds the documents of sources, each id once, which replace documents of the index, after
// deleting the documents of ids. It is visible to new snapshots when it returns. failed returns
// errors of methods of sources that have no error result. The fields of schema (nil: none) are declared
// or changed; the sources can have them. The first former of their documents, without dropped ones,
// are of before a change of the shape. seq is the number of the last record of the
// log whose change they complete. After an error nothing has changed.
func (l *Live) Publish(ctx context.Context, sources []segment.Source, failed func() error, ids map[string]struct{}, schema *inverter.Schema, former int, seq uint64) (deleted int, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return 0, errLiveClosed
	}
	snapshot, err := l.ix.Snapshot()
	if err != nil {
		return 0, err
	}
	defer snapshot.Release()
	c := &commit{
		session: l.session, base: snapshot, next: l.ix.currentManifest().clone(),
		change: change{sources: sources, failed: failed, deletes: ids, former: former},
	}
	for _, src := range sources {
		c.numAdded += src.NumDocs() - src.Dropped().Count()
	}
	changed, err := c.next.addFields(schema)
	if err != nil {
		return 0, err
	}
	c.next.Generation++
	c.next.NextSegment = l.nextSegment
	err = l.publish(ctx, c)
	l.nextSegment = c.next.NextSegment
	if err != nil {
		for _, name := range c.made {
			err = errors.Join(err, l.ix.fs.RemoveAll(l.ix.path(name)))
		}
		return 0, err
	}
	l.seq = max(l.seq, seq)
	if changed {
		l.schema.Store(c.next.Options.Schema())
	}
	return c.result.deleted, nil
}

func (l *Live) publish(ctx context.Context, c *commit) error {
	if err := c.dropDocuments(ctx); err != nil {
		return err
	}
	if c.numAdded == 0 && c.result.deleted == 0 && !c.next.changesFields(c.base) {
		return nil
	}
	segments := c.next.Segments
	c.next.Segments = make([]manifestSegment, 0, len(segments)+1)
	for i, ms := range segments {
		switch c.numLive[i] {
		case 0: // no live document is left
			continue
		case ms.NumLive:
		default:
			d, err := c.deletionsOf(ctx, i)
			if err != nil {
				return err
			}
			ms.deletions, ms.Live, ms.LiveSum, ms.NumLive = d, "", 0, c.numLive[i]
		}
		c.next.Segments = append(c.next.Segments, ms)
	}
	if c.numAdded > 0 {
		name := c.newSegment()
		opts := c.next.Options.segmentOptions(l.computing.threads)
		opts.Turns = l.computing.publishing
		meta, err := segment.Write(ctx, l.volatile, l.ix.path(name), opts, c.sources, nil)
		if err := errors.Join(err, c.failed()); err != nil {
			return err
		}
		c.next.Segments = append(c.next.Segments, manifestSegment{Name: name, Sum: meta.Sum(), NumDocs: meta.NumDocs, NumLive: meta.NumDocs, Former: c.former})
	}
	if err := c.checkSize(); err != nil {
		return err
	}
	return l.show(c.next, c.base)
}

// show makes next, whose files exist, the current snapshot. It shares segments of former and others, which
// may be nil. l.mu is held.
func (l *Live) show(next *manifest, former *Snapshot, others ...*Snapshot) error {
	shown, err := l.ix.newSnapshot(next, append([]*Snapshot{former}, others...)...)
	if err != nil {
		return err
	}
	l.ix.makeReady(context.Background(), shown, former, false /* merged */)
	l.ix.showing.Lock()
	defer l.ix.showing.Unlock()
	return l.ix.replace(shown, next)
}

// Flush commits the documents that are visible when it begins. Other processes then see them. It returns the number of the last record of the log that it includes. After a sync
// that failed, no Flush succeeds any more.
func (l *Live) Flush(ctx context.Context) (seq uint64, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	if l.closed || l.failed != nil {
		defer l.mu.Unlock()
		return 0, cmp.Or(l.failed, errLiveClosed)
	}
	now, durable := l.ix.currentManifest(), l.durable
	next := now.clone()
	next.NextSegment, next.Seq = l.nextSegment, l.seq
	var unsynced []string
	l.files.Lock()
	for _, ms := range next.Segments {
		if !l.files.synced[ms.Name] {
			unsynced = append(unsynced, ms.Name)
		}
		l.files.making[ms.Name]++ // a merge may replace it meanwhile
	}
	l.files.Unlock()
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
	l.files.Lock()
	l.files.synced[name] = true
	l.files.Unlock()
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
	l.files.Lock()
	w, ok := l.files.written[ms.Name]
	l.files.Unlock()
	if !ok || w.deletions != ms.deletions {
		made = liveName(ms.Name, generation)
		l.files.Lock()
		l.files.making[made]++
		l.files.Unlock()
		w = writtenDeletions{deletions: ms.deletions, name: made}
		if w.sum, err = ms.deletions.Save(l.ix.fs, l.ix.path(made)); err != nil {
			return made, err
		}
		l.files.Lock()
		l.files.written[ms.Name] = w
		l.files.Unlock()
	}
	ms.Live, ms.LiveSum = w.name, w.sum
	return made, nil
}

// made ends a use of a file or folder.
func (l *Live) made(name string) {
	l.files.Lock()
	defer l.files.Unlock()
	if l.files.making[name]--; l.files.making[name] == 0 {
		delete(l.files.making, name)
	}
}

// TempDir makes a new folder for temporary files, which Close removes.
func (l *Live) TempDir() (string, error) {
	t := &l.temps
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", errLiveClosed
	}
	parent, err := l.session.temp()
	if err != nil {
		return "", err
	}
	t.n++
	dir := filepath.Join(parent, strconv.Itoa(t.n))
	return dir, l.ix.fs.MkdirAll(dir)
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
	l.files.Lock()
	defer l.files.Unlock()
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

// Close waits for merges, shows the last commit and releases the lock. What was not flushed is lost.
func (l *Live) Close() error {
	l.mu.Lock()
	l.closing = true
	l.mu.Unlock()
	if err := l.awaitMerges(context.Background(), nil); err != nil {
		return err
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	l.temps.mu.Lock()
	l.temps.closed = true
	l.temps.mu.Unlock()
	durable := l.durable.clone()
	for i := range durable.Segments {
		durable.Segments[i].deletions = nil // they are in files
	}
	l.ix.showing.Lock()
	err := l.ix.show(durable)
	l.ix.live.Store(false)
	l.ix.showing.Unlock()
	if errors.Is(err, base.ErrClosed) {
		err = nil // the index was closed before
	}
	return errors.Join(err, l.session.end())
}

var errLiveClosed = fmt.Errorf("live index: %w", base.ErrClosed)
