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

// Writer adds and deletes documents and commits them, again and again. It holds the
// index's write lock from Index.Writer to Close. Others see its changes after Commit. All
// methods are safe for concurrent use; calls are executed one after another.
type Writer struct {
	opts WriterOptions

	mu       sync.Mutex
	session  *session // nil after Close
	schema   *inverter.Schema
	analyzer analysis.Analyzer
	batch    *inverter.Batch // nil: nothing since the last commit
}

// WriterOptions are the options of Index.Writer. The zero value has the defaults.
type WriterOptions struct {
	// MemoryBytes bounds the memory of documents that wait for a commit, as in BuildOptions.
	// Ids to delete are not counted.
	MemoryBytes int64
	// Threads is the number of goroutines of a commit; 0: one for each processor.
	Threads int
}

// Writer takes the index's write lock and returns a Writer. The error wraps
// base.ErrLocked if another process, or a Writer or Build of this one, has it.
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
	options := ix.Options()
	w := &Writer{opts: opts, session: s, schema: options.schema()}
	if w.analyzer, err = analysis.New(w.schema.Analyzer); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return w, nil
}

// Add adds a document and replaces any with the same id, added or committed. If the error wraps
// base.ErrBadInput, the document cannot be indexed, for example because a text is not UTF-8, and
// was not added. After any other error, call Rollback or Close.
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

// Delete deletes the document with the given id from the index and from the documents
// added before, if there is one.
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

// Commit makes all changes since the last commit durable and visible to new snapshots. After an
// error nothing is committed, and Commit can be called again. Exceptions: if only the folder could
// not be synced, the commit is visible despite the error; if a temporary file could not be written,
// every further Commit fails until Rollback or Close. The first commit of a new index creates it,
// even without documents; a later one without changes does nothing.
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
		ch.sources, ch.failed, ch.deletes = added.Sources(), added.Err, b.Deletes()
	}
	result, err := w.session.apply(ctx, ch)
	if err != nil && !result.changed {
		return err
	}
	return errors.Join(err, w.discard())
}

// Rollback discards all changes since the last commit.
func (w *Writer) Rollback() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	return w.discard()
}

// Close discards all changes since the last commit and releases the write lock. Calls
// after the first do nothing.
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

// begun returns the batch and creates it if necessary.
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
	w.batch = inverter.NewBatch(inverter.Options{Schema: w.schema, FS: w.session.ix.fs, Dir: dir, MemoryBytes: w.opts.MemoryBytes}, w.analyzer)
	return w.batch, nil
}

func (w *Writer) discard() error {
	b := w.batch
	if b == nil {
		return nil
	}
	w.batch = nil
	return errors.Join(b.Close(), w.session.removeTemp())
}
