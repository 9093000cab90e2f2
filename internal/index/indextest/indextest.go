package indextest

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Create makes an empty index.
func Create(t testing.TB, o index.Options) *index.Index {
	t.Helper()
	ix, err := index.Create(vfs.OS, filepath.Join(t.TempDir(), "index"), o)
	must(t, err)
	t.Cleanup(func() { _ = ix.Close() })
	return ix
}

// Write makes an index, which fill writes with one thread, and commits.
func Write(t testing.TB, o index.Options, fill func(w *Writer)) *index.Index {
	t.Helper()
	ix := Create(t, o)
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	must(t, err)
	defer w.Close()
	to := &Writer{t, w}
	fill(to)
	to.Commit()
	return ix
}

// Snapshot pins the last commit.
func Snapshot(t testing.TB, ix *index.Index) *index.Snapshot {
	t.Helper()
	s, err := ix.Snapshot()
	must(t, err)
	t.Cleanup(s.Release)
	return s
}

// Writer is an index.Writer whose errors end the test.
type Writer struct {
	t testing.TB
	w *index.Writer
}

// Add adds a document or replaces the one with its id.
func (w *Writer) Add(d *corpus.Document) {
	w.t.Helper()
	must(w.t, w.w.Add(d))
}

// AddText adds a document with a numeric id.
func (w *Writer) AddText(id int, text string) {
	w.t.Helper()
	w.Add(&corpus.Document{ID: strconv.Itoa(id), Text: text})
}

// Delete deletes the document with an id, if any.
func (w *Writer) Delete(id int) {
	w.t.Helper()
	must(w.t, w.w.Delete(strconv.Itoa(id)))
}

// Commit commits changes, if any, as a segment.
func (w *Writer) Commit() {
	w.t.Helper()
	must(w.t, w.w.Commit(w.t.Context()))
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
