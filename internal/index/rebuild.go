package index

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// RebuildOptions are as in BuildOptions.
type RebuildOptions struct {
	MemoryBytes int64
	Threads     int
	Progress    func(Progress)
}

// CanRebuild returns an error that wraps base.ErrBadInput if Rebuild cannot work: the index has
// weights, or no stored text, or documents that were written before a change of ignore_above or copy_to. Other errors are
// of files.
func (s *Snapshot) CanRebuild() error {
	former, err := s.anyFormer()
	switch {
	case err != nil:
		return err
	case s.Options.Weighted():
		return fmt.Errorf("index %s: it has vectors, which are not stored: %w", s.index.dir, base.ErrBadInput)
	case former:
		return fmt.Errorf("index %s: ignore_above or copy_to of a field was changed, and earlier documents are indexed as they were written, until they are written again: %w", s.index.dir, base.ErrBadInput)
	case s.Options.NoStored:
		return fmt.Errorf("index %s: it stores no text: %w", s.index.dir, base.ErrBadInput)
	}
	return nil
}

// Rebuild makes a new index of the live documents, as stored, in the order in which they were
// written, with the fields that they were written with: a field that was added to the index counts
// from the first document on that has it. The folder dir is missing or empty; after an error it may hold files. Nothing is
// synced: the index need not survive a crash. Memory is as in Build. The snapshot is sound, as
// Verify checks. The error is as of CanRebuild, base.ErrCorrupt, or one of Build.
func (s *Snapshot) Rebuild(ctx context.Context, dir string, opts RebuildOptions) (err error) {
	if err := s.CanRebuild(); err != nil {
		return err
	}
	ix, err := createComplete(vfs.Volatile(s.index.fs), dir, s.Options, derived.NewCache(derived.DefaultLimit))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	stored, err := newStoredCorpus(s)
	if err != nil {
		return err
	}
	_, err = ix.Build(ctx, stored, BuildOptions{MemoryBytes: opts.MemoryBytes, Threads: opts.Threads, Progress: opts.Progress, accepted: true})
	return err
}

// written returns the n-th document of a view in the order of writing; docs are as in segment.Written.
func (v *View) written(docs []uint32, n int) (base.DocID, error) {
	if docs == nil {
		return base.DocID(n), nil
	}
	if int64(docs[n]) >= int64(v.NumDocs()) {
		return 0, fmt.Errorf("segment %s: document %d of %d in the order of writing: %w", v.Name, docs[n], v.NumDocs(), base.ErrCorrupt)
	}
	return base.DocID(docs[n]), nil
}

// eachWritten calls f for the live documents of a view among the from-th to the one before the
// to-th in the order of writing.
func (v *View) eachWritten(from, to int, f func(doc base.DocID) error) error {
	_, docs, err := v.Written()
	if err != nil {
		return err
	}
	for n := from; n < to; n++ {
		doc, err := v.written(docs, n)
		if err != nil {
			return err
		}
		if v.Live != nil && !v.Live.Has(int(doc)) {
			continue
		}
		if err := f(doc); err != nil {
			return err
		}
	}
	return nil
}

// storedCorpus reads the live documents of a snapshot in the order of writing.
type storedCorpus struct {
	s             *Snapshot
	declarations  *declarations
	segment, next int // next document of the next batch
	read          atomic.Int64
	total         int64
}

var _ corpus.Reader = (*storedCorpus)(nil)

func newStoredCorpus(s *Snapshot) (c *storedCorpus, err error) {
	c = &storedCorpus{s: s}
	if c.declarations, err = s.declarations(); err != nil {
		return nil, err
	}
	for i := range s.Segments {
		c.total += storedBytes(&s.Segments[i])
	}
	return c, nil
}

// storedBytes is the size of the compressed texts.
func storedBytes(v *View) int64 {
	for _, f := range v.Meta().Files {
		if f.Name == "stored" {
			return f.SizeBytes
		}
	}
	return 0
}

// About a megabyte of text, which is compressed to about a third.
const batchStoredBytes = 1 << 20 / 3

func (c *storedCorpus) Next() (*corpus.Batch, error) {
	for c.segment < len(c.s.Segments) && c.next == c.s.Segments[c.segment].NumDocs() {
		c.segment, c.next = c.segment+1, 0
	}
	if c.segment == len(c.s.Segments) {
		return nil, io.EOF
	}
	at, from := c.segment, c.next
	v := &c.s.Segments[at]
	bytes, docs := storedBytes(v), int64(v.NumDocs())
	n := min(max(batchStoredBytes*docs/max(bytes, 1), 1), 1<<16)
	to := min(from+int(n), v.NumDocs())
	c.next = to
	size := bytes*int64(to)/docs - bytes*int64(from)/docs
	c.read.Add(size)
	return &corpus.Batch{SizeBytes: 3 * size, Parse: func(doc func(*corpus.Document) error, _ func(*corpus.RecordError) error) error {
		return c.parse(at, from, to, doc)
	}}, nil
}

func (c *storedCorpus) parse(at, from, to int, add func(*corpus.Document) error) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	v := &c.s.Segments[at]
	numbers, _, err := v.Written()
	if err != nil {
		return err
	}
	var stored segment.StoredDoc
	return v.eachWritten(from, to, func(doc base.DocID) error {
		id, err := v.ID(doc)
		if err != nil {
			return err
		}
		if err := v.Stored(doc, &stored); err != nil {
			return err
		}
		d := &corpus.Document{ID: string(id), Title: string(stored.Title), Text: string(stored.Text), Source: corpus.Location{File: v.Dir(), Record: int64(doc) + 1, Line: 1}}
		d.Declared = c.declarations.of(writeOrder{at, number(numbers, doc)})
		for _, f := range stored.Extra {
			d.Extra = append(d.Extra, corpus.Field{Name: string(f.Name), Value: string(f.Value)})
		}
		return add(d)
	})
}

func (c *storedCorpus) Progress() (read, total int64) { return c.read.Load(), c.total }
func (c *storedCorpus) Skipped() int64                { return 0 }
func (c *storedCorpus) Summary() corpus.Summary       { return corpus.Summary{} }
func (c *storedCorpus) Close() error                  { return nil }
