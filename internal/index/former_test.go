package index

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// A commit rewrites a segment without most of its documents, and has documents of before and after a change of the
// shape: each segment counts its own.
func TestFormerBesideMostlyDead(t *testing.T) {
	for _, test := range []struct {
		name          string
		before, after int
	}{
		{"both", 2, 1},
		{"before", 1, 0},
		{"after", 0, 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			mem := vfstest.NewMem()
			ix, err := Create(mem, "ix", Options{Analyzer: "whitespace", Mapping: parsed(t, `{"properties": {"k": {"type": "keyword", "ignore_above": 3}}}`)})
			check(t, err)
			add := func(w *Writer, id string) {
				check(t, w.Add(&corpus.Document{ID: id, Text: "a", Extra: []corpus.Field{{Name: "k", Value: "long"}}}))
			}
			w := newWriter(t, ix)
			for i := range 10 {
				add(w, fmt.Sprint(i))
			}
			check(t, w.Commit(t.Context()))
			for i := range 6 {
				check(t, w.Delete(fmt.Sprint(i)))
			}
			for i := range test.before {
				add(w, fmt.Sprint("before", i))
			}
			check(t, w.AddMapping(parsed(t, `{"properties": {"k": {"type": "keyword", "ignore_above": 5}}}`)))
			for i := range test.after {
				add(w, fmt.Sprint("after", i))
			}
			check(t, w.Commit(t.Context()))
			check(t, errors.Join(w.Close(), ix.Close()))

			ix, err = Open(mem, "ix")
			check(t, err)
			defer ix.Close()
			verify(t, ix)
			s, err := ix.Snapshot()
			check(t, err)
			defer s.Release()
			if len(s.Segments) != 2 || s.Segments[0].NumDocs() != 4 || s.Segments[0].former != 4 || s.Segments[1].former != test.before {
				t.Errorf("%d segments, the first with %d of %d documents of a former shape, the last with %d", len(s.Segments), s.Segments[0].former, s.Segments[0].NumDocs(), s.Segments[len(s.Segments)-1].former)
			}
		})
	}
}

// A manifest that cannot be read does not replace one that can.
func TestSaveOfBadManifest(t *testing.T) {
	mem := vfstest.NewMem()
	check(t, mem.MkdirAll("ix"))
	_, err := testManifest(t).save(mem, "ix")
	check(t, err)
	m := testManifest(t)
	m.Segments[0].Former = m.Segments[0].NumDocs + 1
	if renamed, err := m.save(mem, "ix"); renamed || !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("renamed: %t, error %v", renamed, err)
	}
	_, err = loadManifest(mem, "ix")
	check(t, err)
}

// testdata/v5 is of a program that did not count: one commit of ten documents, and one that deletes one, changes the
// shape and adds two. All documents count as former ones; later ones do not.
func TestVersion5StaysReadable(t *testing.T) {
	dir := t.TempDir()
	check(t, os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "v5"))))
	ix, err := Open(vfs.OS, dir)
	check(t, err)
	verify(t, ix)
	w := newWriter(t, ix)
	check(t, w.Add(&corpus.Document{ID: "later", Text: "a", Extra: []corpus.Field{{Name: "k", Value: "long"}}}))
	check(t, w.Commit(t.Context()))
	check(t, errors.Join(w.Close(), ix.Close()))

	ix, err = Open(vfs.OS, dir)
	check(t, err)
	defer ix.Close()
	verify(t, ix)
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	former := 0
	for i := range s.Segments {
		former += s.Segments[i].former
	}
	if s.Options.shape() != 1 || s.NumLive != 12 || former != s.NumDocs-1 {
		t.Errorf("shape %d, %d documents of a former shape, %d of %d live", s.Options.shape(), former, s.NumLive, s.NumDocs)
	}
}
