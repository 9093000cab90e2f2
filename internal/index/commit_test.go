package index

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// Its hook is called before operations of the given kinds.
type hookFS struct {
	vfs.FS
	before func(op, name string) error
}

func (h hookFS) Rename(oldName, newName string) error {
	if err := h.before("rename", newName); err != nil {
		return err
	}
	return h.FS.Rename(oldName, newName)
}

func (h hookFS) Map(name string) (*vfs.Mapping, error) {
	if err := h.before("map", name); err != nil {
		return nil, err
	}
	return h.FS.Map(name)
}

func (h hookFS) SyncDir(dir string) error {
	if err := h.before("sync", dir); err != nil {
		return err
	}
	return h.FS.SyncDir(dir)
}

func (h hookFS) RemoveAll(name string) error {
	if err := h.before("remove", name); err != nil {
		return err
	}
	return h.FS.RemoveAll(name)
}

func onceAt(op, part string) func(op, name string) error {
	var once sync.Once
	return func(o, name string) (err error) {
		if o == op && strings.Contains(name, part) {
			once.Do(func() { err = vfstest.ErrInjected })
		}
		return err
	}
}

func addAll(t testing.TB, w *Writer, docs []corpus.Document) {
	t.Helper()
	for i := range docs {
		check(t, w.Add(&docs[i]))
	}
}

// The repeated commit's segment has the name of the one that the failed commit opened and
// closed.
func TestCommitAfterFailedRename(t *testing.T) {
	docs := randomDocs(50, 40, false)
	ix := create(t, hookFS{vfstest.NewMem(), onceAt("rename", manifestName)}, Options{})
	w := newWriter(t, ix)
	addAll(t, w, docs)
	if err := w.Commit(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("error %v, want the injected one", err)
	}
	check(t, w.Commit(t.Context()))
	verify(t, ix)
	sameDocs(t, dump(t, ix), expect(t, docs, Options{}))
	check(t, w.Close())
}

// The next refresh opens a segment again that could not be shown.
func TestRefreshAfterFailedRefresh(t *testing.T) {
	docs := randomDocs(51, 4000, false)
	mem := vfstest.NewMem()
	ix := create(t, mem, Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	reader, err := Open(hookFS{mem, onceAt("map", "seg-000002/ids")}, ix.Dir())
	check(t, err)
	for _, part := range [][]corpus.Document{docs[:3990], docs[3990:]} { // too different to be merged
		addAll(t, w, part)
		check(t, w.Commit(t.Context()))
	}
	check(t, w.Close())
	if _, err := reader.Refresh(); !errors.Is(err, vfstest.ErrInjected) {
		t.Fatalf("error %v, want the injected one", err)
	}
	changed, err := reader.Refresh()
	check(t, err)
	if !changed {
		t.Fatal("nothing changed")
	}
	s, err := reader.Snapshot()
	check(t, err)
	if len(s.Segments) != 2 {
		t.Fatalf("%d segments, the test needs two", len(s.Segments))
	}
	s.Release()
	verify(t, reader)
	check(t, reader.Close())
}

// A power failure can restore the former manifest, so no writer removes its files before a
// sync.
func TestUnsyncedCommitKeepsFormerFiles(t *testing.T) {
	docs := randomDocs(52, 40, false)
	mem := vfstest.NewMem()
	ix := create(t, mem, Options{})
	w := newWriter(t, ix)
	addAll(t, w, docs)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	dir := ix.Dir()
	former := mem.Clone()

	renamed, broken, synced := false, true, false
	hook := hookFS{mem, func(op, name string) error {
		switch {
		case op == "rename":
			renamed = true
		case op == "sync" && name == dir && renamed && broken:
			return vfstest.ErrInjected
		case op == "sync" && name == dir:
			synced = true
		case op == "remove" && strings.Contains(name, "seg-000001") && !synced:
			t.Errorf("%s is removed before the commit that does without it is durable", name)
		}
		return nil
	}}
	ix, err := Open(hook, dir)
	check(t, err)
	w = newWriter(t, ix)
	for i := range docs {
		check(t, w.Delete(docs[i].ID))
	}
	synced = false
	for range 2 {
		if err := w.Commit(t.Context()); !errors.Is(err, vfstest.ErrInjected) {
			t.Fatalf("error %v, want the injected one", err)
		}
	}
	synced = false
	check(t, w.Close())
	// The rename is lost.
	lost := mem.Clone()
	lost.Set(filepath.Join(dir, manifestName), former.Get(filepath.Join(dir, manifestName)))
	old, err := Open(lost, dir)
	check(t, err)
	verify(t, old)
	check(t, old.Close())
	// The next writer syncs, then removes.
	broken = false
	w = newWriter(t, ix)
	check(t, w.Close())
	checkClean(t, mem, dir)
}

// A new folder is durable when the first commit returns.
func TestFirstCommitSyncsParents(t *testing.T) {
	top := t.TempDir()
	var synced []string
	renamed := false
	ix, err := Create(hookFS{vfs.OS, func(op, name string) error {
		if op == "rename" {
			renamed = true
		}
		if op == "sync" && !renamed {
			synced = append(synced, name)
		}
		return nil
	}}, filepath.Join(top, "a", "b", "index"), Options{})
	check(t, err)
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	for _, dir := range []string{top, filepath.Join(top, "a"), filepath.Join(top, "a", "b")} {
		if !slices.Contains(synced, dir) {
			t.Errorf("%s was not synced before the commit; %q were", dir, synced)
		}
	}
}

// It removes only its own files.
func TestFailedFirstCommitLeavesNothing(t *testing.T) {
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	fail := func(t *testing.T, dir string) {
		ix, err := Create(vfs.OS, dir, Options{})
		check(t, err)
		if _, err := ix.Build(cancelled, &memoryReader{docs: randomDocs(53, 10, false), batch: 5}, BuildOptions{}); !errors.Is(err, context.Canceled) {
			t.Fatalf("error %v, want context.Canceled", err)
		}
		check(t, ix.Close())
	}
	names := func(t *testing.T, dir string) []string {
		names, err := vfs.OS.ReadDir(dir)
		check(t, err)
		return names
	}
	t.Run("no folder", func(t *testing.T) {
		top := t.TempDir()
		fail(t, filepath.Join(top, "index"))
		if got := names(t, top); len(got) > 0 {
			t.Errorf("%q were left behind", got)
		}
	})
	t.Run("empty folder", func(t *testing.T) {
		dir := t.TempDir()
		fail(t, dir)
		if got := names(t, dir); len(got) > 0 {
			t.Errorf("%q were left behind", got)
		}
	})
	t.Run("link to a folder", func(t *testing.T) {
		dir, link := t.TempDir(), filepath.Join(t.TempDir(), "link")
		check(t, os.Symlink(dir, link))
		fail(t, link)
		if got := names(t, link); len(got) > 0 {
			t.Errorf("%q were left behind", got)
		}
	})
}

// Create leaves a name alone that cannot become a folder.
func TestDanglingLinkStays(t *testing.T) {
	link := filepath.Join(t.TempDir(), "link")
	check(t, os.Symlink("nowhere", link))
	ix, err := Create(vfs.OS, link, Options{})
	check(t, err)
	if _, err := ix.Writer(WriterOptions{}); err == nil {
		t.Error("no error")
	}
	if _, err := os.Lstat(link); err != nil {
		t.Errorf("the link is gone: %v", err)
	}
}

// A foreign folder is no leftover, whatever its name.
func TestCreateKeepsForeignFolders(t *testing.T) {
	for _, name := range []string{tempName, "seg-000001", manifestTemp} {
		dir := t.TempDir()
		check(t, os.Mkdir(filepath.Join(dir, name), 0o777))
		if _, err := Create(vfs.OS, dir, Options{}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("folder with a folder %s: error %v, want ErrBadInput", name, err)
		}
	}
}

// A commit keeps cost models and removes their temporary files.
func TestCostsStay(t *testing.T) {
	ix := create(t, vfs.OS, Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	left := cost.FileName + ".0123456789abcdef.tmp"
	for _, name := range []string{cost.FileName, left, cost.FileName + ".bak"} {
		check(t, os.WriteFile(filepath.Join(ix.Dir(), name), []byte("{}"), 0o644))
	}
	w = newWriter(t, ix)
	addAll(t, w, []corpus.Document{{ID: "a", Text: "b"}})
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	names, err := vfs.OS.ReadDir(ix.Dir())
	check(t, err)
	if !slices.Contains(names, cost.FileName) || !slices.Contains(names, cost.FileName+".bak") || slices.Contains(names, left) {
		t.Errorf("the folder has %v", names)
	}
}

// It does not recreate a removed index.
func TestWriterOfVanishedIndex(t *testing.T) {
	ix := create(t, vfs.OS, Options{})
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, os.RemoveAll(ix.Dir()))
	if _, err := ix.Writer(WriterOptions{}); !errors.Is(err, base.ErrNotIndex) {
		t.Errorf("error %v, want ErrNotIndex", err)
	}
	if _, err := os.Stat(ix.Dir()); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the folder is there again: %v", err)
	}
}

// Those that give up exclude each other; their only error is ErrLocked.
func TestCreatorsAtOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	var creators sync.WaitGroup
	var holder sync.Mutex
	begun := make([]int, 4)
	for c := range begun {
		creators.Go(func() {
			for range 300 {
				ix, err := Create(vfs.OS, dir, Options{})
				if err != nil {
					t.Error(err)
					return
				}
				w, err := ix.Writer(WriterOptions{Threads: 1})
				if errors.Is(err, base.ErrLocked) {
					continue
				}
				if err != nil {
					t.Error(err)
					return
				}
				if !holder.TryLock() {
					t.Error("two concurrent writers")
					return
				}
				begun[c]++
				err = w.Add(&corpus.Document{ID: "a", Text: "b"})
				holder.Unlock()
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(w.Close(), ix.Close()); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	creators.Wait()
	if slices.Max(begun) == 0 {
		t.Error("no writer got the lock")
	}
	if names, err := vfs.OS.ReadDir(dir); ignoreMissing(err) != nil || len(names) > 0 {
		t.Errorf("%q stayed (%v)", names, err)
	}
}

// Intact files of another index or commit are refused.
func TestForeignSegment(t *testing.T) {
	committed := func(word, deleted string) *vfstest.Mem {
		mem := vfstest.NewMem()
		ix, err := Create(mem, "ix", Options{})
		check(t, err)
		w := newWriter(t, ix)
		for _, id := range []string{"a", "b", "c"} {
			check(t, w.Add(&corpus.Document{ID: id, Text: id + " " + word}))
		}
		check(t, w.Commit(t.Context()))
		check(t, w.Delete(deleted))
		check(t, w.Commit(t.Context()))
		check(t, w.Close())
		check(t, ix.Close())
		return mem
	}
	ours := committed("lion", "a")
	for what, theirs := range map[string]*vfstest.Mem{"text": committed("bear", "a"), "deleted document": committed("lion", "b")} {
		t.Run(what, func(t *testing.T) {
			mixed := ours.Clone()
			for _, name := range theirs.Names() {
				if strings.Contains(name, "seg-") {
					mixed.Set(name, theirs.Get(name))
				}
			}
			if _, err := Open(mixed, "ix"); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("with another %s: error %v, want ErrCorrupt", what, err)
			}
		})
	}
}

// It does not wait for the disk during a commit or refresh.
func TestSnapshotDoesNotWait(t *testing.T) {
	mem := vfstest.NewMem()
	var ix *Index
	hook := hookFS{mem, func(op, _ string) error {
		if ix == nil || op == "remove" {
			return nil
		}
		taken := make(chan struct{})
		go func() {
			defer close(taken)
			s, err := ix.Snapshot()
			if err != nil {
				t.Error(err)
				return
			}
			s.Release()
		}()
		select {
		case <-taken:
			return nil
		case <-time.After(3 * time.Minute): // generous for slow machines
			return fmt.Errorf("during %s: Snapshot waits", op)
		}
	}}
	shared := create(t, hook, Options{})
	w := newWriter(t, shared)
	check(t, w.Commit(t.Context()))
	ix = shared
	check(t, w.Add(&corpus.Document{ID: "a", Text: "b"}))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
}

func TestVerifyProgress(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{})
	w := newWriter(t, ix)
	docs := randomDocs(54, 4000, false)
	for _, part := range [][]corpus.Document{docs[:3990], docs[3990:]} {
		addAll(t, w, part)
		check(t, w.Commit(t.Context()))
	}
	check(t, w.Close())
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	last, total := int64(0), int64(0)
	check(t, s.Verify(t.Context(), func(done, all int64) {
		if done < last || done > all {
			t.Errorf("%d of %d after %d", done, all, last)
		}
		last, total = done, all
	}))
	if last != total || total == 0 {
		t.Errorf("ended at %d of %d", last, total)
	}
}

// Metadata must equal the manifest's.
func TestSegmentContradictsManifest(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{Positions: true, Fields: []string{"title", "author"}})
	w := newWriter(t, ix)
	addAll(t, w, randomDocs(53, 20, false))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	seg := s.Segments[0].Segment
	check(t, checkSegment(ix.currentManifest(), &ix.currentManifest().Segments[0], seg))
	for name, change := range map[string]func(m *manifest){
		"sum":              func(m *manifest) { m.Segments[0].Sum++ },
		"documents":        func(m *manifest) { m.Segments[0].NumDocs++ },
		"analyzer":         func(m *manifest) { m.Options.Analyzer = "simple" },
		"positions":        func(m *manifest) { m.Options.Positions = false },
		"stored documents": func(m *manifest) { m.Options.NoStored = true },
		"k1":               func(m *manifest) { m.Options.BM25.K1 = 2 },
		"b":                func(m *manifest) { m.Options.BM25.B = 0 },
		"weights":          func(m *manifest) { m.Options.WeightScale = 1 },
		"fewer fields":     func(m *manifest) { m.Options.Fields = []string{"title"} },
		"more fields":      func(m *manifest) { m.Options.Fields = []string{"title", "author", "url"} },
		"name of a field":  func(m *manifest) { m.Options.Fields = []string{"title", "writer"} },
	} {
		t.Run(name, func(t *testing.T) {
			m := ix.currentManifest().clone()
			change(m)
			if err := checkSegment(m, &m.Segments[0], seg); !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("error %v, want ErrCorrupt", err)
			}
		})
	}
}

// The search for replaced documents ends.
func TestCommitCancelledWhileDropping(t *testing.T) {
	ix := create(t, vfstest.NewMem(), Options{})
	w := newWriter(t, ix)
	addAll(t, w, randomDocs(54, 1100, false))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	src, err := s.Segments[0].Source(nil)
	check(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancelling := &cancellingSource{Source: src, cancel: cancel}
	c := &commit{session: &session{ix: ix}, base: s, change: change{sources: []segment.Source{cancelling}, failed: func() error { return nil }}}
	if err := c.dropDocuments(ctx); !errors.Is(err, context.Canceled) || cancelling.ids > 1024 {
		t.Errorf("error %v after %d documents, want cancellation soon after the first", err, cancelling.ids)
	}
}

type cancellingSource struct {
	segment.Source
	cancel func()
	ids    int
}

func (s *cancellingSource) ID(doc int) []byte {
	s.cancel()
	s.ids++
	return s.Source.ID(doc)
}
