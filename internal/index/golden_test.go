package index

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
)

// testdata/v1: documents of the first commit and of the second, and the id that the second
// deletes. "griffin" has more than one block, "roc" few documents.
func goldenDocs() (first, second []corpus.Document, deleted string) {
	for i := range 150 {
		d := corpus.Document{ID: fmt.Sprintf("d%03d", i), Title: fmt.Sprintf("Griffin %d", i), Text: fmt.Sprintf("A griffin, number %d of a flight.", i)}
		if i%2 == 1 {
			d.Text += " It guards gold."
		}
		if i%50 == 0 {
			d.Text = "The roc is a bird. No roc is a griffin: a roc has no lion's legs."
			d.Extra = []corpus.Field{{Name: "author", Value: "Löwe & Adler"}, {Name: "url", Value: "https://example.org/roc"}}
		}
		first = append(first, d)
	}
	first[7] = corpus.Document{ID: "empty"}
	second = []corpus.Document{
		{ID: "d050", Title: "Roc", Text: "The roc was replaced by a longer text about one roc and nothing else."},
		{ID: "late", Title: "Late", Text: "Griffin and roc meet in the second segment.", Extra: []corpus.Field{{Name: "author", Value: "Adler"}}},
	}
	return first, second, "d100"
}

var goldenOptions = Options{Positions: true, Fields: []string{inverter.TitleField, "author"}}

// The committed index has two segments, the first reordered and with deletions. "go test
// -update" rewrites it, which is right only before version 1 is released.
func TestVersion1StaysReadable(t *testing.T) {
	dir := filepath.Join("testdata", "v1")
	first, second, deleted := goldenDocs()
	if *update {
		check(t, os.RemoveAll(dir))
		ix, err := Create(vfs.OS, dir, goldenOptions)
		check(t, err)
		_, err = ix.Build(t.Context(), &memoryReader{docs: first, batch: 50}, BuildOptions{Threads: 1, Reorder: ReorderBP})
		check(t, err)
		w := newWriter(t, ix)
		addAll(t, w, second)
		check(t, w.Delete(deleted))
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
		check(t, ix.Close())
	}
	ix, err := Open(vfs.OS, dir)
	check(t, err)
	defer ix.Close()
	verify(t, ix)

	live := slices.DeleteFunc(slices.Clone(first), func(d corpus.Document) bool { return d.ID == deleted || d.ID == second[0].ID })
	live = append(live, second...)
	sameDocs(t, byID(dump(t, ix)), byID(expect(t, live, goldenOptions)))

	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	if s.Generation != 2 || len(s.Segments) != 2 || s.NumDocs != 152 || s.NumLive != 150 || s.Segments[0].Live == nil {
		t.Errorf("generation %d, %d segments, %d of %d documents live", s.Generation, len(s.Segments), s.NumLive, s.NumDocs)
	}
	for field, terms := range map[string]map[string]int{
		"":       {"griffin": 149 + 1, "roc": 3 + 2, "gold": 74, "phoenix": 0},
		"title":  {"griffin": 149, "roc": 1},
		"author": {"adler": 3 + 1, "löwe": 3},
	} {
		t.Run(field, func(t *testing.T) {
			for term, want := range terms {
				got := 0
				for i := range s.Segments {
					f, _ := s.Segments[i].FieldID(field)
					var l postings.List
					found, err := s.Segments[i].Find(f, []byte(term), &l)
					check(t, err)
					if found {
						got += int(l.DocFreq)
					}
				}
				if got != want {
					t.Errorf("field %q: term %q is in %d documents, want %d", field, term, got, want)
				}
			}
		})
	}
	for _, want := range live {
		view, doc, found, err := s.Lookup(want.ID)
		if err != nil || !found {
			t.Fatalf("%s: found %v, error %v", want.ID, found, err)
		}
		var stored segment.StoredDoc
		check(t, s.Segments[view].Stored(doc, &stored))
		if string(stored.Title) != want.Title || string(stored.Text) != want.Text || len(stored.Extra) != len(want.Extra) {
			t.Errorf("%s: stored as %q, %q, %q", want.ID, stored.Title, stored.Text, stored.Extra)
		}
		id, err := s.Segments[view].ID(doc)
		if err != nil || string(id) != want.ID {
			t.Errorf("%s: id %q, error %v", want.ID, id, err)
		}
	}
	if _, _, found, err := s.Lookup(deleted); found || err != nil {
		t.Errorf("%s: found %v, error %v, want it deleted", deleted, found, err)
	}
	if s.Segments[1].Base != base.DocID(150) {
		t.Errorf("second segment at %d", s.Segments[1].Base)
	}
}
