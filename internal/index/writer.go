package index

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Writer adds and deletes documents and commits them, under the write lock until Close. Others
// see its changes after Commit. Methods are safe for concurrent use, one at a time.
type Writer struct {
	opts WriterOptions

	mu       sync.Mutex
	session  *session // nil after Close
	options  Options  // with the fields that were added
	analyzer analysis.Analyzer
	batch    *inverter.Batch // nil: nothing since the last commit
}

// WriterOptions are the options of Index.Writer; zero values mean defaults.
type WriterOptions struct {
	// MemoryBytes bounds documents that wait for a commit, as in BuildOptions, but not ids to
	// delete.
	MemoryBytes int64
	// Threads is the number of goroutines of a commit; 0: one per processor.
	Threads int
}

// Writer takes the write lock. The error wraps base.ErrLocked if there is another writer, in
// any process.
func (ix *Index) Writer(opts WriterOptions) (*Writer, error) {
	filled, err := BuildOptions{MemoryBytes: opts.MemoryBytes, Threads: opts.Threads}.withDefaults()
	if err != nil {
		return nil, err
	}
	opts.MemoryBytes, opts.Threads = filled.MemoryBytes, filled.Threads
	s, err := ix.begin()
	if err != nil {
		return nil, err
	}
	w := &Writer{opts: opts, session: s, options: ix.Options()}
	if w.analyzer, err = w.options.Schema().NewAnalyzer(); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return w, nil
}

// Add adds a document or replaces the one with its id. If the error wraps base.ErrBadInput, the
// document cannot be indexed, for example because of invalid UTF-8, and was not added; after
// any other, call Rollback or Close.
func (w *Writer) Add(d *corpus.Document) error {
	if err := d.CheckUTF8(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.begun()
	if err != nil {
		return err
	}
	return b.Add(d)
}

// Delete deletes the document of an id, committed or added, if any.
func (w *Writer) Delete(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.begun()
	if err != nil {
		return err
	}
	b.Delete(id)
	return nil
}

// Commit makes all changes durable and visible to new snapshots. After an error nothing is
// committed, and Commit can be repeated. Exceptions: if only the folder could not be synced,
// the commit is visible despite the error; if a temporary file could not be written, Commits
// fail until Rollback or Close. The first commit creates the index, even without documents; a
// later one without changes does nothing.
func (w *Writer) Commit(ctx context.Context) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	ch := change{failed: func() error { return nil }, threads: w.opts.Threads}
	if b := w.batch; b != nil {
		added, err := b.Partials()
		if err != nil {
			return err
		}
		ch.sources, ch.failed, ch.deletes, ch.schema = added.Sources(), added.Err, b.Deletes(), b.Schema
		ch.former = b.Former()
	}
	result, err := w.session.apply(ctx, ch)
	if err != nil && !result.changed {
		return err
	}
	return errors.Join(err, w.discard())
}

// Rollback discards uncommitted changes.
func (w *Writer) Rollback() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	return w.discard()
}

// Close discards uncommitted changes and releases the lock; further calls do nothing.
func (w *Writer) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return nil
	}
	err := errors.Join(w.discard(), w.session.end())
	w.session = nil
	return err
}

var errWriterClosed = fmt.Errorf("writer: %w", base.ErrClosed)

func (w *Writer) begun() (*inverter.Batch, error) {
	if w.session == nil {
		return nil, errWriterClosed
	}
	if w.batch != nil {
		return w.batch, nil
	}
	dir, err := w.session.temp()
	if err != nil {
		return nil, err
	}
	w.batch = inverter.NewBatch(inverter.Options{Schema: w.options.Schema(), FS: w.session.ix.fs, Dir: dir, MemoryBytes: w.opts.MemoryBytes}, w.analyzer)
	return w.batch, nil
}

func (w *Writer) discard() error {
	b := w.batch
	if b == nil {
		return nil
	}
	w.batch = nil
	w.options = w.session.ix.Options() // without fields that were rolled back
	return errors.Join(b.Close(), w.session.removeTemp())
}
