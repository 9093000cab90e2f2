package indextest

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// CopyWithoutPosting copies an index of one segment without positions to the folder to. The copy is
// sound by itself, but lacks the last posting of the first block that has several.
func CopyWithoutPosting(t testing.TB, from, to string) {
	t.Helper()
	ix, err := index.Open(vfs.OS, from)
	must(t, err)
	defer ix.Close()
	source, err := Snapshot(t, ix).Segments[0].Source(nil)
	must(t, err)
	c, err := index.Create(vfs.OS, to, ix.Options())
	must(t, err)
	_, err = c.Import(t.Context(), lossySource{source}, index.ImportOptions{})
	must(t, errors.Join(err, c.Close()))
}

type lossySource struct{ segment.Source }

func (s lossySource) Lists() (segment.ListIterator, error) {
	lists, err := s.Source.Lists()
	return &lossyLists{ListIterator: lists}, err
}

type lossyLists struct {
	segment.ListIterator
	done bool
}

func (l *lossyLists) ReadBlock(b *segment.PostingBlock) error {
	err := l.ListIterator.ReadBlock(b)
	if !l.done && b.N > 1 {
		l.done = true
		b.N--
	}
	return err
}
