package griffin

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func newWriter(t *testing.T, o WriterOptions) (*Index, *Writer) {
	t.Helper()
	ix, err := Create(filepath.Join(t.TempDir(), "ix"), Settings{}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ix.Close() })
	o.OnError = func(err error) { t.Errorf("in the background: %v", err) }
	w, err := ix.Writer(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return ix, w
}

func applyOne(t *testing.T, w *Writer, write Write) WriteResult {
	t.Helper()
	r, err := w.Apply(t.Context(), write)
	if err != nil {
		t.Fatal(err)
	}
	return r[0]
}

func found(t *testing.T, search interface {
	Search(ctx context.Context, q Query) (*Results, error)
}, text string,
) string {
	t.Helper()
	r, err := search.Search(t.Context(), Query{Text: text, K: 10})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, h := range r.Hits {
		ids = append(ids, h.ID)
	}
	return strings.Join(ids, " ")
}

// The life of a document: created, read before it is visible, found after a refresh, replaced under
// a condition, deleted. A point in time does not change.
func TestWriter(t *testing.T) {
	ix, w := newWriter(t, WriterOptions{RefreshInterval: -1})
	ctx := t.Context()
	a := Document{ID: "a", Text: "griffin roc", Fields: []Field{{Name: "note", Value: "x"}}}
	r := applyOne(t, w, Write{Kind: WriteCreate, Document: a})
	if r.Outcome != WriteCreated || r.SeqNo != 1 || r.Version != 1 || r.Err != nil {
		t.Fatalf("create: %+v", r)
	}
	if got := found(t, ix, "griffin"); got != "" {
		t.Fatalf("visible before a refresh: %s", got)
	}
	got, err := w.Get(ctx, "a")
	if err != nil || fmt.Sprint(got.Document) != fmt.Sprint(a) || got.SeqNo != 1 {
		t.Fatalf("get: %+v, %v", got, err)
	}
	if err := w.Refresh(ctx); err != nil {
		t.Fatal(err)
	}
	if got := found(t, ix, "griffin"); got != "a" {
		t.Fatalf("after a refresh: %q", got)
	}
	if got, err := w.Get(ctx, "a"); err != nil || fmt.Sprint(got.Document) != fmt.Sprint(a) || got.Version != 1 {
		t.Fatalf("get: %+v, %v", got, err)
	}
	pit, err := ix.PointInTime()
	if err != nil {
		t.Fatal(err)
	}
	defer pit.Close()
	if r := applyOne(t, w, Write{Kind: WriteCreate, Document: a}); !errors.Is(r.Err, ErrConflict) || r.SeqNo != 1 {
		t.Fatalf("create again: %+v", r)
	}
	if r := applyOne(t, w, Write{Document: Document{ID: "a", Text: "phoenix"}, IfSeqNo: 7}); !errors.Is(r.Err, ErrConflict) {
		t.Fatalf("another sequence number: %+v", r)
	}
	if r := applyOne(t, w, Write{Document: Document{ID: "a", Text: "phoenix"}, IfSeqNo: 1}); r.Outcome != WriteUpdated || r.Version != 2 {
		t.Fatalf("update: %+v", r)
	}
	if r := applyOne(t, w, Write{Document: Document{ID: "b", Text: "griffin"}, ExternalVersion: 40}); r.Outcome != WriteCreated || r.Version != 40 {
		t.Fatalf("external version: %+v", r)
	}
	if r := applyOne(t, w, Write{Document: Document{ID: "b", Text: "griffin"}, ExternalVersion: 40}); !errors.Is(r.Err, ErrConflict) {
		t.Fatalf("the same external version: %+v", r)
	}
	if r := applyOne(t, w, Write{Document: Document{ID: "c", Text: "bad \xff"}}); !errors.Is(r.Err, ErrBadInput) {
		t.Fatalf("invalid UTF-8: %+v", r)
	}
	if err := w.Merge(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if a, b, c := found(t, ix, "griffin"), found(t, ix, "phoenix"), found(t, pit, "griffin phoenix"); a != "b" || b != "a" || c != "a" {
		t.Fatalf("griffin: %q, phoenix: %q, before: %q", a, b, c)
	}
	if r := applyOne(t, w, Write{Kind: WriteDelete, Document: Document{ID: "a"}}); r.Outcome != WriteDeleted || r.Version != 3 {
		t.Fatalf("delete: %+v", r)
	}
	if r := applyOne(t, w, Write{Kind: WriteDelete, Document: Document{ID: "a"}}); r.Outcome != WriteNotFound {
		t.Fatalf("delete again: %+v", r)
	}
	if _, err := w.Get(ctx, "a"); !errors.Is(err, ErrNotFound) {
		t.Fatalf("get a deleted document: %v", err)
	}
	if err := ix.Add(ctx, a); !errors.Is(err, ErrLocked) {
		t.Fatalf("Add beside a Writer: %v", err)
	}
	if err := w.Close(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ix.Add(ctx, Document{ID: "d", Text: "griffin"}), ix.Commit(ctx)); err != nil {
		t.Fatal(err)
	}
	if got := found(t, ix, "griffin phoenix"); got != "b d" {
		t.Fatalf("at the end: %q", got)
	}
}

// Without a request, writes become visible by themselves.
func TestWriterRefreshes(t *testing.T) {
	ix, w := newWriter(t, WriterOptions{RefreshInterval: 5 * time.Millisecond})
	applyOne(t, w, Write{Document: Document{ID: "a", Text: "griffin"}})
	const patience = 3 * time.Minute
	for until := time.Now().Add(patience); found(t, ix, "griffin") == ""; {
		if time.Now().After(until) {
			t.Fatalf("not visible after %v", patience)
		}
		time.Sleep(time.Millisecond)
	}
	if err := w.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// The versions of a point in time stay, and merges do not change their order.
func TestPointInTimeVersions(t *testing.T) {
	ix, w := newWriter(t, WriterOptions{RefreshInterval: -1})
	ctx := t.Context()
	for _, id := range []string{"a", "b", "c", "b"} {
		applyOne(t, w, Write{Document: Document{ID: id, Text: "griffin"}})
		if err := w.Refresh(ctx); err != nil {
			t.Fatal(err)
		}
	}
	pit, err := ix.PointInTime()
	if err != nil {
		t.Fatal(err)
	}
	applyOne(t, w, Write{Kind: WriteDelete, Document: Document{ID: "a"}})
	if err := w.Merge(ctx, 1); err != nil {
		t.Fatal(err)
	}
	got := ""
	for v, err := range pit.Versions(ctx) {
		if err != nil {
			t.Fatal(err)
		}
		got += fmt.Sprintf("%s %d %d,", v.ID, v.SeqNo, v.Version)
	}
	if want := "a 1 1,c 3 1,b 4 2,"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for range pit.Versions(ctx) { // it can end early
		break
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for v, err := range pit.Versions(cancelled) {
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if err := errors.Join(pit.Close(), w.Close(ctx)); err != nil {
		t.Fatal(err)
	}
	n := 0
	for v, err := range pit.Versions(ctx) {
		if n++; !errors.Is(err, ErrClosed) {
			t.Errorf("%+v, %v", v, err)
		}
	}
	if n != 1 {
		t.Errorf("%d errors after Close", n)
	}
}
