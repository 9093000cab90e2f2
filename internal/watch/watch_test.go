package watch

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	check(t, os.WriteFile(path, []byte(text), 0o600))
}

// following is a Watcher of one folder whose first scan was read.
func following(t *testing.T, files map[string]string, o Options) *history {
	h := newHistory(t, 1)
	h.folders, h.index.rejected = h.folders[:1], ""
	for name, text := range files {
		write(t, filepath.Join(h.folders[0], name), text)
	}
	o.Folders, o.Report = h.folders, func(e Event) { h.events = append(h.events, e) }
	w, err := Open(t.Context(), h.fs, "state", h.index, o)
	check(t, err)
	t.Cleanup(func() { check(t, w.Close()) })
	h.w = w
	w.scan()
	check(t, h.settle())
	h.compare()
	return h
}

// Unchanged documents of a changed file are not written.
func TestUnchangedDocuments(t *testing.T) {
	h := following(t, map[string]string{"a.jsonl": `{"id":"1","text":"a"}` + "\n" + `{"id":"2","text":"b"}` + "\n"}, Options{Poll: time.Hour})
	before := h.index.writes
	write(t, filepath.Join(h.folders[0], "a.jsonl"), `{"id":"0","text":"new"}`+"\n"+`{"id":"1","text":"a"}`+"\n"+`{"id":"2","text":"c"}`+"\n")
	h.w.scan()
	check(t, h.settle())
	h.compare()
	if n := h.index.writes - before; n != 2 {
		t.Errorf("%d writes, want 2", n)
	}
	// A moved file keeps the documents.
	before = h.index.writes
	check(t, os.Rename(filepath.Join(h.folders[0], "a.jsonl"), filepath.Join(h.folders[0], "b.jsonl")))
	h.w.scan()
	check(t, h.settle())
	h.compare()
	if n := h.index.writes - before; n != 0 {
		t.Errorf("%d writes after a rename, want none", n)
	}
}

// A file that cannot be read keeps its documents, is reported once, and is read after its next change.
func TestUnreadable(t *testing.T) {
	h := following(t, map[string]string{"a.txt": "alpha", "b.txt": "beta"}, Options{Poll: time.Hour})
	path := filepath.Join(h.folders[0], "a.txt")
	k := key{0, "a.txt"}
	h.events = nil
	for range 2 {
		f := h.w.state.files[k]
		r := &reading{file: f, path: path, before: stamp{size: 1}, failed: &fs.PathError{Op: "open", Path: path, Err: fs.ErrPermission}}
		h.w.pending[k] = &change{}
		(&pass{w: h.w}).again(r, time.Now())
	}
	if len(h.events) != 1 || h.events[0].Kind != Failed || h.events[0].File != path {
		t.Errorf("events %+v", h.events)
	}
	h.compare()
	write(t, path, "alpha two")
	h.w.scan()
	check(t, h.settle())
	h.compare()
	if len(h.w.failures) != 0 {
		t.Errorf("failures %v", h.w.failures)
	}
	// A folder that cannot be listed keeps the documents below it.
	check(t, os.Symlink("loop", filepath.Join(h.folders[0], "loop")))
	h.w.scan()
	h.w.scan()
	check(t, h.settle())
	h.compare()
	if n := len(h.events); n != 3 || h.events[n-1].Kind != Failed { // the second is the change of a.txt
		t.Errorf("events %+v", h.events)
	}
}

// A file that is written all the time is read, but not taken for whole.
func TestUnquiet(t *testing.T) {
	h := following(t, map[string]string{"a.jsonl": `{"id":"1","text":"a"}` + "\n"}, Options{Poll: time.Hour})
	path := filepath.Join(h.folders[0], "a.jsonl")
	write(t, path, `{"id":"2","text":"b"}`+"\n")
	r := h.w.look(key{0, "a.jsonl"})
	h.w.pending[r.key] = &change{}
	r.before.modified++ // it looked different before
	check(t, h.w.pass(t.Context(), []*reading{r}))
	if _, ok := h.index.docs["1"]; !ok || r.complete || h.w.pending[r.key] == nil {
		t.Errorf("document 1 is there: %v; complete: %v; pending: %+v", ok, r.complete, h.w.pending[r.key])
	}
	check(t, h.settle())
	h.compare()
}

// Events make files due when they were quiet for a while, or after five seconds.
func TestQuiet(t *testing.T) {
	h := following(t, map[string]string{"d/a.txt": "a"}, Options{Poll: time.Hour, Quiet: 100 * time.Millisecond})
	now := time.Now()
	h.w.now = func() time.Time { return now }
	path := filepath.Join(h.folders[0], "d", "a.txt")
	k := key{0, "d/a.txt"}
	h.w.state.files[k].notBefore = time.Time{}
	began := now
	for range 100 {
		h.w.changed(path, fsnotify.Write)
		if want := now.Add(100 * time.Millisecond); !h.w.pending[k].due.Equal(want) && !h.w.pending[k].due.Equal(began.Add(maxQuiet)) {
			t.Fatalf("due after %s", h.w.pending[k].due.Sub(now))
		}
		now = now.Add(90 * time.Millisecond)
	}
	if !h.w.pending[k].due.Equal(began.Add(maxQuiet)) {
		t.Errorf("due after %s", h.w.pending[k].due.Sub(began))
	}
	delete(h.w.pending, k)
	for _, name := range []string{"d/.hidden", "d/none"} {
		h.w.changed(filepath.Join(h.folders[0], name), fsnotify.Create)
	}
	if len(h.w.pending) > 0 {
		t.Errorf("pending: %v", h.w.pending)
	}
	h.w.scanned.due = now.Add(time.Hour)
	if h.w.changed(filepath.Join(h.folders[0], "d/MANIFEST"), fsnotify.Create); h.w.scanned.due.After(now.Add(time.Minute)) {
		t.Error("no scan")
	}
	dir := filepath.Join(h.folders[0], "d")
	if h.w.changed(dir, fsnotify.Create); !h.w.scanned.touched[dir].Equal(now.Add(100 * time.Millisecond)) {
		t.Errorf("folders: %v", h.w.scanned.touched)
	}
}

// Lost events have the folders scanned.
func TestOverflow(t *testing.T) {
	h := following(t, map[string]string{"d/a.txt": "a"}, Options{})
	h.w.scanned.due = h.w.now().Add(time.Hour)
	h.events = nil
	h.w.events.mu.Lock()
	h.w.events.err = fsnotify.ErrEventOverflow
	h.w.events.mu.Unlock()
	if h.w.observe(); h.w.scanned.due.After(h.w.now().Add(time.Minute)) || len(h.events) > 0 {
		t.Errorf("scan in %s, events %v", h.w.scanned.due.Sub(h.w.now()), h.events)
	}
	// The folders are watched, also those that took the place of others.
	dir := h.folders[0]
	check(t, os.Rename(filepath.Join(dir, "d"), filepath.Join(dir, "e")))
	write(t, filepath.Join(dir, "d", "b.txt"), "b")
	h.w.changed(filepath.Join(dir, "d"), fsnotify.Rename)
	h.w.scan()
	got := h.w.events.watcher.WatchList()
	slices.Sort(got)
	if want := []string{dir, filepath.Join(dir, "d"), filepath.Join(dir, "e")}; !slices.Equal(got, want) {
		t.Errorf("watched %q, want %q", got, want)
	}
	check(t, h.settle())
	h.compare()
}

// Whatever a record has, reading it is no panic.
func TestReplayDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(rand.Uint64(), 0))
	for range 20_000 {
		j := &journal{state: newState()}
		j.state.folders = []Folder{{Path: "/a"}}
		for range 5 {
			payload := make([]byte, rng.IntN(12))
			for i := range payload {
				payload[i] = byte(rng.IntN(4))
			}
			d := decoder{data: payload}
			err := j.replay(byte(rng.IntN(10)), &d)
			if err == nil {
				err = d.end()
			}
			if err != nil && !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Fatalf("%v: %v", payload, err)
			}
		}
	}
}

// The journal is written anew when most of it is out of date, in parts, and is the same then.
func TestCheckpoint(t *testing.T) {
	fsys := vfstest.NewMem()
	j, err := openJournal(fsys, "state")
	check(t, err)
	j.state.follow([]Folder{{Path: "/a"}})
	j.config()
	f := j.state.add(key{0, "a.jsonl"}, 1)
	j.begin(f)
	check(t, j.commit())
	for round := range 10 {
		for i := range 50_000 {
			id := fmt.Sprintf("document %d", i)
			j.state.take(id, f, uint64(round+1))
			j.entry(f, entryOwned, id, uint64(round+1))
		}
		f.complete = true
		j.done(f)
		check(t, j.commit())
		check(t, j.tidy())
	}
	if n := j.log.Stats().SizeBytes; n > 16<<20 {
		t.Errorf("%d bytes", n)
	}
	check(t, j.close())
	j, err = openJournal(fsys, "state")
	check(t, err)
	defer func() { check(t, j.close()) }()
	check(t, j.state.check())
	if n := len(j.state.docs); n != 50_000 || j.state.docs["document 7"].hash != 10 || !j.state.byNumber[1].complete {
		t.Errorf("%d documents, %+v", n, j.state.docs["document 7"])
	}
}

func TestContentHash(t *testing.T) {
	field := func(name, value string) []corpus.Field { return []corpus.Field{{Name: name, Value: value}} }
	all := []corpus.Document{
		{},
		{Title: "a"},
		{Text: "a"},
		{Extra: field("a", "")},
		{Extra: field("", "a")},
		{Vector: []corpus.TermWeight{{Term: "a"}}},
		{Vector: []corpus.TermWeight{{Term: "a", Weight: 1}}},
	}
	seen := map[uint64]int{}
	for i := range all {
		hash := hashOf(&all[i])
		if before, ok := seen[hash]; ok {
			t.Errorf("documents %d and %d have the same hash", before, i)
		}
		seen[hash] = i
	}
}
