package living

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/footprint"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// Store is an index that takes writes.
type Store struct {
	fs     vfs.FS
	ix     *index.Index
	live   *index.Live
	log    *wal.Dir
	opts   Options
	crew   *inverter.Crew
	groups groups
	fields fields
	schema atomic.Pointer[inverter.Schema] // of fields, and of what waits for the log
	slow   *slowFS                         // of merges

	mu       sync.Mutex
	versions versions
	queue    queue
	flushed  uint64 // Seq of the last commit
	adopted  uint64 // the last record of the checkpoint that Open found; at least flushed then
	closed   bool

	work      background
	replaying atomic.Bool
	failures  failures
	ended     error // why nothing is published any more; guarded by mu
}

// background is the goroutines of a Store.
type background struct {
	sealed  chan *batch             // from the pump to the publisher
	changed signals                 // segments were added or merged
	flush   chan struct{}           // the log is long
	save    chan struct{}           // much is visible since the last checkpoint
	hurry   signals                 // writers wait for a merge
	every   interval                // of refreshes
	again   [numParts]chan struct{} // somebody waits for what fails to be published
	quit    chan struct{}
	ctx     context.Context
	stop    context.CancelFunc // ends ctx
	closing chan struct{}      // closed: what fails is not repeated
	// attempts counts the beginnings of attempts to publish.
	attempts atomic.Int64
	workers  sync.WaitGroup
	turns    mergeTurns
}

func (w *background) begin(ctx context.Context) {
	w.sealed, w.quit = make(chan *batch), make(chan struct{})
	w.flush, w.save, w.every.changed = make(chan struct{}, 1), make(chan struct{}, 1), make(chan struct{}, 1)
	for part := range w.again {
		w.again[part] = make(chan struct{}, 1)
	}
	for level := range numLevels {
		w.changed[level], w.hurry[level] = make(chan struct{}, 1), make(chan struct{}, 1)
	}
	w.closing = make(chan struct{})
	w.ctx, w.stop = context.WithCancel(context.WithoutCancel(ctx))
}

// Open makes the index, which must have a commit, take writes: it acquires the write lock, and replays
// the log in the folder of the index. Its writes are visible when Open returns. Errors wrap
// base.ErrLocked, base.ErrCorrupt, and ErrFull, ErrReadOnly or ErrDenied if the writes of the log cannot be made
// visible.
func Open(ctx context.Context, fsys vfs.FS, ix *index.Index, opts Options) (*Store, error) {
	s := &Store{fs: fsys, ix: ix, opts: opts.withDefaults(), versions: newVersions()}
	s.queue.init(&s.mu)
	s.groups.init()
	s.work.begin(ctx)
	s.work.every.now.Store(int64(s.opts.RefreshInterval))
	s.slow = &slowFS{FS: s.fs, perSecond: max(s.opts.MergeBytesPerSecond, 0), quit: s.work.quit, forgets: forgetting{room: footprint.Available()}}
	var err error
	if s.live, err = ix.Live(); err != nil {
		return nil, s.explain(err)
	}
	s.flushed = s.live.Seq()
	s.work.turns.Turns, s.work.turns.processors = turns.NewBehind(s.opts.Processors, s.opts.Gate), s.opts.Processors
	s.work.turns.isBehind = func() bool { return numSegments(s.ix) > s.opts.MaxSegments/2 }
	s.updateMerges()
	s.slow.turns = s.work.turns.Turns
	s.live.SetTurns(s.opts.Processors, turns.NewBehind(s.opts.Processors, s.opts.Gate), s.work.turns.Turns)
	if s.crew, err = inverter.NewCrew(s.live.Schema(), s.opts.Processors); err == nil {
		s.log, err = wal.Open(fsys, filepath.Join(ix.Dir(), index.LogName), wal.Options{
			Mode: s.opts.Sync, Interval: s.opts.SyncInterval, After: wal.Seq(s.flushed),
		})
	}
	if err != nil {
		s.work.stop()
		return nil, errors.Join(s.explain(err), s.live.Close())
	}
	if s.adopted, err = s.live.Adopt(ctx, uint64(s.log.Found())); err != nil {
		s.work.stop()
		return nil, errors.Join(s.explain(err), s.log.Close(), s.live.Close())
	}
	s.use(newFields(ix.Options()))
	s.work.workers.Go(s.pump)
	s.work.workers.Go(s.publish)
	if err = s.replay(ctx); err != nil {
		return nil, errors.Join(s.explain(fmt.Errorf("index %s: log: %w", ix.Dir(), err)), s.end())
	}
	for level := range numLevels {
		s.work.workers.Go(func() { s.merge(level) })
	}
	s.work.workers.Go(s.flushes)
	s.work.workers.Go(s.refreshes)
	return s, nil
}

// Torn is the end of the log that was cut off when it was opened; false: none.
func (s *Store) Torn() (wal.Torn, bool) { return s.log.Torn() }

// Get returns the latest version of a document, visible or not. A pending document is not visible
// yet, or deleted (nil); others are in the segments of a new snapshot.
func (s *Store) Get(id string) (doc *corpus.Document, version segment.Version, pending bool, err error) {
	st, pending, err := s.state(id, nil)
	if !pending {
		st.doc = nil
	}
	return st.doc, st.version, pending, err
}

// state returns the state of an id before the operations of the current group. absent, if not nil, is a snapshot that does not
// have the id.
func (s *Store) state(id string, absent *index.Snapshot) (st state, pending bool, err error) {
	s.mu.Lock()
	st, ok := s.versions.find(id)
	s.mu.Unlock()
	if ok {
		return st, true, nil
	}
	if absent != nil && s.ix.IsCurrent(absent) {
		return state{}, false, nil
	}
	snapshot, err := s.ix.Snapshot()
	if err != nil {
		return state{}, false, err
	}
	defer snapshot.Release()
	view, doc, found, err := snapshot.Lookup(id)
	if err != nil || !found {
		return state{}, false, err
	}
	v, err := snapshot.Segments[view].Version(doc)
	v.Number = v.Count()
	return state{version: v, doc: visible}, false, err
}

// Refresh makes all acknowledged writes visible. If that fails, it is repeated in the background, and
// the error is of an attempt, if the disk takes no writes of the first one: it wraps ErrBusy, and ErrFull, ErrReadOnly or ErrDenied.
func (s *Store) Refresh(ctx context.Context) error {
	before := s.work.attempts.Load()
	if s.failures.latest() != nil {
		for _, again := range s.work.again {
			signal(again)
		}
	}
	return s.refresh(ctx, maxPublishWait/50, func() bool { return s.failures.hopelessAfter(before) })
}

// refresh is Refresh, but calls hopeless in intervals and gives up when it returns true.
func (s *Store) refresh(ctx context.Context, interval time.Duration, hopeless func() bool) error {
	s.mu.Lock()
	w := s.queue.seal(&s.versions)
	s.mu.Unlock()
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-w.done:
			return w.err
		case <-ctx.Done():
			return ctx.Err()
		case <-s.work.quit:
			return errClosed
		case <-ticker.C:
			if hopeless() {
				return s.explain(s.busy("writes cannot be made visible"))
			}
		}
	}
}

// Flush makes all acknowledged writes visible, commits them, and shortens the log.
func (s *Store) Flush(ctx context.Context) error {
	if err := s.Refresh(ctx); err != nil {
		return err
	}
	return s.explain(s.commit(ctx))
}

// commit makes the visible documents durable.
func (s *Store) commit(ctx context.Context) error {
	seq, err := s.live.Flush(ctx)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.flushed = max(s.flushed, seq)
	s.mu.Unlock()
	return s.log.TruncateFront(wal.Seq(seq + 1))
}

// Close flushes and releases the index. If that fails, for example because the disk is full, the
// writes are in the log, and the next Open replays them. Later calls return nil.
func (s *Store) Close(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.mu.Unlock()
	s.groups.close()
	close(s.work.closing)
	return errors.Join(s.Flush(ctx), s.end())
}

func (s *Store) end() error {
	close(s.work.quit)
	s.work.stop()
	s.mu.Lock()
	s.queue.close()
	s.mu.Unlock()
	s.work.workers.Wait()
	return errors.Join(s.log.Close(), s.live.Close())
}

var errClosed = fmt.Errorf("store: %w", base.ErrClosed)

func (s *Store) newBatch() (*batch, error) {
	dir, err := s.live.TempDir()
	if err != nil {
		return nil, err
	}
	o := inverter.Options{Schema: s.live.Schema(), FS: s.fs, Dir: dir, MemoryBytes: s.memoryBytes(), Gate: s.opts.Gate}
	return &batch{CrewBatch: s.crew.NewBatch(o), dir: dir, began: time.Now()}, nil
}

// refreshes makes writes visible in intervals.
func (s *Store) refreshes() {
	s.work.every.each(s.work.quit, func() {
		if err := s.refresh(s.work.ctx, maxPublishWait/4, s.failures.stuck); err != nil && s.work.ctx.Err() == nil && !s.failures.stuck() { // else it was reported
			s.opts.OnError(fmt.Errorf("refresh: %w", err))
		}
	})
}

// flushIfLong is called after writes, and when they are visible: a commit contains no others.
func (s *Store) flushIfLong() {
	if s.log.Stats().SizeBytes > s.opts.FlushBytes {
		signal(s.work.flush)
	}
}

// flushes commits when the log is long, and saves checkpoints before, so that less of it is indexed again
// after a crash.
func (s *Store) flushes() {
	for {
		select {
		case <-s.work.quit:
			return
		case <-s.work.flush:
			_ = s.retry("flush", maxWorkWait, nil, nil, func() error { return s.commit(s.work.ctx) }) // reported
		case <-s.work.save:
			if err := s.live.Checkpoint(s.work.ctx); err != nil && s.work.ctx.Err() == nil {
				s.opts.OnError(fmt.Errorf("checkpoint: %w", err))
			}
		}
	}
}
