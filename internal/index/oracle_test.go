package index

import (
	"io"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/segment"
)

type indexedDoc = invertertest.Doc

var (
	dumpSource = invertertest.DumpSource
	sameDocs   = invertertest.SameDocs
	byID       = invertertest.ByID
	randomDocs = invertertest.RandomDocs
)

func expect(t testing.TB, docs []corpus.Document, opts Options) []indexedDoc {
	t.Helper()
	opts, err := opts.withDefaults()
	if err != nil {
		t.Fatal(err)
	}
	return invertertest.Expect(t, docs, invertertest.Options{Analyzer: opts.Analyzer, Fields: opts.Fields, Positions: opts.Positions, NoStored: opts.NoStored})
}

func dump(t testing.TB, ix *Index) []indexedDoc {
	t.Helper()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	defer s.Release()
	out := []indexedDoc{}
	for i := range s.Segments {
		docs := dumpSegment(t, s.Segments[i].Segment, len(s.Fields))
		for doc := range docs {
			if live := s.Segments[i].Live; live == nil || live.Has(doc) {
				out = append(out, docs[doc])
			}
		}
	}
	if len(out) != s.NumLive {
		t.Errorf("%d live documents, want %d as in the snapshot", len(out), s.NumLive)
	}
	return out
}

func dumpSegment(t testing.TB, seg *segment.Segment, numFields int) []indexedDoc {
	t.Helper()
	src, err := seg.Source(nil)
	if err != nil {
		t.Fatal(err)
	}
	docs := dumpSource(t, src, numFields, seg.Meta().Positions)
	if !seg.HasStored() {
		return docs
	}
	var stored segment.StoredDoc
	for doc := range docs {
		if err := seg.Stored(base.DocID(doc), &stored); err != nil {
			t.Fatal(err)
		}
		docs[doc].Title, docs[doc].Text = string(stored.Title), string(stored.Text)
		for _, e := range stored.Extra {
			docs[doc].Extra = append(docs[doc].Extra, corpus.Field{Name: string(e.Name), Value: string(e.Value)})
		}
	}
	return docs
}

type memoryReader struct {
	docs   []corpus.Document
	bad    map[int]error // instead of the document with this index
	batch  int           // documents per batch
	at     int
	fail   error // of Next, after the last document
	next   func(at int)
	closed chan struct{}
}

var _ corpus.Reader = (*memoryReader)(nil)

func (r *memoryReader) Next() (*corpus.Batch, error) {
	if r.next != nil {
		r.next(r.at)
	}
	if r.at >= len(r.docs) {
		if r.fail != nil {
			return nil, r.fail
		}
		return nil, io.EOF
	}
	first, end := r.at, min(r.at+r.batch, len(r.docs))
	r.at = end
	size := 0
	for i := first; i < end; i++ {
		size += len(r.docs[i].Title) + len(r.docs[i].Text) + 50
	}
	return &corpus.Batch{SizeBytes: int64(size), Parse: func(doc func(*corpus.Document) error, bad func(*corpus.RecordError) error) error {
		for i := first; i < end; i++ {
			var err error
			if e := r.bad[i]; e != nil {
				err = bad(&corpus.RecordError{Location: r.docs[i].Source, Err: e})
			} else {
				d := r.docs[i]
				err = doc(&d)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}}, nil
}

func (r *memoryReader) Progress() (read, total int64) { return 0, 0 }
func (r *memoryReader) Skipped() int64                { return 0 }
func (r *memoryReader) Summary() corpus.Summary       { return corpus.Summary{} }

func (r *memoryReader) Close() error {
	if r.closed != nil {
		close(r.closed)
	}
	return nil
}
