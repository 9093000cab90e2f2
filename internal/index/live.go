package index

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"

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
// and Flush wait for others of their kind; merges run at the same time. A merge and Publish wait for each
// other while they change the list of segments; nothing else waits for Publish.
type Live struct {
	ix       *Index
	session  *session
	schema   atomic.Pointer[inverter.Schema]
	volatile vfs.FS

	flushing sync.Mutex // lock it before changing
	changing baton      // whoever changes the current snapshot has it, for seconds; take it before mu

	mu sync.Mutex // guards what follows, and the moment in which another snapshot becomes the current one
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
	closed      bool // changes with changing held, too
	closing     bool // no more merges
	merging     merging
	files       liveFiles

	temps     temps
	computing computing
}

// baton is a lock; a context can end the wait for it.
type baton chan struct{}

func newBaton() baton { return make(baton, 1) }

func (b baton) take(ctx context.Context) error {
	select {
	case b <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b baton) giveBack() { <-b }

// temps are folders for temporary files. They have a lock of their own, so that nothing waits for the file system.
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
		ix: ix, session: s, volatile: vfs.Volatile(ix.fs), durable: now, changing: newBaton(),
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
	if err := ix.showKeptImpacts(now); err != nil {
		return nil, errors.Join(err, s.end())
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
	defer func() { err = explainMissing(l.session, err) }()
	if err := l.changing.take(ctx); err != nil {
		return 0, err
	}
	defer l.changing.giveBack()
	if l.isClosed() {
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
	err = l.publish(ctx, c, func() {
		l.seq = max(l.seq, seq)
		if changed {
			l.schema.Store(c.next.Options.Schema())
		}
	})
	if err != nil {
		return 0, err
	}
	return c.result.deleted, nil
}

// publish makes the change of c visible; visible runs at the moment in which it is.
func (l *Live) publish(ctx context.Context, c *commit, visible func()) (err error) {
	if err := c.dropDocuments(ctx); err != nil {
		return err
	}
	if c.numAdded == 0 && c.result.deleted == 0 && !c.next.changesFields(c.base) {
		l.mu.Lock()
		defer l.mu.Unlock()
		visible()
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
	if err := c.checkFolder(); err != nil {
		return err
	}
	if c.numAdded > 0 {
		name := l.newSegment()
		defer func() {
			if err != nil {
				err = errors.Join(err, l.ix.fs.RemoveAll(l.ix.path(name)))
			}
			l.made(name)
		}()
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
	return l.show(c.next, c.base, visible)
}

// newSegment returns the name of a new segment, whose files stay until made.
func (l *Live) newSegment() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.newSegmentLocked()
}

func (l *Live) newSegmentLocked() string {
	name := segmentName(l.nextSegment)
	l.nextSegment++
	l.files.making[name]++
	return name
}

// show makes next, whose files exist, the current snapshot; visible runs at that moment, with mu held. next shares
// segments of former and others, which may be nil. l.changing is held.
func (l *Live) show(next *manifest, former *Snapshot, visible func(), others ...*Snapshot) error {
	shown, err := l.ix.newSnapshot(next, append([]*Snapshot{former}, others...)...)
	if err != nil {
		return err
	}
	l.ix.makeReady(context.Background(), shown, former, false /* merged */)
	l.ix.showing.Lock()
	defer l.ix.showing.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	next.NextSegment = l.nextSegment
	if err := l.ix.replace(shown, next); err != nil {
		return err
	}
	visible()
	return nil
}

func (l *Live) isClosed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.closed
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
	return dir, explainMissing(l.session, l.ix.fs.Mkdir(dir))
}

// Close waits for merges, shows the last commit and releases the lock. Documents that were not flushed are lost.
func (l *Live) Close() error {
	l.mu.Lock()
	l.closing = true
	if l.merging.stop != nil {
		l.merging.stop()
	}
	l.mu.Unlock()
	if err := l.awaitMerges(context.Background(), nil); err != nil {
		return err
	}
	l.flushing.Lock()
	defer l.flushing.Unlock()
	if err := l.changing.take(context.Background()); err != nil {
		return err
	}
	defer l.changing.giveBack()
	durable := l.close()
	if durable == nil {
		return nil
	}
	l.temps.mu.Lock()
	l.temps.closed = true
	l.temps.mu.Unlock()
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

// close lets nothing change any more, and returns a copy of the last commit; nil: it was called before.
func (l *Live) close() (durable *manifest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return nil
	}
	l.closed = true
	return l.durable.clone()
}

var errLiveClosed = fmt.Errorf("live index: %w", base.ErrClosed)
