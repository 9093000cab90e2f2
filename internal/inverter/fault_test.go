package inverter

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter/invertertest"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// TestPartialListsStop checks that an iterator that failed stays at its end, although
// the bytes after the damage are valid.
func TestPartialListsStop(t *testing.T) {
	const (
		shared, suffix   = 0, 1
		docFreq, numBody = 1, 1
	)
	valid := []byte{shared, suffix, 'b', docFreq, numBody, 0<<1 | 1}
	for name, damaged := range map[string][]byte{
		"header":   {shared, suffix, 'a', 3, 0}, // more postings than documents
		"postings": {shared, suffix, 'a', docFreq, numBody, 2<<1 | 1},
	} {
		t.Run(name, func(t *testing.T) {
			r := &partial{
				schema: &Schema{Fields: []string{""}}, numDocs: 2,
				fields: []partialField{{numTerms: 2, lists: memoryRegion(append(damaged, valid...))}},
			}
			it := &partialLists{r: r, field: -1}
			var b segment.PostingBlock
			if it.Next() {
				if err := it.ReadBlock(&b); !errors.Is(err, base.ErrCorrupt) {
					t.Errorf("ReadBlock: %v, want ErrCorrupt", err)
				}
			}
			for range 2 {
				if it.Next() {
					t.Errorf("Next continues with term %q after an error", it.Term())
				}
				if !errors.Is(it.Err(), base.ErrCorrupt) {
					t.Errorf("Err: %v, want ErrCorrupt", it.Err())
				}
			}
			if err := it.ReadBlock(&b); !errors.Is(err, base.ErrCorrupt) || b.N != 0 {
				t.Errorf("ReadBlock after the end: %d postings, %v, want ErrCorrupt", b.N, err)
			}
		})
	}
}

var errInjected = errors.New("injected")

// failingSource fails at the call of the given number among Lists, Next and ReadBlock.
type failingSource struct {
	segment.Source
	left int
}

func (s *failingSource) fail() bool {
	s.left--
	return s.left == 0
}

func (s *failingSource) Lists() (segment.ListIterator, error) {
	if s.fail() {
		return nil, errInjected
	}
	lists, err := s.Source.Lists()
	return &failingLists{lists, s, nil}, err
}

type failingLists struct {
	segment.ListIterator
	source *failingSource
	err    error
}

func (l *failingLists) Next() bool {
	if l.source.fail() {
		l.err = errInjected
		return false
	}
	return l.ListIterator.Next()
}

func (l *failingLists) ReadBlock(b *segment.PostingBlock) error {
	if l.source.fail() {
		return errInjected
	}
	return l.ListIterator.ReadBlock(b)
}

func (l *failingLists) Err() error { return errors.Join(l.err, l.ListIterator.Err()) }

// TestForwardFaults injects an error at each operation of both passes over the lists.
func TestForwardFaults(t *testing.T) {
	src := invertAll(t, invertertest.RandomDocs(20, 100, false), testSchema(), 100, false)[0]
	counted := &failingSource{Source: src}
	if _, err := Forward(t.Context(), counted, 1<<30, 1); err != nil {
		t.Fatal(err)
	}
	for at := 1; at <= -counted.left; at++ {
		f, err := Forward(t.Context(), &failingSource{src, at}, 1<<30, 1)
		if !errors.Is(err, errInjected) || f != nil {
			t.Fatalf("operation %d of %d fails: result %v, error %v", at, -counted.left, f, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Forward(ctx, src, 1<<30, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want Canceled", err)
	}
}

// TestBatchFaults injects an error at each file operation of a batch whose partial indexes
// are spilled. Some method of the batch or of its sources returns it.
func TestBatchFaults(t *testing.T) {
	t.Run("texts", func(t *testing.T) { batchFaults(t, testSchema(), invertertest.RandomDocs(23, 30, false)) })
	t.Run("typed", func(t *testing.T) { batchFaults(t, typedSchema(t, true), randomTyped(23, 36)) })
}

func batchFaults(t *testing.T, schema *Schema, docs []corpus.Document) {
	t.Helper()
	analyzer, err := analysis.New(schema.Analyzer)
	if err != nil {
		t.Fatal(err)
	}
	schema.Stored = true
	run := func(plan vfstest.Plan) (ops int, err error) {
		fs := vfstest.NewFaulty(vfs.OS, plan)
		defer func() {
			if open := fs.StillOpen(); len(open) > 0 {
				t.Errorf("%+v: %q are still open", plan, open)
			}
		}()
		b := NewBatch(Options{Schema: schema, FS: fs, Dir: t.TempDir(), MemoryBytes: 22_000}, analyzer)
		err = readBatch(b, docs)
		return fs.Ops(), errors.Join(err, b.Close())
	}
	ops, err := run(vfstest.Plan{})
	if err != nil || ops < 20 {
		t.Fatalf("%d operations, %v", ops, err)
	}
	for _, once := range []bool{false, true} {
		for at := 1; at <= ops; at++ {
			if _, err := run(vfstest.Plan{FailAt: at, Once: once}); !errors.Is(err, vfstest.ErrInjected) {
				t.Errorf("operation %d of %d fails, once: %t: error %v", at, ops, once, err)
			}
		}
	}
}

// readBatch adds documents to a batch and reads all of its sources.
func readBatch(b *Batch, docs []corpus.Document) error {
	for i := range docs {
		if err := b.Add(&docs[i]); err != nil {
			return err
		}
	}
	b.Delete(docs[0].ID)
	b.Delete("none")
	partials, err := b.Partials()
	if err != nil {
		return err
	}
	n := 0
	for _, src := range partials.Sources() {
		for d := range src.NumDocs() {
			if string(src.ID(d)) != docs[n].ID && partials.Err() == nil {
				return fmt.Errorf("document %d has another id", n)
			}
			n++
		}
		if err := errors.Join(partials.Err(), readLists(src), readStored(src), readColumns(src)); err != nil {
			return err
		}
	}
	if n != len(docs) || partials.Spilled() < 2 {
		return fmt.Errorf("%d documents, %d spilled partial indexes", n, partials.Spilled())
	}
	return nil
}

func readColumns(src segment.Source) error {
	_, err := src.(segment.Columned).Columns()
	return err
}

func readLists(src segment.Source) error {
	lists, err := src.Lists()
	if err != nil {
		return err
	}
	var b segment.PostingBlock
	for lists.Next() {
		for b.N = 1; b.N > 0; {
			if err := lists.ReadBlock(&b); err != nil {
				return errors.Join(err, lists.Close())
			}
		}
	}
	return errors.Join(lists.Err(), lists.Close())
}

func readStored(src segment.Source) error {
	stored, err := src.Stored()
	if err != nil {
		return err
	}
	var d segment.StoredDoc
	for i := range src.NumDocs() {
		err = errors.Join(err, stored.Get(base.DocID(i), &d))
	}
	return errors.Join(err, stored.Close())
}
