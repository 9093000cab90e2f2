package index

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/inverter"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

type model struct {
	committed, pending []corpus.Document
}

func (m *model) add(d corpus.Document) {
	m.delete(d.ID)
	m.pending = append(slices.Clone(m.pending), d)
}

func (m *model) delete(id string) {
	m.pending = slices.DeleteFunc(slices.Clone(m.pending), func(d corpus.Document) bool { return d.ID == id })
}

func newWriter(t testing.TB, ix *Index) *Writer {
	t.Helper()
	w, err := ix.Writer(WriterOptions{Threads: 2})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func create(t testing.TB, fsys vfs.FS, opts Options) *Index {
	t.Helper()
	ix, err := Create(fsys, filepath.Join(t.TempDir(), "index"), opts)
	if err != nil {
		t.Fatal(err)
	}
	return ix
}

// Random operations and reopening, compared after each commit.
func TestWriterAgainstModel(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 20))
		docs := randomDocs(seed, 400, true)
		mem := vfstest.NewMem()
		ix := create(t, mem, Options{Positions: seed == 1})
		w := newWriter(t, ix)
		var m model
		for range 60 {
			for range rng.IntN(25) {
				d := docs[rng.IntN(len(docs))]
				if rng.IntN(4) == 0 {
					m.delete(d.ID)
					check(t, w.Delete(d.ID))
				} else {
					m.add(d)
					check(t, w.Add(&d))
				}
			}
			switch rng.IntN(8) {
			case 0:
				m.pending = m.committed
				check(t, w.Rollback())
			case 1:
				m.pending = m.committed
				check(t, w.Close())
				check(t, ix.Close())
				var err error
				if ix, err = Open(mem, ix.Dir()); errors.Is(err, base.ErrNotIndex) && len(m.committed) == 0 {
					ix, err = Create(mem, ix2dir(t), Options{Positions: seed == 1})
				}
				check(t, err)
				w = newWriter(t, ix)
			default:
				m.committed = m.pending
				check(t, w.Commit(t.Context()))
				checkClean(t, mem, ix.Dir())
			}
			got := dump(t, ix)
			// Replaced documents move to the end; merges keep the order.
			sameDocs(t, got, expect(t, m.committed, ix.Options()))
		}
		verify(t, ix)
		check(t, w.Close())
		check(t, ix.Close())
	}
}

func ix2dir(t testing.TB) string { return filepath.Join(t.TempDir(), "index") }

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// Commits and merges do not change the content.
func TestSegmentsDoNotMatter(t *testing.T) {
	docs := randomDocs(21, 300, false)
	want := expect(t, docs, Options{Positions: true})
	for _, commits := range []int{1, 6, 10, 12, 50, 100} {
		ix := create(t, vfstest.NewMem(), Options{Positions: true})
		w := newWriter(t, ix)
		for i := range docs {
			check(t, w.Add(&docs[i]))
			if (i+1)%(len(docs)/commits) == 0 {
				check(t, w.Commit(t.Context()))
			}
		}
		check(t, w.Commit(t.Context()))
		s, err := ix.Snapshot()
		check(t, err)
		if n := len(s.Segments); n > maxSimilarSegments || (commits < 10 && n != commits) {
			t.Errorf("%d commits left %d segments", commits, n)
		}
		if got := s.Fields[0].NumDocs; got != uint64(len(docs)) {
			t.Errorf("field statistics count %d documents, want %d", got, len(docs))
		}
		s.Release()
		sameDocs(t, dump(t, ix), want)
		verify(t, ix)
		check(t, w.Close())
		check(t, ix.Close())
	}
}

func TestMergeFrom(t *testing.T) {
	repeat := func(n, size int) (sizes []int) { return slices.Repeat([]int{size}, n) }
	for _, c := range []struct {
		sizes []int
		added int
		want  int
	}{
		{nil, 5, 0},
		{repeat(9, 5), 5, 9},
		{repeat(10, 5), 5, 0},
		{repeat(10, 5), 5000, 0},
		{append(repeat(9, 5000), repeat(10, 5)...), 5, 9},
		{append(repeat(10, 5000), repeat(10, 5)...), 4000, 0},
		{append(repeat(9, 5000), repeat(10, 5)...), 40, 9},
		{append(repeat(9, 5000), repeat(10, 500)...), 100_000, 0},
		{append(repeat(9, 5000), repeat(10, 500)...), 10_000, 9},
		{append(repeat(10, 5000), repeat(10, 500)...), 700, 0},
		{append(repeat(10, 5000), repeat(3, 500)...), 5000, 0},
		{append([]int{1_000_000}, repeat(10, 5)...), 5, 1},
		{append(repeat(9, 5), 1_000_000), 5, 10},
	} {
		if got := mergeFrom(c.sizes, c.added); got != c.want {
			t.Errorf("mergeFrom(%v, %d) = %d, want %d", c.sizes, c.added, got, c.want)
		}
	}
}

func TestMergeBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(22, 22))
	var sizes []int
	written, added := 0, 0
	for range 20_000 {
		n := 1 + rng.IntN(1<<rng.IntN(12))
		from := mergeFrom(sizes, n)
		total := n
		for _, s := range sizes[from:] {
			total += s
		}
		sizes = append(sizes[:from], total)
		written, added = written+total, added+n
		if len(sizes) > 60 {
			t.Fatalf("%d segments: %v", len(sizes), sizes)
		}
	}
	if written > 8*added {
		t.Errorf("a document was written %.1f times on average", float64(written)/float64(added))
	}
}

// Mostly deleted segments are rewritten, empty ones removed.
func TestDeletedSegmentsShrink(t *testing.T) {
	docs := randomDocs(23, 300, false)
	ix := create(t, vfs.OS, Options{})
	defer ix.Close()
	w := newWriter(t, ix)
	defer w.Close()
	for i := range docs {
		check(t, w.Add(&docs[i]))
		if i%100 == 99 {
			check(t, w.Commit(t.Context()))
		}
	}
	for _, c := range []struct{ until, numDocs, segments int }{{40, 300, 3}, {60, 240, 3}, {100, 200, 2}, {300, 0, 0}} {
		for i := range c.until {
			check(t, w.Delete(docs[i].ID))
		}
		check(t, w.Commit(t.Context()))
		s, err := ix.Snapshot()
		check(t, err)
		if s.NumDocs != c.numDocs || len(s.Segments) != c.segments || s.NumLive != 300-c.until {
			t.Errorf("%d deleted: %d documents, %d live, in %d segments", c.until, s.NumDocs, s.NumLive, len(s.Segments))
		}
		s.Release()
		checkClean(t, vfs.OS, ix.Dir())
		sameDocs(t, dump(t, ix), expect(t, docs[c.until:], Options{}))
	}
}

func TestCommitWithoutChanges(t *testing.T) {
	ix := create(t, vfs.OS, Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context())) // creates the empty index
	check(t, w.Delete("nobody"))
	check(t, w.Commit(t.Context()))
	check(t, w.Commit(t.Context()))
	s, err := ix.Snapshot()
	check(t, err)
	if s.Generation != 1 {
		t.Errorf("generation %d after one commit that changed something", s.Generation)
	}
	s.Release()
	check(t, w.Close())
	check(t, ix.Close())
	if ix, err = Open(vfs.OS, ix.Dir()); err != nil {
		t.Fatal(err)
	}
	check(t, ix.Close())
}

func TestTwoWriters(t *testing.T) {
	ix := create(t, vfs.OS, Options{})
	defer ix.Close()
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	other, err := Open(vfs.OS, ix.Dir())
	check(t, err)
	defer other.Close()
	for _, x := range []*Index{ix, other} {
		if _, err := x.Writer(WriterOptions{}); !errors.Is(err, base.ErrLocked) {
			t.Errorf("second writer: error %v, want ErrLocked", err)
		}
		if _, err := x.Build(t.Context(), &memoryReader{batch: 1}, BuildOptions{}); !errors.Is(err, base.ErrLocked) {
			t.Errorf("build beside a writer: error %v, want ErrLocked", err)
		}
	}
	// The next writer starts from another handle's commit.
	d := corpus.Document{ID: "x", Text: "one"}
	check(t, w.Add(&d))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, w.Close())
	w = newWriter(t, other)
	d = corpus.Document{ID: "y", Text: "two"}
	check(t, w.Add(&d))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	if changed, err := ix.Refresh(); err != nil || !changed {
		t.Errorf("Refresh = %v, %v after a commit elsewhere", changed, err)
	}
	if changed, err := ix.Refresh(); err != nil || changed {
		t.Errorf("Refresh = %v, %v without a commit", changed, err)
	}
	sameDocs(t, dump(t, ix), expect(t, []corpus.Document{{ID: "x", Text: "one"}, {ID: "y", Text: "two"}}, Options{}))
	if err := w.Add(&d); !errors.Is(err, base.ErrClosed) {
		t.Errorf("Add after Close: error %v, want ErrClosed", err)
	}
}

// The second to commit gets ErrExists.
func TestTwoCreators(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	first, err := Create(vfs.OS, dir, Options{})
	check(t, err)
	second, err := Create(vfs.OS, dir, Options{})
	check(t, err)
	if _, err := first.Build(t.Context(), &memoryReader{docs: randomDocs(1, 10, false), batch: 5}, BuildOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Build(t.Context(), &memoryReader{batch: 5}, BuildOptions{}); !errors.Is(err, base.ErrExists) {
		t.Errorf("error %v, want ErrExists", err)
	}
	if _, err := Create(vfs.OS, dir, Options{}); !errors.Is(err, base.ErrExists) {
		t.Errorf("Create over an index: error %v, want ErrExists", err)
	}
}

// Later commits and Close change nothing.
func TestSnapshotsStay(t *testing.T) {
	docs := randomDocs(24, 240, false)
	ix := create(t, vfs.OS, Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	ctx, stop := context.WithCancel(t.Context())
	var readers sync.WaitGroup
	for range 3 {
		readers.Go(func() {
			for ctx.Err() == nil {
				s, err := ix.Snapshot()
				if err != nil {
					t.Error(err)
					return
				}
				live := 0
				for i := range s.Segments {
					v := &s.Segments[i]
					for doc := range v.NumDocs() {
						if v.Live != nil && !v.Live.Has(doc) {
							continue
						}
						live++
						if _, err := v.ID(base.DocID(doc)); err != nil {
							t.Error(err)
						}
					}
				}
				if live != s.NumLive || live%20 != 0 {
					t.Errorf("generation %d: %d live documents, want %d", s.Generation, live, s.NumLive)
				}
				s.Release()
			}
		})
	}
	for i := range docs {
		check(t, w.Add(&docs[i]))
		if i%20 == 19 {
			check(t, w.Commit(t.Context()))
		}
	}
	stop()
	readers.Wait()
	s, err := ix.Snapshot()
	check(t, err)
	for i := range docs[:100] {
		check(t, w.Delete(docs[i].ID))
	}
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, ix.Close())
	if _, err := ix.Snapshot(); !errors.Is(err, base.ErrClosed) {
		t.Errorf("Snapshot after Close: error %v, want ErrClosed", err)
	}
	view, doc, found, err := s.Lookup(docs[5].ID)
	if err != nil || !found {
		t.Fatalf("Lookup in the older snapshot: %v, %v", found, err)
	}
	var stored segment.StoredDoc
	check(t, s.Segments[view].Stored(doc, &stored))
	if string(stored.Text) != docs[5].Text {
		t.Errorf("text %q, want %q", stored.Text, docs[5].Text)
	}
	s.Release()
}

func TestWriterRefusesDocuments(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{})
	w := newWriter(t, ix)
	defer w.Close()
	long := make([]byte, inverter.MaxIDBytes+1)
	for _, d := range []corpus.Document{{Text: "no id"}, {ID: string(long)}} {
		if err := w.Add(&d); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("id of %d bytes: error %v, want ErrBadInput", len(d.ID), err)
		}
	}
	d := corpus.Document{ID: "good", Text: "text"}
	check(t, w.Add(&d))
	check(t, w.Commit(t.Context()))
	sameDocs(t, dump(t, ix), expect(t, []corpus.Document{d}, Options{}))
	check(t, w.Delete("good"))
	check(t, w.Commit(t.Context()))
	sameDocs(t, dump(t, ix), expect(t, nil, Options{}))
}

// Some ids are repeated.
func TestImport(t *testing.T) {
	docs := randomDocs(25, 500, false)
	from, _ := build(t, docs, Options{NoStored: true, Positions: true}, BuildOptions{})
	defer from.Close()
	s, err := from.Snapshot()
	check(t, err)
	defer s.Release()
	src, err := s.Segments[0].Source(nil)
	check(t, err)
	twice := renamedSource{src, map[int]string{3: "id-99", 7: "id-8"}}
	ix := create(t, vfs.OS, Options{NoStored: true, Positions: true})
	defer ix.Close()
	var told []string
	report, err := ix.Import(t.Context(), twice, ImportOptions{OnDuplicate: func(id string, _, _ corpus.Location) { told = append(told, id) }})
	check(t, err)
	slices.Sort(told)
	if report.Docs != 498 || report.Duplicates != 2 || fmt.Sprint(told) != "[id-8 id-99]" {
		t.Errorf("report %+v, told %v", report, told)
	}
	verify(t, ix)
	kept := slices.Concat(docs[:3], docs[4:7], docs[8:])
	sameDocs(t, dump(t, ix), expect(t, kept, ix.Options()))
}

type renamedSource struct {
	segment.Source
	ids map[int]string
}

func (s renamedSource) ID(doc int) []byte {
	if id, ok := s.ids[doc]; ok {
		return []byte(id)
	}
	return s.Source.ID(doc)
}
