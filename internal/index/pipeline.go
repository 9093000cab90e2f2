package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
)

// pipeline turns a corpus into runs: one goroutine reads and cuts the corpus
// into chunks, workers invert whole chunks, one at a time each. The runs stand
// in the order of their chunks, so that it does not matter who does which when.
type pipeline struct {
	schema *schema
	reader corpus.Reader
	opts   BuildOptions
	meter  *meter
	fs     vfs.FS // of temporary files
	files  tempNames

	chunkBytes    int64 // of raw records
	inverterBytes int64 // above this a run ends
	runs          runStore
	numSpilled    int

	mu     sync.Mutex
	byPart map[int][]*run // by chunk number
	first  *corpus.RecordError
	firstN int // number of its chunk
}

// chunk is a part of the corpus: contiguous batches.
type chunk struct {
	number  int
	batches []*corpus.Batch
}

// Bounds of a chunk. Up to the larger one, larger chunks mean fewer runs to merge.
const (
	minChunkBytes = 256 << 10
	maxChunkBytes = 64 << 20
)

func newPipeline(s *session, reader corpus.Reader, opts BuildOptions, m *meter) (*pipeline, error) {
	dir, err := s.temp()
	if err != nil {
		return nil, err
	}
	options := s.ix.Options()
	p := &pipeline{
		schema: options.schema(), reader: reader, opts: opts, meter: m,
		fs: volatileFS{s.ix.fs}, byPart: map[int][]*run{},
	}
	p.files.dir = dir
	// While reading, one chunk is being cut, one waits, and each worker has one
	// and an inverter of about three times its size. A third of the memory is for
	// that, two thirds for the runs.
	live := opts.MemoryBytes / 2
	p.chunkBytes = min(max(live/int64(3*(4*opts.Threads+2)), minChunkBytes), maxChunkBytes)
	p.inverterBytes = 8 * p.chunkBytes
	p.runs = runStore{fs: p.fs, files: &p.files, budget: live * 2 / 3}
	return p, nil
}

// invert reads the whole corpus, closes its reader, and returns its runs in
// corpus order.
func (p *pipeline) invert(ctx context.Context) ([]*run, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	chunks := make(chan chunk)
	var workers sync.WaitGroup
	for range p.opts.Threads {
		workers.Go(func() {
			if err := p.work(ctx, chunks); err != nil {
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
		return nil, p.failure(context.Cause(ctx))
	}
	var runs []*run
	for n := range count {
		runs = append(runs, p.byPart[n]...)
	}
	window := p.runs.windowBytes(p.opts.MemoryBytes/8, len(runs)*len(p.schema.fields))
	for _, r := range runs {
		r.streamBuf = window
		if r.spilled() {
			p.numSpilled++
		}
	}
	return runs, nil
}

// failure completes an error that ended the pipeline.
func (p *pipeline) failure(err error) error {
	var tooMany *TooManyErrors
	if errors.As(err, &tooMany) {
		p.mu.Lock()
		defer p.mu.Unlock()
		tooMany.First = p.first
	}
	return err
}

// fed is what read hands to cut: a batch, or the error that ended the corpus.
type fed struct {
	batch *corpus.Batch
	err   error
}

// read feeds the corpus, batch by batch, and closes its reader. It has a
// goroutine of its own, since Next may wait for input that does not come
// (standard input) while the build is cancelled; then it ends when Next does.
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

// cut hands the corpus to the workers in chunks, and returns how many.
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

// work inverts chunks until there are no more.
func (p *pipeline) work(ctx context.Context, chunks <-chan chunk) (err error) {
	analyzer, err := analysis.New(p.schema.analyzer)
	if err != nil {
		return err
	}
	w := &worker{pipeline: p, ctx: ctx, inverter: newInverter(p.schema, analyzer, p.fs, &p.files)}
	defer func() { err = errors.Join(err, w.inverter.abort(), w.spill.finish()) }()
	for c := range chunks {
		if err := w.invert(c); err != nil {
			return err
		}
	}
	return nil
}

// close closes the spill files; runs must not be used any more.
func (p *pipeline) close() error { return p.runs.close() }

// badRecord counts a bad record of a chunk; an error ends the build.
func (p *pipeline) badRecord(chunkNumber int, e *corpus.RecordError) error {
	n := p.meter.bad.Add(1)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.first == nil || chunkNumber < p.firstN {
		p.first, p.firstN = e, chunkNumber
	}
	if p.opts.OnBadRecord != nil {
		p.opts.OnBadRecord(e)
	}
	if p.opts.MaxErrors >= 0 && n > int64(p.opts.MaxErrors) {
		return &TooManyErrors{Limit: p.opts.MaxErrors, First: e}
	}
	return nil
}

// worker inverts one chunk after another.
type worker struct {
	*pipeline
	ctx      context.Context
	inverter *inverter
	layout   runWriter
	spill    spillFile
}

func (w *worker) invert(c chunk) error {
	var runs []*run
	finish := func() error {
		if w.inverter.numDocs() == 0 {
			return nil
		}
		r, err := w.finish()
		if err == nil {
			runs = append(runs, r)
		}
		return err
	}
	add := func(d *corpus.Document) error {
		if err := w.ctx.Err(); err != nil {
			return context.Cause(w.ctx)
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
		w.meter.docs.Add(1)
		return nil
	}
	bad := func(e *corpus.RecordError) error { return w.badRecord(c.number, e) }
	for i, b := range c.batches {
		if err := b.Parse(add, bad); err != nil {
			return err
		}
		w.meter.bytes.Add(b.SizeBytes)
		c.batches[i] = nil // its memory is free now
	}
	if err := finish(); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.byPart[c.number] = runs
	return nil
}

// finish makes a run of what was inverted, in memory or spilled.
func (w *worker) finish() (*run, error) {
	r, err := w.layout.finish(w.inverter)
	if err != nil {
		return nil, err
	}
	if err := w.runs.keep(r, &w.spill); err != nil {
		return nil, err
	}
	w.inverter.reset()
	return r, nil
}
