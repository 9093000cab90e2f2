package living

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/wal"
)

// ErrDown means that an index takes no writes while its store waits to be opened again. Searches of
// the committed documents continue.
var ErrDown = errors.New("the index takes no writes until it can be opened again, which is repeated")

const (
	minReopenWait = 100 * time.Millisecond
	maxReopenWait = 10 * time.Second
)

// Kept is a Store that is opened again after a failed sync, after which a Store accepts and commits
// nothing, and after its folder was removed or moved (base.ErrRemoved), which can come back. Between, operations fail with
// ErrDown. It is safe for concurrent use.
type Kept struct {
	open func(Options) (*Store, error)
	dir  string
	send func(error) // Options.OnError

	changing sync.Mutex // held while opts and those of the store are changed

	mu     sync.Mutex
	opts   Options
	base   uint64
	store  *Store // nil: down
	err    error  // why it is down
	closed bool
	reopen sync.WaitGroup

	ctx  context.Context // of opening again; Close ends it
	stop context.CancelFunc
}

// Keep opens a Store that is opened again when needed. If there is no room now to make the writes of the
// log visible, or the file system does not permit them, it returns a Kept that is down. Other errors are
// as for Open.
func Keep(ctx context.Context, fsys vfs.FS, ix *index.Index, opts Options) (*Kept, error) {
	opts = opts.withDefaults()
	k := &Kept{dir: ix.Dir(), send: opts.OnError}
	k.ctx, k.stop = context.WithCancel(context.WithoutCancel(ctx))
	opts.OnError = func(err error) {
		if !k.isDown() { // else what fails is the attempt to open it, which is reported as a whole
			k.send(err)
		}
		k.failed(err)
	}
	k.opts = opts
	k.open = func(o Options) (*Store, error) { return Open(k.ctx, fsys, ix, o) }
	s, err := Open(ctx, fsys, ix, opts)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.base = commitNumber(ix)
	switch {
	case err == nil:
		k.store = s
	case refused(err):
		k.send(err)
		k.goDown(err)
	default:
		k.stop()
		return nil, err
	}
	return k, nil
}

// failed takes the store down if an error is of a failed sync, or the folder of the index is gone.
func (k *Kept) failed(err error) {
	if !errors.Is(err, wal.ErrFailed) && !errors.Is(err, index.ErrSyncFailed) && !errors.Is(err, base.ErrRemoved) {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.store != nil && !k.closed {
		k.goDown(err)
	}
}

func (k *Kept) isDown() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.store == nil
}

// goDown closes the store, if any, and opens another in the background. k.mu is held.
func (k *Kept) goDown(why error) {
	former := k.store
	k.store, k.err = nil, why
	k.reopen.Go(func() {
		if former != nil {
			_ = former.Close(context.Background()) // the log has all uncommitted records
		}
		r := reports{what: "open", send: k.send}
		for wait := minReopenWait; ; {
			select {
			case <-k.ctx.Done():
				return
			case <-time.After(wait):
			}
			began := time.Now()
			k.mu.Lock()
			opts := k.opts
			k.mu.Unlock()
			s, err := k.open(opts)
			// An attempt can copy and index much before it fails.
			wait = max(min(2*wait, maxReopenWait), min(4*time.Since(began), maxWorkWait))
			if k.ctx.Err() != nil && err != nil {
				return
			}
			if err != nil {
				r.failed(err)
			}
			k.mu.Lock()
			k.store, k.err = s, err
			if err == nil { // the options may have changed meanwhile
				k.base = commitNumber(s.ix)
				s.work.every.set(k.opts.RefreshInterval)
				if err := s.log.SetMode(k.opts.Sync, k.opts.SyncInterval); err != nil {
					r.failed(err)
				}
			}
			k.mu.Unlock()
			if err == nil {
				return
			}
		}
	})
}

// commitNumber is a number of the newest commit, up to 2^31-1. Each commit of an index has a different number. An index
// that was built anew starts from a different one.
func commitNumber(ix *index.Index) uint64 {
	s, err := ix.Snapshot()
	if err != nil { // it is closed
		return 0
	}
	defer s.Release()
	h := fnv.New32a()
	_, _ = h.Write([]byte(s.IndexID()))
	return (uint64(h.Sum32()) + s.Generation) & math.MaxInt32
}

// Base is the number of a commit from when the store was opened. It has the documents that no Store wrote: while the store
// is open, no others come.
func (k *Kept) Base() uint64 {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.base
}

// change changes the options of k, and of the store if it is not down.
func (k *Kept) change(options func(*Options), ofStore func(*Store) error) error {
	k.changing.Lock()
	defer k.changing.Unlock()
	k.mu.Lock()
	options(&k.opts)
	s, closed := k.store, k.closed
	k.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case s == nil:
		return nil
	}
	err := ofStore(s)
	k.failed(err)
	if errors.Is(err, base.ErrClosed) { // it went down meanwhile, and is opened again with the options
		return nil
	}
	return err
}

// SetRefreshInterval changes Options.RefreshInterval. A store that is down gets it when it is opened again.
func (k *Kept) SetRefreshInterval(interval time.Duration) error {
	return k.change(func(o *Options) { o.RefreshInterval = interval }, func(s *Store) error {
		s.work.every.set(interval)
		return nil
	})
}

// SetSync changes Options.Sync and SyncInterval. With wal.ModeRequest it also syncs the writes that were acknowledged
// before. A store that is down gets the options when it is opened again; then nothing is synced and the error is nil.
func (k *Kept) SetSync(mode wal.Mode, interval time.Duration) error {
	return k.change(func(o *Options) { o.Sync, o.SyncInterval = mode, interval }, func(s *Store) error {
		return s.explain(s.log.SetMode(mode, interval))
	})
}

// use calls f with the store.
func (k *Kept) use(f func(s *Store) error) error {
	k.mu.Lock()
	s, why, closed := k.store, k.err, k.closed
	k.mu.Unlock()
	switch {
	case closed:
		return errClosed
	case s == nil:
		return fmt.Errorf("index %s: %w: %w", k.dir, ErrDown, why)
	}
	err := f(s)
	k.failed(err)
	if errors.Is(err, base.ErrClosed) {
		k.mu.Lock()
		defer k.mu.Unlock()
		if why = k.err; why == nil {
			why = err
		}
		if !k.closed { // it went down meanwhile
			return fmt.Errorf("index %s: %w: %w", k.dir, ErrDown, &notClosed{why})
		}
	}
	return err
}

// notClosed hides base.ErrClosed, which is of a store that is replaced, and nothing else. It has no Unwrap, by which errors.Is
// would find ErrClosed.
type notClosed struct{ error }

func (e *notClosed) Is(target error) bool {
	return !errors.Is(target, base.ErrClosed) && errors.Is(e.error, target)
}

func (e *notClosed) As(target any) bool { return errors.As(e.error, target) }

// Apply is Store.Apply.
func (k *Kept) Apply(ctx context.Context, ops []Op) (results []Result, err error) {
	err = k.use(func(s *Store) error {
		results, err = s.Apply(ctx, ops)
		return err
	})
	return results, err
}

// AddFields is Store.AddFields.
func (k *Kept) AddFields(ctx context.Context, names ...string) error {
	return k.use(func(s *Store) error { return s.AddFields(ctx, names...) })
}

// AddMapping is Store.AddMapping.
func (k *Kept) AddMapping(ctx context.Context, m *mapping.Mapping) error {
	return k.use(func(s *Store) error { return s.AddMapping(ctx, m) })
}

// Mapping returns the fields of the index with those that are not visible yet.
func (k *Kept) Mapping() (m *mapping.Mapping, err error) {
	err = k.use(func(s *Store) error {
		m = s.schema.Load().FieldMapping()
		return nil
	})
	return m, err
}

// Get is Store.Get.
func (k *Kept) Get(id string) (doc *corpus.Document, version segment.Version, pending bool, err error) {
	err = k.use(func(s *Store) error {
		doc, version, pending, err = s.Get(id)
		return err
	})
	return doc, version, pending, err
}

// Refresh is Store.Refresh.
func (k *Kept) Refresh(ctx context.Context) error {
	return k.use(func(s *Store) error { return s.Refresh(ctx) })
}

// Flush is Store.Flush.
func (k *Kept) Flush(ctx context.Context) error {
	return k.use(func(s *Store) error { return s.Flush(ctx) })
}

// Merge is Store.Merge.
func (k *Kept) Merge(ctx context.Context, maxSegments int) error {
	return k.use(func(s *Store) error { return s.Merge(ctx, maxSegments) })
}

// Close is Store.Close. If the store is down, the error has the reason, and the log has the writes.
func (k *Kept) Close(ctx context.Context) error {
	k.mu.Lock()
	if k.closed {
		k.mu.Unlock()
		return nil
	}
	k.closed = true
	k.mu.Unlock()
	k.stop()
	k.reopen.Wait()
	k.mu.Lock()
	s, err := k.store, k.err
	k.mu.Unlock()
	if s == nil {
		return err
	}
	return s.Close(ctx)
}
