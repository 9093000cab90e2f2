package segment_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

var errSource = errors.New("injected into the source")

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
		return nil, errSource
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
		l.err = errSource
		return false
	}
	return l.ListIterator.Next()
}

// ReadBlock returns no posting with its error, as at the end of the list.
func (l *failingLists) ReadBlock(b *segment.PostingBlock) error {
	if l.source.fail() {
		b.N = 0
		return errSource
	}
	return l.ListIterator.ReadBlock(b)
}

func (l *failingLists) Err() error { return errors.Join(l.err, l.ListIterator.Err()) }

// TestWriteOfFailingSource injects an error at each operation of a source. Write reports
// it and leaves no file.
func TestWriteOfFailingSource(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(12, 12)), 200, 12, 1)
	opts := options(1)
	opts.Stored = false
	whole := &segmenttest.Source{Docs: docs[:50]}
	run := func(at int) (int, error) {
		fs := vfstest.NewMem()
		src := &failingSource{&segmenttest.Source{Docs: docs[50:]}, at}
		_, err := segment.Write(context.Background(), fs, "seg", opts, []segment.Source{whole, src}, nil)
		if names := fs.Names(); err != nil && len(names) != 0 {
			t.Errorf("operation %d fails: files are left: %q", at, names)
		}
		return at - src.left, err
	}
	ops, err := run(0)
	if err != nil || ops < 20 {
		t.Fatalf("%d operations, %v", ops, err)
	}
	for at := 1; at <= ops; at++ {
		if _, err := run(at); !errors.Is(err, errSource) {
			t.Errorf("operation %d of %d fails: error %v", at, ops, err)
		}
	}
}

// TestWriteNamesTheOrder: an order of another length is reported as such.
func TestWriteNamesTheOrder(t *testing.T) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(13, 13)), 4, 5, 1)
	for n := range base.DocID(7) {
		opts := options(1)
		opts.Stored, opts.Order = false, []base.DocID{}
		for d := range n {
			opts.Order = append(opts.Order, d)
		}
		_, err := segment.Write(context.Background(), vfstest.NewMem(), "seg", opts, []segment.Source{&segmenttest.Source{Docs: docs}}, nil)
		want := fmt.Sprintf("order of %d documents for 4", n)
		if ok := int(n) == len(docs); ok && err != nil || !ok && (!errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), want)) {
			t.Errorf("order of %d documents: error %v, want ErrBadInput with %q unless it is 4", n, err, want)
		}
	}
}
