package segment

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Write merges the documents of all sources, in order and without dropped ones, into a segment
// in dir, which it creates if needed, in a folder that exists (else the error wraps fs.ErrNotExist). It reads each list once, as a stream. Memory: 64 MiB for ids, or, if
// all sources are segments, a bit a document; 4 to 8 bytes a document of a
// source with drops; a bit a document, 4 MiB and 64 MiB for columns, and half a byte a distinct
// value of one; at most 20 MiB a thread (Options.Order needs more). Lengths are read from the
// file that it has written.
//
// It writes meta last, so Open accepts only a complete and durable segment, and after an error
// removes its files as far as possible. If dir holds a segment the error wraps base.ErrExists.
// Equal sources and options give equal bytes for any Threads.
//
// The error wraps base.ErrBadInput if a source breaks its contract or a limit of the format, or
// is of ctx, the file system or a source.
//
// progress, if not nil, receives the number of tokens in merged lists, in calls that do not
// overlap.
func Write(ctx context.Context, fs vfs.FS, dir string, opts Options, sources []Source, progress func(done, total int64)) (*Meta, error) {
	maps, numDocs, err := newDocMaps(sources)
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", dir, err)
	}
	c, err := opts.validate(numDocs)
	if err != nil {
		return nil, fmt.Errorf("segment %s: %w", dir, err)
	}
	if _, err := fs.Stat(filepath.Join(dir, fileMeta)); err == nil {
		return nil, fmt.Errorf("segment %s: %w", dir, base.ErrExists)
	}
	if err := fs.Mkdir(dir); err != nil {
		return nil, fmt.Errorf("segment %s: %w", dir, err)
	}
	w := &writer{fs: fs, dir: dir, opts: opts, codec: c, sources: sources, maps: maps, numDocs: numDocs, progress: progress}
	w.meta = Meta{
		FormatVersion: FormatVersion,
		NumDocs:       numDocs,
		Codec:         opts.Codec,
		Analyzer:      opts.Analyzer,
		BM25:          opts.BM25,
		Weights:       opts.Weights,
		Positions:     opts.Positions,
		Stored:        opts.Stored,
	}
	if err := w.write(ctx); err != nil {
		w.remove()
		return nil, fmt.Errorf("segment %s: %w", dir, err)
	}
	return &w.meta, nil
}

// remove removes a failed Write's files, and the empty folder. It ignores errors: without meta
// the folder is no segment.
func (w *writer) remove() {
	_ = w.fs.Remove(filepath.Join(w.dir, fileMeta))
	for name := range versions {
		_ = w.fs.Remove(filepath.Join(w.dir, name))
	}
	_ = w.fs.Remove(w.dir)
}

type writer struct {
	fs       vfs.FS
	dir      string
	opts     Options
	codec    codec.Codec
	sources  []Source
	maps     []docMap
	numDocs  int
	progress func(done, total int64)

	lengths [][]uint32 // by field, new DocID; of a unit field shared ones
	refs    []docRef   // by new DocID; nil without Options.Order
	newID   []uint32   // by old DocID; nil without Options.Order
	orders  [][]uint32 // by source: Source.Order

	mu   sync.Mutex
	meta Meta
}

func (w *writer) write(ctx context.Context) error {
	if w.opts.Order != nil {
		w.newID = make([]uint32, w.numDocs)
		for id, old := range w.opts.Order {
			w.newID[old] = uint32(id)
		}
	}
	w.collectRefs()
	if err := w.collectOrders(); err != nil {
		return err
	}
	lengths, err := w.writeLengths()
	if err != nil {
		return err
	}
	defer lengths.Close() // it was only read
	stored, err := w.openStored()
	if err != nil {
		return err
	}
	defer func() {
		for _, r := range stored {
			_ = r.Close() // it was only read
		}
	}()

	g := newGroup(ctx, w.opts.Turns)
	g.run(w.writeColumns)
	g.run(w.writeIDs)
	g.run(w.writeOrder)
	g.run(w.writeVersions)
	if w.opts.Stored {
		g.run(func(ctx context.Context) error { return w.writeStored(ctx, stored) })
	}
	g.run(w.writeLists)
	if err := g.wait(); err != nil {
		return err
	}
	base.Sort(w.meta.Files, func(a, b FileMeta) int { return cmp.Compare(a.Name, b.Name) })
	w.opts.Turns.Take() // whoever writes has one
	err = saveMeta(w.fs, w.dir, &w.meta)
	w.opts.Turns.Give()
	if err != nil {
		return err
	}
	return w.fs.SyncDir(w.dir)
}

func (w *writer) create(name string) (*sealed.Writer, error) {
	return sealed.Create(w.fs, filepath.Join(w.dir, name), name, versions[name])
}

func (w *writer) closeFile(name string, f *sealed.Writer) error {
	if err := f.Close(); err != nil {
		return err
	}
	w.addFile(name, f)
	return nil
}

func (w *writer) addFile(name string, f *sealed.Writer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.meta.Files = append(w.meta.Files, FileMeta{Name: name, SizeBytes: f.SizeBytes(), Sum: f.Sum()})
}

func (w *writer) writeFile(name string, write func(f *sealed.Writer) error) error {
	f, err := w.create(name)
	if err != nil {
		return err
	}
	if err := write(f); err != nil {
		return abort(err, f)
	}
	return w.closeFile(name, f)
}

func (w *writer) writeLists(ctx context.Context) error {
	var files listFiles
	var terms, records *sealed.Writer
	outputs := []struct {
		name string
		file **sealed.Writer
	}{
		{filePostings, &files.postings},
		{fileFrontiers, &files.frontiers},
		{fileTerms, &terms},
		{fileRecords, &records},
		{filePositions, &files.positions},
	}
	if !w.opts.Positions {
		outputs = outputs[:len(outputs)-1]
	}
	var err error
	for _, o := range outputs {
		if *o.file, err = w.create(o.name); err != nil {
			break
		}
	}
	if err == nil {
		err = w.runPipeline(ctx, &files, newDictionaryWriter(terms, records))
	}
	for _, o := range outputs {
		switch {
		case *o.file == nil:
		case err != nil:
			err = abort(err, *o.file)
		default:
			err = w.closeFile(o.name, *o.file)
		}
	}
	return err
}

func (w *writer) runPipeline(ctx context.Context, files *listFiles, dict *dictionaryWriter) (err error) {
	threads := w.opts.Threads
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	pieces := make(chan *piece, 1)
	terms := make(chan *termBatch, 4)

	all := newGroup(ctx, w.opts.Turns)
	all.run(func(ctx context.Context) error { return w.writeDictionary(ctx, dict, terms) })
	encoders := newGroup(all.ctx, w.opts.Turns)
	for range threads {
		e := w.newEncoder(files, terms)
		encoders.run(func(ctx context.Context) error { return e.run(ctx, pieces) })
	}
	encoders.run(func(ctx context.Context) error {
		defer close(pieces)
		return w.merge(ctx, pieces)
	})
	w.opts.Turns.Wait(func() { // runPipeline has a turn, too
		if err := encoders.wait(); err != nil {
			all.cancel(err)
		}
		close(terms)
		err = all.wait()
	})
	return err
}

func (w *writer) newEncoder(files *listFiles, terms chan<- *termBatch) *encoder {
	e := &encoder{codec: w.codec, files: files, dict: terms, turns: w.opts.Turns}
	for f, lengths := range w.lengths {
		id := base.FieldID(f)
		e.fields = append(e.fields, encoderField{lengths, w.meta.Saturation(id), w.opts.positionsOf(id)})
	}
	if w.newID != nil {
		e.renumber = &renumberer{newID: w.newID}
	}
	return e
}

func (w *writer) merge(ctx context.Context, pieces chan<- *piece) error {
	written := make(chan struct{}) // by the previous piece
	close(written)
	var p *piece
	next := func() *batch { return freeBatches.Get().(*batch) }
	emit := func(b *batch, field base.FieldID, end bool) (*batch, error) {
		if p == nil {
			p = &piece{field: field, batches: make(chan *batch, 2), turn: written, done: make(chan struct{})}
			written = p.done
			if err := send(ctx, w.opts.Turns, pieces, p); err != nil {
				return nil, err
			}
		}
		if err := send(ctx, w.opts.Turns, p.batches, b); err != nil {
			return nil, err
		}
		if end {
			close(p.batches)
			p = nil
		}
		return next(), nil
	}
	m := &merger{positionsOf: w.opts.positionsOf, numFields: len(w.opts.Fields), emit: emit, turns: w.opts.Turns, batch: next()}
	return m.run(ctx, w.sources, w.maps)
}

func (w *writer) writeDictionary(ctx context.Context, dict *dictionaryWriter, batches <-chan *termBatch) error {
	var total, done int64
	for _, f := range w.meta.Fields {
		total += int64(f.TotalTokens)
	}
	for {
		t, ok, err := receive(ctx, w.opts.Turns, batches)
		switch {
		case err != nil:
			return err
		case !ok:
			return dict.finish()
		}
		field := &w.meta.Fields[t.field]
		start := 0
		for i, end := range t.ends {
			if i%64 == 0 {
				w.opts.Turns.Pass()
			}
			m := &t.metas[i]
			if err := dict.add(t.field, t.terms[start:end], m); err != nil {
				return err
			}
			start = end
			field.NumTerms++
			field.NumPostings += uint64(m.DocFreq)
			done += int64(m.CollFreq)
		}
		freeTerms.Put(t)
		if w.progress != nil {
			w.progress(min(done, total), total)
		}
	}
}
