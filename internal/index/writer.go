package index

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"sort"
	"sync"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
)

// Writer adds and deletes documents and commits them, again and again. It holds
// the index's write lock from Index.Writer to Close. What it did is not seen
// by anyone until Commit. All methods are safe for concurrent use; calls are
// done one after another.
type Writer struct {
	opts WriterOptions

	mu       sync.Mutex
	session  *session // nil after Close
	schema   *schema
	analyzer analysis.Analyzer
	batch    *writerBatch // nil: nothing since the last commit
}

// WriterOptions are the options of Index.Writer. The zero value has the defaults.
type WriterOptions struct {
	// MemoryBytes bounds what waits for a commit in memory, as in BuildOptions.
	// Ids to be deleted are not counted.
	MemoryBytes int64
	// Threads is how many goroutines a commit uses; 0: one a processor.
	Threads int
}

// writerBatch is what is to be committed.
type writerBatch struct {
	files    tempNames
	inverter *inverter
	layout   runWriter
	store    runStore
	spill    spillFile
	runs     []*run
	// deletes has, for each id to delete, the place in the batch: documents
	// before it are deleted, those added later are not.
	deletes map[string]docRef
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
	if w.analyzer, err = analysis.New(w.schema.analyzer); err != nil {
		return nil, errors.Join(err, s.end())
	}
	return w, nil
}

// Add adds a document, in place of any with the same id that was added before or
// is in the index. The error wraps base.ErrBadInput if the document cannot be
// indexed; it was not added then. After any other error, Rollback or Close.
func (w *Writer) Add(d *corpus.Document) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.begun()
	if err != nil {
		return err
	}
	if b.inverter.full() || b.inverter.usedBytes() > w.opts.MemoryBytes/2/3 {
		if err := b.finishRun(); err != nil {
			return err
		}
	}
	return b.inverter.add(d)
}

// Delete deletes the document with the given id, if there is one in the index
// or among those added so far.
func (w *Writer) Delete(id string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	b, err := w.begun()
	if err != nil {
		return err
	}
	b.deletes[id] = makeRef(len(b.runs), uint32(b.inverter.numDocs()))
	return nil
}

// Commit makes everything since the last commit durable and visible to new
// snapshots: all of it or, if it returns an error, nothing; then it is kept, so
// that Commit can be tried again. (If only the folder could not be synced, the
// error says so and the commit is visible. If a temporary file could not be
// written, every further Commit fails: what is left is Rollback or Close.) The
// first commit of a new index makes it, even if it is empty; a later one
// without changes does nothing.
func (w *Writer) Commit(ctx context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	ch := change{failed: func() error { return nil }, threads: w.opts.Threads}
	if b := w.batch; b != nil {
		if err := b.prepare(); err != nil {
			return err
		}
		ch.sources = runSources(b.runs)
		ch.failed = func() error { return runError(b.runs) }
		ch.deletes = make(map[string]struct{}, len(b.deletes))
		for id := range b.deletes {
			ch.deletes[id] = struct{}{}
		}
	}
	result, err := w.session.apply(ctx, ch)
	if err != nil && !result.changed {
		return err
	}
	return errors.Join(err, w.discard())
}

// Rollback forgets everything since the last commit.
func (w *Writer) Rollback() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.session == nil {
		return errWriterClosed
	}
	return w.discard()
}

// Close forgets everything since the last commit and gives the write lock
// back. Calls after the first do nothing.
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

// begun returns the batch, a new one if there is none.
func (w *Writer) begun() (*writerBatch, error) {
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
	fs := volatileFS{w.session.ix.fs}
	b := &writerBatch{files: tempNames{dir: dir}, deletes: map[string]docRef{}}
	b.inverter = newInverter(w.schema, w.analyzer, fs, &b.files)
	b.store = runStore{fs: fs, files: &b.files, budget: w.opts.MemoryBytes / 2 * 2 / 3}
	w.batch = b
	return b, nil
}

// discard forgets the batch and its files.
func (w *Writer) discard() error {
	b := w.batch
	if b == nil {
		return nil
	}
	w.batch = nil
	return errors.Join(b.inverter.abort(), b.store.close(), w.session.removeTemp())
}

// finishRun makes a run of what is in the inverter.
func (b *writerBatch) finishRun() error {
	if b.inverter.numDocs() == 0 {
		return nil
	}
	r, err := b.layout.finish(b.inverter)
	if err == nil {
		err = b.store.keep(r, &b.spill)
	}
	if err != nil {
		return err
	}
	b.runs = append(b.runs, r)
	b.inverter.reset()
	return nil
}

// prepare makes runs of all documents and drops those that are superseded or
// deleted by what came later.
func (b *writerBatch) prepare() error {
	if err := errors.Join(b.finishRun(), b.spill.finish()); err != nil {
		return err
	}
	const mergeBytes = 32 << 20
	for _, r := range b.runs {
		r.streamBuf = b.store.windowBytes(mergeBytes, len(b.runs)*len(r.fields))
	}
	if _, err := dropDuplicates(b.runs); err != nil {
		return err
	}
	for id, before := range b.deletes {
		for i, r := range b.runs {
			doc, found, err := r.find(id)
			if err != nil {
				return err
			}
			if found && makeRef(i, doc) < before {
				r.drop(int(doc))
			}
		}
	}
	return nil
}

// find returns the last document of a run with the given id.
func (r *run) find(id string) (doc uint32, found bool, err error) {
	hash := hashID([]byte(id))
	entry := func(i int) (idHash, error) {
		b, err := r.hashes.part(int64(i)*idHashBytes, idHashBytes)
		if err != nil {
			return idHash{}, err
		}
		return idHash{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:])}, nil
	}
	first := sort.Search(r.numDocs, func(i int) bool {
		e, entryErr := entry(i)
		err = errors.Join(err, entryErr)
		return e.hash >= hash
	})
	for i := first; i < r.numDocs && err == nil; i++ {
		var e idHash
		if e, err = entry(i); err != nil || e.hash != hash {
			break
		}
		var other string
		if other, err = r.readID(e.doc); err == nil && other == id {
			doc, found = e.doc, true
		}
	}
	return doc, found, err
}
