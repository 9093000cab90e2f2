package inverter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Options of Invert and NewBatch.
type Options struct {
	Schema *Schema
	// FS and Dir are for temporary files, which need not survive a crash.
	FS  vfs.FS
	Dir string
	// MemoryBytes bounds raw documents, inverters and partial indexes. Plans use half of it,
	// because the garbage collector lets memory grow to about twice the used size.
	MemoryBytes int64
	Threads     int
	// MaxErrors bad records are skipped: one more ends Invert with a *TooManyErrors. Negative:
	// any number.
	MaxErrors int
	// OnBadRecord, if set, is called for each bad record, by one goroutine at a time.
	OnBadRecord func(*corpus.RecordError)
	// Counts, if set, is updated meanwhile.
	Counts *Counts
	// Accepted: Check accepted the documents when they were written, perhaps an earlier version's. They are not checked
	// again, and a value that its field does not take today is stored and not indexed. Always so in a CrewBatch.
	Accepted bool
	// Gate is passed before each document of a CrewBatch; nil: none.
	Gate *turns.Gate
}

// Counts are inverted documents, their uncompressed bytes, and skipped bad records.
type Counts struct{ Docs, Bytes, BadRecords atomic.Int64 }

// TooManyErrors means more bad records than allowed; it wraps base.ErrBadInput.
type TooManyErrors struct {
	Limit int                 // Options.MaxErrors
	First *corpus.RecordError // the first bad record of the corpus
}

// Error names the limit and the first bad record.
func (e *TooManyErrors) Error() string {
	if e.Limit == 0 {
		return fmt.Sprintf("bad record: %v", e.First)
	}
	records := "records"
	if e.Limit == 1 {
		records = "record"
	}
	return fmt.Sprintf("more than %d bad %s, the first: %v", e.Limit, records, e.First)
}

// Unwrap returns base.ErrBadInput and the record's error.
func (e *TooManyErrors) Unwrap() []error { return []error{base.ErrBadInput, e.First} }

// pipeline: one goroutine cuts the corpus into chunks, workers invert whole chunks. Partial
// indexes are in chunk order, so it does not matter which worker gets one.
type pipeline struct {
	Options
	reader corpus.Reader
	files  tempNames

	chunkBytes    int64 // of raw records
	inverterBytes int64 // limit of a partial index
	partials      *Partials

	mu      sync.Mutex
	byChunk map[int][]*partial
	first   *corpus.RecordError
	firstN  int // chunk number of first
}

// Consecutive batches.
type chunk struct {
	number  int
	batches []*corpus.Batch
}

// Larger chunks mean fewer partial indexes to merge.
const (
	minChunkBytes = 256 << 10
	maxChunkBytes = 64 << 20
)

func newPipeline(reader corpus.Reader, o Options) *pipeline {
	o.FS = vfs.Volatile(o.FS)
	p := &pipeline{Options: o, reader: reader, byChunk: map[int][]*partial{}}
	if p.Counts == nil {
		p.Counts = new(Counts)
	}
	p.files.dir = o.Dir
	// While reading, one chunk is being cut, one waits, and each worker has one and an inverter
	// of about three times its size: a third of the memory. Partial indexes get two thirds.
	live := o.MemoryBytes / 2
	p.chunkBytes = min(max(live/int64(3*(4*o.Threads+2)), minChunkBytes), maxChunkBytes)
	p.inverterBytes = 8 * p.chunkBytes
	p.partials = &Partials{store: partialStore{fs: p.FS, files: &p.files, budget: live * 2 / 3}}
	return p
}

// Invert inverts a corpus, numbering documents in corpus order. It closes the reader, also
// after an error; if ctx ends while the reader waits for input, when that arrives. Errors:
// *TooManyErrors, and errors of the reader, the file system and ctx.
func Invert(ctx context.Context, reader corpus.Reader, o Options) (*Partials, error) {
	p := newPipeline(reader, o)
	if err := p.invert(ctx); err != nil {
		return nil, errors.Join(err, p.partials.Close())
	}
	return p.partials, nil
}

func (p *pipeline) invert(ctx context.Context) error {
	caller := ctx
	ctx, cancel := context.WithCancelCause(caller)
	defer cancel(nil)
	chunks := make(chan chunk)
	var workers sync.WaitGroup
	for range p.Threads {
		workers.Go(func() {
			if err := p.work(caller, ctx, chunks); err != nil {
				cancel(err)
			}
		})
	}
	count, err := p.cut(ctx, chunks)
	close(chunks)
	if err != nil {
		cancel(err)
	}
	workers.Wait()
	if ctx.Err() != nil {
		return p.failure(context.Cause(ctx))
	}
	for n := range count {
		p.partials.list = append(p.partials.list, p.byChunk[n]...)
	}
	p.partials.setWindows(p.MemoryBytes / 8)
	return nil
}

func (p *pipeline) failure(err error) error {
	var tooMany *TooManyErrors
	if errors.As(err, &tooMany) {
		p.mu.Lock()
		defer p.mu.Unlock()
		tooMany.First = p.first
	}
	return err
}

// From read to cut: a batch, or the error that ended the corpus.
type fed struct {
	batch *corpus.Batch
	err   error
}

// read sends batches to feed, and closes the reader. It has its own goroutine, because Next can
// block on standard input while the build is cancelled; it then ends when Next returns.
func (p *pipeline) read(ctx context.Context, feed chan<- fed) {
	for {
		batch, err := p.reader.Next()
		if errors.Is(err, io.EOF) {
			if closeErr := p.reader.Close(); closeErr != nil {
				err = closeErr
			}
		} else if err != nil {
			err = errors.Join(err, p.reader.Close())
		}
		select {
		case feed <- fed{batch, err}:
			if err != nil {
				return
			}
		case <-ctx.Done():
			if err == nil {
				_ = p.reader.Close() // the build has failed already
			}
			return
		}
	}
}

// cut returns the number of chunks.
func (p *pipeline) cut(ctx context.Context, chunks chan<- chunk) (count int, err error) {
	feed := make(chan fed)
	go p.read(ctx, feed)
	var c chunk
	size := int64(0)
	send := func() error {
		if len(c.batches) == 0 {
			return nil
		}
		select {
		case chunks <- c:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		c, size = chunk{number: c.number + 1}, 0
		return nil
	}
	for {
		select {
		case next := <-feed:
			if errors.Is(next.err, io.EOF) {
				err := send()
				return c.number, err
			}
			if next.err != nil {
				return 0, fmt.Errorf("read corpus: %w", next.err)
			}
			c.batches = append(c.batches, next.batch)
			size += next.batch.SizeBytes
		case <-ctx.Done():
			return 0, context.Cause(ctx)
		}
		if size >= p.chunkBytes {
			if err := send(); err != nil {
				return 0, err
			}
		}
	}
}

// work inverts chunks until ctx, which derives from caller, ends.
func (p *pipeline) work(caller, ctx context.Context, chunks <-chan chunk) (err error) {
	analyzer, err := p.Schema.NewAnalyzer()
	if err != nil {
		return err
	}
	w := &worker{pipeline: p, caller: caller, ctx: ctx, inverter: newInverter(p.Schema, analyzer, p.FS, &p.files)}
	w.inverter.accepted = p.Accepted
	defer func() { err = errors.Join(err, w.inverter.abort(), w.spill.finish()) }()
	for c := range chunks {
		if err := w.invert(c); err != nil {
			return err
		}
	}
	return nil
}

// An error ends the build.
func (p *pipeline) badRecord(chunkNumber int, e *corpus.RecordError) error {
	n := p.Counts.BadRecords.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil || chunkNumber < p.firstN {
		p.first, p.firstN = e, chunkNumber
	}
	if p.OnBadRecord != nil {
		p.OnBadRecord(e)
	}
	if p.MaxErrors >= 0 && n > int64(p.MaxErrors) {
		return &TooManyErrors{Limit: p.MaxErrors, First: e}
	}
	return nil
}

type worker struct {
	*pipeline
	caller   context.Context // of ctx
	ctx      context.Context
	inverter *inverter
	layout   partialWriter
	spill    spillFile
}

func (w *worker) invert(c chunk) error {
	var made []*partial
	finish := func() error {
		if w.inverter.numDocs() == 0 {
			return nil
		}
		r, err := w.finish()
		if err == nil {
			made = append(made, r)
		}
		return err
	}
	add := func(d *corpus.Document) error {
		if err := w.ended(c.number); err != nil {
			return err
		}
		if w.inverter.full() || w.inverter.usedBytes() > w.inverterBytes {
			if err := finish(); err != nil {
				return err
			}
		}
		if err := w.inverter.add(d); err != nil {
			if errors.Is(err, base.ErrBadInput) {
				return w.badRecord(c.number, &corpus.RecordError{Location: d.Source, Err: err})
			}
			return err
		}
		w.Counts.Docs.Add(1)
		return nil
	}
	bad := func(e *corpus.RecordError) error { return w.badRecord(c.number, e) }
	for i, b := range c.batches {
		if err := b.Parse(add, bad); err != nil {
			return err
		}
		w.Counts.Bytes.Add(b.SizeBytes)
		c.batches[i] = nil // frees its memory
	}
	if err := finish(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byChunk[c.number] = made
	return nil
}

// ended returns the error that ended the build, if there is one. After too many bad records, workers still read the
// chunks before the first known bad record, because these may have an earlier one. Workers get chunks in order, so they
// have all of these.
func (w *worker) ended(chunkNumber int) error {
	if w.ctx.Err() == nil {
		return nil
	}
	err := context.Cause(w.ctx)
	var tooMany *TooManyErrors
	if w.caller.Err() != nil || !errors.As(err, &tooMany) {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if chunkNumber < w.firstN {
		return nil
	}
	return err
}

// In memory or spilled.
func (w *worker) finish() (*partial, error) {
	r, err := w.layout.finish(w.inverter)
	if err != nil {
		return nil, err
	}
	if err := w.partials.store.keep(r, &w.spill); err != nil {
		return nil, err
	}
	w.inverter.reset()
	return r, nil
}
