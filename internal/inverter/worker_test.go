package inverter

import (
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Any number of bad records is allowed here, but a failed file operation is none. Each document
// is a partial index of its own.
func TestInvertFaultsAreNotBadRecords(t *testing.T) {
	t.Parallel()
	docs := invertertest.RandomDocs(60, 4, false)
	run := func(plan vfstest.Plan) (*vfstest.Faulty, *pipeline, error) {
		faulty := vfstest.NewFaulty(vfs.OS, plan)
		o := invertOptions(t, faulty)
		o.Threads, o.MaxErrors = 1, -1
		p := newPipeline(&chunkReader{docs: docs, size: 1}, o)
		p.inverterBytes = 1
		err := p.invert(t.Context())
		return faulty, p, errors.Join(err, p.partials.Close())
	}
	whole, p, err := run(vfstest.Plan{})
	if err != nil || p.partials.Len() != len(docs) || p.partials.Spilled() != len(docs) {
		t.Fatalf("%d partial indexes, %d spilled, error %v", p.partials.Len(), p.partials.Spilled(), err)
	}
	for _, operation := range whole.Operations() {
		name := operation[strings.Index(operation, " ")+1:]
		if strings.HasPrefix(operation, "sync ") || filepath.Dir(name) != p.Dir {
			t.Errorf("operation %q, want none outside of %s and no sync", operation, p.Dir)
		}
	}
	for at := 1; at <= whole.Ops(); at++ {
		for _, once := range []bool{true, false} {
			faulty, p, err := run(vfstest.Plan{FailAt: at, Once: once})
			if !errors.Is(err, vfstest.ErrInjected) || p.Counts.BadRecords.Load() != 0 {
				t.Errorf("%s fails, once: %t: error %v, %d bad records", whole.Operations()[at-1], once, err, p.Counts.BadRecords.Load())
			}
			if open := faulty.StillOpen(); len(open) > 0 {
				t.Errorf("%s fails, once: %t: %q are still open", whole.Operations()[at-1], once, open)
			}
		}
	}
}

// A chunk of bad records makes no partial index.
func TestChunkOfBadRecords(t *testing.T) {
	docs := invertertest.RandomDocs(61, 3, false)
	docs[1].Text = "bad"
	o := invertOptions(t, vfs.OS)
	o.MaxErrors = 1
	p, err := Invert(t.Context(), &chunkReader{docs: docs, size: minChunkBytes}, o)
	if err != nil {
		t.Fatal(err)
	}
	if p.Len() != 2 || p.NumDocs() != 2 {
		t.Errorf("%d partial indexes of %d documents, want 2 of 2", p.Len(), p.NumDocs())
	}
	if err := p.Close(); err != nil {
		t.Error(err)
	}
}

// All sent chunks are counted, also if the corpus ends with a chunk.
func TestCutCountsChunks(t *testing.T) {
	for size, want := range map[int64]int{minChunkBytes: 4, minChunkBytes / 2: 2, minChunkBytes / 3: 1, 1: 1} {
		p := newPipeline(&chunkReader{docs: invertertest.RandomDocs(62, 4, false), size: size}, invertOptions(t, vfs.OS))
		chunks := make(chan chunk, 10)
		count, err := p.cut(t.Context(), chunks)
		if err != nil || count != want || len(chunks) != want {
			t.Errorf("batches of %d bytes: %d chunks, %d sent, error %v, want %d", size, count, len(chunks), err, want)
		}
		for n := range len(chunks) {
			if c := <-chunks; c.number != n || len(c.batches) == 0 {
				t.Errorf("batches of %d bytes: chunk %d has number %d and %d batches", size, n, c.number, len(c.batches))
			}
		}
	}
}

// A reader that has ended is not closed again by a build that has failed.
func TestReadClosesOnce(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, reader := range map[string]*chunkReader{
		"ended":  {},
		"failed": {fail: errInjected},
		"more":   {docs: invertertest.RandomDocs(63, 2, false)},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPipeline(reader, invertOptions(t, vfs.OS))
			if p.read(ctx, make(chan fed)); reader.closed != 1 {
				t.Errorf("closed %d times", reader.closed)
			}
		})
	}
}

// A worker frees batches that it has read, and adds no document after the build has failed.
func TestWorkerStops(t *testing.T) {
	for name, fail := range map[string]error{"whole": nil, "failed": errInjected} {
		t.Run(name, func(t *testing.T) {
			docs := invertertest.RandomDocs(64, 3, false)
			reader := &chunkReader{docs: docs, size: 1}
			p := newPipeline(reader, invertOptions(t, vfs.OS))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			var batches []*corpus.Batch
			for range docs {
				b, err := reader.Next()
				if err != nil {
					t.Fatal(err)
				}
				batches = append(batches, b)
			}
			if fail != nil {
				parse := batches[1].Parse
				batches[1].Parse = func(doc func(*corpus.Document) error, bad func(*corpus.RecordError) error) error {
					cancel(fail)
					return parse(doc, bad)
				}
			}
			w := &worker{pipeline: p, caller: t.Context(), ctx: ctx, inverter: newInverter(p.Schema, analyzerOf(t, p.Schema), p.FS, &p.files)}
			err := w.invert(chunk{batches: batches})
			added, left := int64(3), 0
			if fail != nil {
				added, left = 1, 2
			}
			got := 0
			for _, b := range batches {
				if b != nil {
					got++
				}
			}
			if !errors.Is(err, fail) || p.Counts.Docs.Load() != added || got != left {
				t.Errorf("error %v, %d documents are added, %d batches left, want %d and %d", err, p.Counts.Docs.Load(), got, added, left)
			}
			if err := errors.Join(w.inverter.abort(), w.spill.finish(), p.partials.Close()); err != nil {
				t.Error(err)
			}
		})
	}
}
