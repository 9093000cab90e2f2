package griffin

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/living"
	"github.com/griffin-search/griffin/internal/resultcache"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an open index of Create, Open or OpenOrCreate; Close releases it. All methods are
// safe for concurrent use.
type Index struct {
	ix      *index.Index
	options Options
	runtime *Runtime
	own     bool               // the Runtime is closed with the Index
	results *resultcache.Cache // nil: answers are not kept

	// scratches holds *scratch values that no search uses, batches *dispatch.BatchScratch values.
	scratches, batches sync.Pool

	mu     sync.Mutex
	writer *index.Writer // nil: no changes since the last commit
	closed bool
}

type scratch struct {
	search   *dispatch.Scratch
	analyzer string // of search
	query    dispatch.Query
	hits     []base.Hit
	ids      []byte
	stored   segment.StoredDoc
	bitmaps  [][]uint64 // of matching documents, by segment

	former []Hit // memory for the hits

	// In a batch only.
	batch   *batch
	batched Query
	slab    []Hit
}

// Create makes a new, empty index in the folder dir. It writes nothing before the
// first Commit or IndexFiles. The error wraps ErrExists if the folder holds an
// index, and ErrBadInput if it holds other files or an option is not valid.
func Create(dir string, s Settings, o Options) (*Index, error) {
	if dir == "" {
		return nil, fmt.Errorf("create index: the name of the folder is empty: %w", ErrBadInput)
	}
	settings, err := s.options()
	if err = errors.Join(err, o.check()); err != nil {
		return nil, err
	}
	return openWith(o, func(cache *derived.Cache) (*index.Index, error) {
		return index.CreateWithCache(o.fileSystem(), dir, settings, cache)
	})
}

// Open opens the index in the folder dir. It reads the metadata and maps the files; a search
// checks each part before its first use. Open measures nothing and writes nothing. The error
// wraps ErrNotIndex if the folder holds no index.
func Open(dir string, o Options) (*Index, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	return openWith(o, func(cache *derived.Cache) (*index.Index, error) {
		ix, err := index.OpenWithCache(o.fileSystem(), dir, cache)
		if err == nil && o.BM25 != nil && ix.Options().Weighted() {
			err := fmt.Errorf("index %s stores learned weights: BM25 parameters do not apply: %w", dir, ErrBadInput)
			return nil, errors.Join(err, ix.Close())
		}
		return ix, err
	})
}

// OpenOrCreate opens the index in the folder dir, or creates it with settings s if
// there is none. An index that exists keeps its settings.
func OpenOrCreate(dir string, s Settings, o Options) (*Index, error) {
	ix, err := Open(dir, o)
	if !errors.Is(err, ErrNotIndex) {
		return ix, err
	}
	ix, err = Create(dir, s, o)
	if errors.Is(err, ErrExists) { // another process has just created it
		return Open(dir, o)
	}
	return ix, err
}

// openWith makes the first scratch, so that an unknown analyzer is an error now and not in
// every search.
func openWith(o Options, open func(cache *derived.Cache) (*index.Index, error)) (_ *Index, err error) {
	ix := &Index{options: o, runtime: o.Runtime, results: resultcache.New(o.ResultCache)}
	if ix.runtime == nil {
		ix.own = true
		if ix.runtime, err = NewRuntime(RuntimeOptions{}); err != nil {
			return nil, err
		}
	}
	if err := ix.runtime.retain(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = ix.releaseRuntime() // without a GPU there is no error
		}
	}()
	if err := o.checkEngine(ix.runtime); err != nil {
		return nil, err
	}
	if ix.ix, err = open(ix.runtime.derived); err != nil {
		return nil, err
	}
	if g := ix.runtime.dispatcher.GPU(); g != nil {
		ix.ix.SetReady(g.Ready)
	}
	sc, err := newScratch(ix.ix, ix.ix.Options().Analyzer)
	if err != nil {
		return nil, errors.Join(err, ix.ix.Close())
	}
	ix.scratches.Put(sc)
	ix.runtime.adoptCosts(ix.ix.Dir())
	return ix, nil
}

func (ix *Index) releaseRuntime() error {
	ix.runtime.release()
	if ix.own {
		return ix.runtime.Close()
	}
	return nil
}

func newScratch(ix *index.Index, analyzer string) (*scratch, error) {
	sc, err := dispatch.NewScratch(analyzer)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.Dir(), err)
	}
	return &scratch{search: sc, analyzer: analyzer}, nil
}

// scratch returns a scratch for an analyzer, which Refresh can change; the caller puts it back
// into scratches.
func (ix *Index) scratch(analyzer string) (*scratch, error) {
	if sc, ok := ix.scratches.Get().(*scratch); ok && sc.analyzer == analyzer {
		return sc, nil
	}
	return newScratch(ix.ix, analyzer)
}

// Close releases the index and its part of the Runtime. Uncommitted changes are lost. Running
// searches finish; later calls return ErrClosed.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	var err error
	if !ix.closed {
		ix.closed = true
		ix.runtime.dispatcher.GPU().Forget(ix.ix)
		err = ix.releaseRuntime()
	}
	return errors.Join(ix.endWriter(), err, ix.ix.Close())
}

// Add adds documents, which searches find after Commit, and replaces those with the same IDs.
// The first Add or Delete after Open, Commit or Rollback takes the index's write lock; the
// error wraps ErrLocked if another process holds it. If a document cannot be indexed, the error
// wraps ErrBadInput and names it; the documents before it were added.
func (ix *Index) Add(ctx context.Context, docs ...Document) error {
	return ix.write(ctx, len(docs), func(w *index.Writer, i int) error {
		return w.Add(docs[i].corpus())
	})
}

// AddFields declares further fields, after Settings.Fields, for documents that are added
// later; Commit makes them visible. Names that are declared have no effect. Documents that were added
// before are not found by a new field, even if they have a stored value for it: add them again. The
// error wraps ErrBadInput if a name is not valid, and ErrTooManyFields.
func (ix *Index) AddFields(ctx context.Context, names ...string) error {
	return ix.write(ctx, 1, func(w *index.Writer, _ int) error { return w.AddFields(names...) })
}

// Delete removes the documents with the given IDs at the next Commit. Unknown IDs
// are no error.
func (ix *Index) Delete(ctx context.Context, ids ...string) error {
	return ix.write(ctx, len(ids), func(w *index.Writer, i int) error { return w.Delete(ids[i]) })
}

func (ix *Index) write(ctx context.Context, n int, do func(w *index.Writer, i int) error) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.beginWriter(ctx); err != nil {
		return err
	}
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := do(ix.writer, i); err != nil {
			return err
		}
	}
	return nil
}

// ix.mu is held.
func (ix *Index) beginWriter(ctx context.Context) error {
	if ix.closed {
		return fmt.Errorf("index %s: %w", ix.ix.Dir(), ErrClosed)
	}
	if ix.writer != nil {
		return nil
	}
	if err := recoverLog(ctx, ix.ix); err != nil {
		return err
	}
	w, err := ix.ix.Writer(index.WriterOptions{MemoryBytes: ix.options.IndexMemory, Threads: ix.options.IndexThreads})
	if err != nil {
		return err
	}
	ix.writer = w
	return nil
}

// recoverLog commits the records in the log of an earlier Writer, before other changes.
func recoverLog(ctx context.Context, ix *index.Index) error { return living.Recover(ctx, ix.FS(), ix) }

// ix.mu is held.
func (ix *Index) endWriter() error {
	if ix.writer == nil {
		return nil
	}
	err := ix.writer.Close()
	ix.writer = nil
	return err
}

// Commit makes all changes since the last Commit durable and visible, atomically, and releases
// the write lock. It leaves out documents whose Add failed. After an error no change is visible,
// and Commit can be repeated. The first Commit of a new index creates it, even without
// documents. If another index has replaced this one at its folder, the error wraps ErrExists.
func (ix *Index) Commit(ctx context.Context) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ix.beginWriter(ctx); err != nil {
		return err
	}
	if err := ix.writer.Commit(ctx); err != nil {
		return err
	}
	return ix.endWriter()
}

// Rollback discards all changes since the last Commit and releases the write lock.
func (ix *Index) Rollback() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.endWriter()
}

// Refresh makes the commits of other processes visible and reports whether there
// were any.
func (ix *Index) Refresh() (changed bool, err error) { return ix.ix.Refresh() }

// Document returns the stored document with the given id; if the index stores no text
// (Settings.NoStored), only the ID. The error wraps ErrNotFound if there is none.
func (ix *Index) Document(ctx context.Context, id string) (_ Document, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return Document{}, err
	}
	defer snapshot.Release()
	view, local, found, err := snapshot.Lookup(id)
	if err != nil {
		return Document{}, err
	}
	if !found {
		return Document{}, notFound(id)
	}
	var stored segment.StoredDoc
	return readDocument(ctx, &snapshot.Segments[view], local, &stored)
}

func notFound(id string) error { return fmt.Errorf("document %q: %w", id, ErrNotFound) }

// Verify reads the whole index and checks every checksum and invariant. progress,
// if not nil, is called a few times a second with bytes.
func (ix *Index) Verify(ctx context.Context, progress func(done, total int64)) error {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	return snapshot.Verify(ctx, progress)
}
