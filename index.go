package griffin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Index is an index in a folder, made by Create or Open and given back with
// Close. All methods may be called by any number of goroutines at the same time.
type Index struct {
	ix         *index.Index
	cfg        config
	dispatcher *exec.Dispatcher
	measured   atomic.Bool // the times of searches, on this machine

	results *exec.ResultCache // nil: answers are not kept
	// reading has room for the searches that may read documents at the same time; nil: any
	// number may.
	reading chan struct{}

	// scratches holds *scratch values that no search uses.
	scratches sync.Pool

	mu     sync.Mutex
	writer *index.Writer // nil: nothing was added or deleted since the last commit
	closed bool
}

// scratch is the memory of one search.
type scratch struct {
	exec   *exec.Scratch
	plan   exec.Plan
	hits   []base.Hit
	stored segment.StoredDoc
}

// Create makes a new, empty index in the folder dir. Nothing is written before
// the first Commit or IndexFiles. ErrExists if there is an index in the folder,
// ErrBadInput if there are other files in it or an option cannot be used.
func Create(dir string, opts ...Option) (*Index, error) {
	if dir == "" {
		return nil, fmt.Errorf("create index: no folder is named: %w", ErrBadInput)
	}
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	made := index.Options{
		Analyzer: cfg.analyzer, Codec: cfg.codec, Positions: cfg.positions, NoStored: cfg.withoutStored, Fields: cfg.fields,
		WeightScale: cfg.weightScale,
	}
	if cfg.bm25 != nil {
		made.BM25 = *cfg.bm25
	}
	ix, err := index.Create(vfs.OS, dir, made)
	if err != nil {
		return nil, err
	}
	return newIndex(ix, cfg)
}

// Open opens the index in the folder dir. It reads next to nothing: files are
// mapped, and checked where a search touches them first. ErrNotIndex if there
// is no index in the folder.
func Open(dir string, opts ...Option) (*Index, error) {
	cfg, err := newConfig(opts)
	if err != nil {
		return nil, err
	}
	ix, err := index.Open(vfs.OS, dir)
	if err != nil {
		return nil, err
	}
	if cfg.bm25 != nil && ix.Options().Weighted() {
		err := fmt.Errorf("index %s is one of weights, in whose scores BM25 plays no part: %w", dir, ErrBadInput)
		return nil, errors.Join(err, ix.Close())
	}
	return newIndex(ix, cfg)
}

// newIndex makes the first scratch, so that an analyzer which this program
// does not have is an error now and not in every search.
func newIndex(ix *index.Index, cfg config) (*Index, error) {
	ix.SetCache(cfg.cacheBytes)
	g := &Index{ix: ix, cfg: cfg, results: exec.NewResultCache(cfg.resultBytes)}
	if cfg.dispatch.Admit {
		g.reading = make(chan struct{}, cmp.Or(cfg.dispatch.CPUs, runtime.GOMAXPROCS(0)))
	}
	sc, err := g.newScratch()
	if err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	g.scratches.Put(sc)
	if err := g.openDispatcher(); err != nil {
		return nil, errors.Join(err, ix.Close())
	}
	return g, nil
}

func (ix *Index) newScratch() (*scratch, error) {
	sc, err := exec.NewScratch(ix.ix.Options().Analyzer)
	if err != nil {
		return nil, fmt.Errorf("index %s: %w", ix.ix.Dir(), err)
	}
	return &scratch{exec: sc}, nil
}

// scratch takes a scratch, to be put back into scratches.
func (ix *Index) scratch() (*scratch, error) {
	if sc, ok := ix.scratches.Get().(*scratch); ok {
		return sc, nil
	}
	return ix.newScratch()
}

// Close releases the index. What was not committed is lost. Searches that run
// are let end; later calls return ErrClosed.
func (ix *Index) Close() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if !ix.closed {
		ix.saveCosts()
	}
	ix.closed = true
	return errors.Join(ix.endWriter(), ix.dispatcher.Close(), ix.ix.Close())
}

// Add adds documents, replacing those with the same IDs. They are seen by
// searches after Commit. The first Add or Delete after Open, Commit or
// Rollback takes the index's write lock: ErrLocked if another process has it.
// If a document cannot be indexed the error is ErrBadInput and names it; those
// before it were added.
func (ix *Index) Add(ctx context.Context, docs ...Document) error {
	return ix.write(ctx, len(docs), func(w *index.Writer, i int) error {
		d := corpus.Document{ID: docs[i].ID, Title: docs[i].Title, Text: docs[i].Text, Vector: docs[i].vector()}
		for _, f := range docs[i].Fields {
			d.Extra = append(d.Extra, corpus.Field(f))
		}
		return w.Add(&d)
	})
}

// Delete removes the documents with the given IDs, as of the next Commit. IDs
// that the index does not have are no error.
func (ix *Index) Delete(ctx context.Context, ids ...string) error {
	return ix.write(ctx, len(ids), func(w *index.Writer, i int) error { return w.Delete(ids[i]) })
}

// write calls do for 0 to n-1 with the writer, which it makes if there is none.
func (ix *Index) write(ctx context.Context, n int, do func(w *index.Writer, i int) error) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ix.beginWriter(); err != nil {
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

// beginWriter makes a writer if there is none. ix.mu is held.
func (ix *Index) beginWriter() error {
	if ix.closed {
		return fmt.Errorf("index %s: %w", ix.ix.Dir(), ErrClosed)
	}
	if ix.writer != nil {
		return nil
	}
	w, err := ix.ix.Writer(index.WriterOptions{MemoryBytes: ix.cfg.memoryBytes, Threads: ix.cfg.threads})
	if err != nil {
		return err
	}
	ix.writer = w
	return nil
}

// endWriter closes the writer, if there is one. ix.mu is held.
func (ix *Index) endWriter() error {
	if ix.writer == nil {
		return nil
	}
	err := ix.writer.Close()
	ix.writer = nil
	return err
}

// Commit makes everything since the last Commit durable and visible, all of it
// or, if it returns an error, nothing: then it can be tried again. It gives the
// write lock back. The first Commit of a new index makes it, even if it is empty.
func (ix *Index) Commit(ctx context.Context) error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := ix.beginWriter(); err != nil {
		return err
	}
	if err := ix.writer.Commit(ctx); err != nil {
		return err
	}
	return ix.endWriter()
}

// Rollback forgets everything since the last Commit and gives the write lock back.
func (ix *Index) Rollback() error {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	return ix.endWriter()
}

// Refresh makes visible what other processes committed, and tells whether
// there was anything.
func (ix *Index) Refresh() (changed bool, err error) { return ix.ix.Refresh() }

// Document returns the stored document with the given id; of an index
// WithoutStored, only the ID. found is false if the index has none.
func (ix *Index) Document(ctx context.Context, id string) (doc Document, found bool, err error) {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return Document{}, false, err
	}
	defer snapshot.Release()
	view, local, found, err := snapshot.Lookup(id)
	if err != nil || !found {
		return Document{}, false, err
	}
	var stored segment.StoredDoc
	doc, err = readDocument(ctx, &snapshot.Segments[view], local, &stored)
	return doc, err == nil, err
}

// Verify reads every byte of the index and checks every checksum and
// invariant. progress, if not nil, is called now and then with bytes.
func (ix *Index) Verify(ctx context.Context, progress func(done, total int64)) error {
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	return snapshot.Verify(ctx, progress)
}
