package watch

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/sampletest"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
	"github.com/griffin-search/griffin/internal/wal"
)

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type stored struct {
	doc corpus.Document
	seq uint64
}

// fakeIndex is a Target in memory.
type fakeIndex struct {
	docs    map[string]stored
	seq     uint64
	commits int
	// failAfter is the number of writes after which Apply fails, once; -1: never. Some of the writes
	// have taken effect then.
	failAfter int
	rejected  string // id of documents that are not taken
	writes    int
}

var (
	_         Target = (*fakeIndex)(nil)
	errTarget        = errors.New("the index failed")
)

func newFakeIndex() *fakeIndex { return &fakeIndex{docs: map[string]stored{}, failAfter: -1} }

func (x *fakeIndex) Apply(_ context.Context, writes []Write) (results []Result, err error) {
	for _, w := range writes {
		if x.failAfter == 0 {
			x.failAfter = -1
			return nil, errTarget
		}
		if x.failAfter > 0 {
			x.failAfter--
		}
		x.writes++
		_, exists := x.docs[w.Doc.ID]
		var r Result
		switch {
		case w.Delete && exists:
			r.Outcome = Deleted
		case w.Delete:
			r.Outcome = NotFound
		case w.Doc.ID == x.rejected:
			r.Err = errors.New("rejected")
		case exists:
			r.Outcome = Replaced
		}
		if r.Err == nil {
			x.seq++
			r.Seq = x.seq
			if delete(x.docs, w.Doc.ID); !w.Delete {
				x.docs[w.Doc.ID] = stored{clone(w.Doc), x.seq}
			}
		}
		results = append(results, r)
	}
	return results, nil
}

func clone(d *corpus.Document) corpus.Document {
	c := corpus.Document{ID: d.ID, Title: strings.Clone(d.Title), Text: strings.Clone(d.Text)}
	for _, f := range d.Extra {
		c.Extra = append(c.Extra, corpus.Field{Name: f.Name, Value: strings.Clone(f.Value)})
	}
	return c
}

func (x *fakeIndex) Publish(ctx context.Context) (string, error) { x.commits++; return x.Token(ctx) }
func (x *fakeIndex) Token(context.Context) (string, error)       { return fmt.Sprint(x.commits), nil }
func (x *fakeIndex) Close(ctx context.Context) (string, error)   { return x.Publish(ctx) }

func (x *fakeIndex) Seqs(_ context.Context, ids []string) (seqs []uint64, err error) {
	for _, id := range ids {
		seqs = append(seqs, x.docs[id].seq)
	}
	return seqs, nil
}

// wanted are the documents of a new index of the folders.
func wanted(t testing.TB, folders []string, rejected string) map[string]corpus.Document {
	t.Helper()
	reader, err := corpus.Open(folders, corpus.Options{})
	check(t, err)
	defer reader.Close()
	docs := map[string]corpus.Document{}
	for {
		b, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		check(t, err)
		check(t, b.Parse(func(d *corpus.Document) error {
			if docs[d.ID] = clone(d); d.ID == rejected {
				delete(docs, d.ID)
			}
			return nil
		}, func(*corpus.RecordError) error { return nil }))
	}
}

// history changes files at random, and lets a Watcher follow.
type history struct {
	t       *testing.T
	rng     *rand.Rand
	root    string
	folders []string
	fs      *vfstest.Mem
	index   *fakeIndex
	w       *Watcher
	log     []string
	events  []Event
	changed map[string]bool // paths whose events were not delivered
}

func newHistory(t *testing.T, seed uint64) *history {
	h := &history{t: t, rng: rand.New(rand.NewPCG(seed, 0)), root: t.TempDir(), fs: vfstest.NewMem(), index: newFakeIndex(), changed: map[string]bool{}}
	for _, name := range []string{"a", "b"} {
		check(t, os.Mkdir(filepath.Join(h.root, name), 0o755))
		h.folders = append(h.folders, filepath.Join(h.root, name))
	}
	h.folders = h.folders[:1+h.rng.IntN(2)]
	if h.rng.IntN(3) == 0 {
		h.index.rejected = "5"
	}
	return h
}

func (h *history) open() {
	h.t.Helper()
	w, err := Open(h.t.Context(), h.fs, "state", h.index, Options{
		Folders: h.folders, AllowEmpty: true, Poll: time.Hour, Quiet: time.Nanosecond, Report: func(e Event) { h.events = append(h.events, e) },
	})
	check(h.t, err)
	h.w = w
	w.journal.limit = 1 + h.rng.IntN(200)
	check(h.t, w.state.check())
}

// restart ends the process at this moment.
func (h *history) restart(clean bool) {
	h.t.Helper()
	if h.w != nil && clean {
		check(h.t, h.w.end(h.t.Context(), nil))
		check(h.t, h.w.Close())
	}
	h.fs = h.fs.Clone()
	h.changed = map[string]bool{}
	h.open()
	h.w.scan()
}

// settle reads all that is pending.
func (h *history) settle() error {
	paths := slices.Sorted(maps.Keys(h.changed))
	h.rng.Shuffle(len(paths), func(i, j int) { paths[i], paths[j] = paths[j], paths[i] })
	for _, path := range paths {
		h.w.changed(path, fsnotify.Write|fsnotify.Create)
	}
	h.changed = map[string]bool{}
	for range 1000 {
		h.w.retry = time.Time{}
		if h.w.scanned.due.Before(h.w.now().Add(time.Minute)) {
			h.w.scanned.due = h.w.now().Add(time.Hour)
			h.w.scan()
		}
		for path := range h.w.scanned.touched {
			h.w.scanned.touched[path] = time.Time{}
		}
		h.w.scanFolders()
		for _, c := range h.w.pending {
			c.due = time.Time{}
		}
		worked, err := h.w.step(h.t.Context())
		if err == nil {
			err = h.w.publishIfDue(h.t.Context(), worked)
		}
		if err != nil {
			return err
		}
		if !worked && len(h.w.pending) == 0 && !h.w.journal.refused {
			if l, ok := h.w.journal.log.(*fullLog); ok {
				h.w.journal.log = l.Log
			}
			return nil
		}
	}
	h.t.Fatalf("it does not come to an end\n%s", strings.Join(h.log, "\n"))
	return nil
}

func (h *history) compare() {
	h.t.Helper()
	check(h.t, h.w.state.check())
	want := wanted(h.t, h.folders, h.index.rejected)
	for id := range maps.Keys(want) {
		if got, ok := h.index.docs[id]; !ok || !reflect.DeepEqual(got.doc, want[id]) {
			h.t.Fatalf("document %q is %+v, want %+v\n%s", id, got, want[id], strings.Join(h.log, "\n"))
		}
	}
	for id := range h.index.docs {
		if _, ok := want[id]; !ok {
			h.t.Fatalf("document %q should not be there\n%s", id, strings.Join(h.log, "\n"))
		}
	}
}

func (h *history) note(format string, args ...any) {
	h.log = append(h.log, fmt.Sprintf(format, args...))
}

func (h *history) path() string {
	names := []string{"d", "e", "f.txt", "g.md", "h.jsonl", "i.jsonl", "j.csv", "k.jsonl.gz", ".hidden", "l.html"}
	path := h.folders[h.rng.IntN(len(h.folders))]
	for range h.rng.IntN(3) {
		path = filepath.Join(path, names[h.rng.IntN(2)])
	}
	return filepath.Join(path, names[h.rng.IntN(len(names))])
}

func (h *history) records(n int) string {
	var b strings.Builder
	for range n {
		switch h.rng.IntN(12) {
		case 0:
			b.WriteString("{broken\n")
		case 1:
			fmt.Fprintf(&b, `{"text":"without an id %d"}`+"\n", h.rng.IntN(3))
		default:
			fmt.Fprintf(&b, `{"id":"%d","text":"record %d","by":"x%d"}`+"\n", h.rng.IntN(12), h.rng.IntN(3), h.rng.IntN(2))
		}
	}
	return b.String()
}

func (h *history) content(path string) []byte {
	switch name := filepath.Base(path); {
	case strings.HasSuffix(name, ".jsonl"):
		return []byte(h.records(h.rng.IntN(8)))
	case strings.HasSuffix(name, ".csv"):
		return fmt.Appendf(nil, "id,text\n%d,cell %d\n%d,cell\n", h.rng.IntN(12), h.rng.IntN(3), h.rng.IntN(12))
	case strings.HasSuffix(name, ".gz"):
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		_, _ = z.Write([]byte(h.records(3)))
		_ = z.Close()
		return b.Bytes()
	case h.rng.IntN(8) == 0:
		return nil
	case h.rng.IntN(8) == 0:
		return []byte("binary \x00\x01")
	}
	return fmt.Appendf(nil, "text %d\n", h.rng.IntN(4))
}

// change does something to the files. Errors are of operations that are not possible.
func (h *history) change() {
	path, other := h.path(), h.path()
	what, err := "", error(nil)
	switch h.rng.IntN(10) {
	case 0, 1, 2:
		what = "write"
		_ = os.MkdirAll(filepath.Dir(path), 0o755)
		err = os.WriteFile(path, h.content(path), 0o600)
	case 3:
		what = "append"
		var f *os.File
		if f, err = os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
			_, err = f.Write(h.content(path))
			_ = f.Close()
		}
	case 4:
		what = "remove"
		err = os.Remove(path)
	case 5:
		what = "remove all"
		err = os.RemoveAll(path)
	case 6, 7:
		what = "rename to " + other
		err = os.Rename(path, other)
	case 8:
		what = "link to " + other
		err = os.Symlink(other, path)
	case 9:
		what = "make folder"
		err = os.MkdirAll(path, 0o755)
	}
	if err != nil {
		return
	}
	h.note("%s: %s", path, what)
	// The system reports the paths and the first folder that was made.
	for _, p := range []string{path, other} {
		for ; len(p) > len(h.root); p = filepath.Dir(p) {
			h.changed[p] = true
		}
	}
}

// Whatever happens to files, and wherever the process is killed, the index has the documents of a new
// index of the folders.
func TestHistories(t *testing.T) {
	began := time.Now()
	for round := range sampletest.Rounds(150, 400) {
		if round > 10 && !sampletest.All() && time.Since(began) > 2*time.Second {
			break
		}
		seed := rand.Uint64()
		if repeat, err := strconv.ParseUint(os.Getenv(sampletest.SeedVariable), 10, 64); err == nil && round == 0 {
			seed = repeat
		}
		t.Run(fmt.Sprintf("seed=%d", seed), func(t *testing.T) {
			h := newHistory(t, seed)
			for range h.rng.IntN(10) {
				h.change()
			}
			h.restart(false)
			for range 12 {
				for range 1 + h.rng.IntN(4) {
					h.change()
				}
				switch h.rng.IntN(6) {
				case 0:
					h.note("restart")
					h.restart(true)
				case 1:
					h.index.failAfter = h.rng.IntN(10)
					h.note("failure after %d writes", h.index.failAfter)
				case 2:
					h.killed()
				case 3:
					check(t, h.w.journal.checkpoint())
					h.note("checkpoint")
				case 4:
					h.others()
				case 5:
					h.full()
				}
				check(t, h.settle())
				h.compare()
			}
			check(t, h.w.Close())
		})
	}
}

// full makes the disk of the journal full for some writes.
func (h *history) full() {
	h.w.journal.log = &fullLog{Log: h.w.journal.log, from: h.rng.IntN(6), left: 1 + h.rng.IntN(6)}
	h.note("the disk of the journal is full")
	if h.rng.IntN(2) == 0 {
		check(h.t, h.settle())
		h.note("kill")
		h.restart(false)
	}
}

// fullLog has no room for left writes, after from others.
type fullLog struct {
	wal.Log
	from, left int
}

func (l *fullLog) Append(records []wal.Record) (wal.Seq, error) {
	switch {
	case l.from > 0:
		l.from--
	case l.left > 0:
		l.left--
		return 0, fmt.Errorf("%w: %w", wal.ErrFull, syscall.ENOSPC)
	}
	return l.Log.Append(records)
}

// killed ends the process when the journal or the index was written to in part.
func (h *history) killed() {
	check(h.t, h.w.Close())
	whole := h.fs
	faulty := vfstest.NewFaulty(whole, vfstest.Plan{FailAt: 1 + h.rng.IntN(60), ShortWrite: h.rng.IntN(2) == 0})
	h.note("kill")
	w, err := Open(h.t.Context(), faulty, "state", h.index, Options{Folders: h.folders, AllowEmpty: true, Poll: time.Hour, Quiet: time.Nanosecond})
	if err == nil {
		h.w = w
		w.journal.limit = 1 + h.rng.IntN(200)
		h.changed = map[string]bool{}
		h.w.scan()
		if h.rng.IntN(2) == 0 {
			h.index.failAfter = h.rng.IntN(6)
		}
		_ = h.settle()
		_ = h.w.Close()
	}
	h.index.failAfter = -1
	if h.rng.IntN(2) == 0 {
		h.change()
	}
	h.restart(false)
}

// others change the index while no Watcher runs.
func (h *history) others() {
	check(h.t, h.settle())
	check(h.t, h.w.end(h.t.Context(), nil))
	check(h.t, h.w.Close())
	if ids := slices.Sorted(maps.Keys(h.index.docs)); len(ids) > 0 {
		id := ids[h.rng.IntN(len(ids))]
		if h.index.seq++; h.rng.IntN(3) > 0 {
			h.index.docs[id] = stored{corpus.Document{ID: id, Text: "of another"}, h.index.seq}
		} else {
			delete(h.index.docs, id)
		}
		h.note("another writer: %q", id)
	}
	h.index.commits++
	h.restart(false)
}

// The documents of a file go when a link that leads nowhere replaces it, as a new index has none of it: one to itself, and one
// to a path that has a file where it needs a folder. Events and scans find it.
func TestLinksToNowhere(t *testing.T) {
	for _, target := range []string{"f.txt", "g.md/x.txt", "none.txt"} {
		for _, restart := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s,restart=%t", filepath.Base(target), restart), func(t *testing.T) {
				h := newHistory(t, 1)
				h.folders, h.index.rejected = h.folders[:1], ""
				file := filepath.Join(h.folders[0], "f.txt")
				for _, path := range []string{file, filepath.Join(h.folders[0], "g.md")} {
					check(t, os.WriteFile(path, []byte("text"), 0o600))
				}
				h.restart(false)
				check(t, h.settle())
				h.compare()
				if len(h.index.docs) != 2 {
					t.Fatalf("%d documents", len(h.index.docs))
				}
				check(t, os.Remove(file))
				check(t, os.Symlink(filepath.Join(h.folders[0], target), file))
				if h.changed[file] = true; restart {
					h.restart(true)
				}
				check(t, h.settle())
				h.compare()
				if len(h.index.docs) != 1 {
					t.Errorf("%d documents, want that of g.md", len(h.index.docs))
				}
				check(t, h.w.Close())
			})
		}
	}
}
