package index

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// No later manifest has the same time.
func settle(t *testing.T, dir string) {
	t.Helper()
	before := time.Now().Add(-time.Minute)
	check(t, os.Chtimes(filepath.Join(dir, manifestName), before, before))
}

// Through another handle.
func addOne(t *testing.T, dir string, seed uint64) {
	t.Helper()
	ix, err := Open(vfs.OS, dir)
	check(t, err)
	w := newWriter(t, ix)
	addAll(t, w, randomDocs(seed, 1, false))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, ix.Close())
}

// Without a commit, Refresh does one operation. It sees commits of other handles and a replaced
// index.
func TestRefreshIsCheap(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	ix, err := Create(vfs.OS, dir, Options{})
	check(t, err)
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	check(t, ix.Close())
	settle(t, dir)

	counted := vfstest.NewFaulty(vfs.OS, vfstest.Plan{})
	reader, err := Open(counted, dir)
	check(t, err)
	defer reader.Close()
	refresh := func(what string, want bool) (operations int) {
		t.Helper()
		before := counted.Ops()
		changed, err := reader.Refresh()
		check(t, err)
		if changed != want {
			t.Errorf("%s: changed %v, want %v", what, changed, want)
		}
		return counted.Ops() - before
	}
	generation := func() uint64 { return reader.currentManifest().Generation }
	for range 3 {
		if n := refresh("no commit", false); n != 1 {
			t.Errorf("Refresh without a commit does %d operations on files, want 1", n)
		}
	}
	addOne(t, dir, 80)
	refresh("a commit", true)
	if n := refresh("a commit a moment ago", false); n == 1 {
		t.Error("Refresh does not read a recent manifest")
	}
	settle(t, dir)
	refresh("a commit long ago", false)
	if n := refresh("a commit long ago", false); n != 1 || generation() != 2 {
		t.Errorf("%d operations at generation %d, want 1 at 2", n, generation())
	}

	check(t, os.Rename(dir, dir+".old"))
	other, err := Create(vfs.OS, dir, Options{})
	check(t, err)
	w = newWriter(t, other)
	addAll(t, w, randomDocs(81, 7, false))
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	settle(t, dir)
	refresh("another index", true)
	sameDocs(t, dump(t, reader), dump(t, other))
	check(t, other.Close())
}

// It starts from the last commit despite stale attributes, as of network file systems.
func TestWriterReadsManifest(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "index")
	stale := &staleFS{FS: vfs.OS}
	ix, err := Create(stale, dir, Options{})
	check(t, err)
	defer ix.Close()
	w := newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	settle(t, dir)
	_, err = ix.Refresh()
	check(t, err)
	stale.identity, err = stale.Identify(filepath.Join(dir, manifestName))
	check(t, err)
	addOne(t, dir, 82)
	if changed, err := ix.Refresh(); changed || err != nil {
		t.Fatalf("Refresh: %v, %v, the test needs stale attributes", changed, err)
	}
	w = newWriter(t, ix)
	check(t, w.Commit(t.Context()))
	check(t, w.Close())
	if got := len(dump(t, ix)); got != 1 {
		t.Errorf("%d documents, want 1 of the other process", got)
	}
}

type staleFS struct {
	vfs.FS
	identity vfs.Identity
}

func (s *staleFS) Identify(name string) (vfs.Identity, error) {
	if s.identity != (vfs.Identity{}) {
		return s.identity, nil
	}
	return s.FS.Identify(name)
}

func BenchmarkRefresh(b *testing.B) {
	dir := filepath.Join(b.TempDir(), "index")
	ix, err := Create(vfs.OS, dir, Options{})
	check(b, err)
	w := newWriter(b, ix)
	check(b, w.Commit(b.Context()))
	check(b, w.Close())
	before := time.Now().Add(-time.Minute)
	check(b, os.Chtimes(filepath.Join(dir, manifestName), before, before))
	for b.Loop() {
		if _, err := ix.Refresh(); err != nil {
			b.Fatal(err)
		}
	}
}

// A commit removes files while Refresh opens the one before: Refresh shows the newer one. After
// an error the former one stays.
func TestRefreshMeetsCommit(t *testing.T) {
	docs := randomDocs(83, 6, false)
	for _, vanishes := range []bool{false, true} {
		mem := vfstest.NewMem()
		ix, err := Create(mem, "ix", Options{})
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, docs[:2]))
		met := false
		reader, err := Open(hookFS{mem, func(op, name string) error {
			if op != "map" || met || !strings.HasPrefix(name, filepath.Join("ix", "seg-000002")) {
				return nil
			}
			met = true
			if vanishes {
				return errors.Join(mem.RemoveAll("ix/seg-000002"), mem.Remove("ix/"+manifestName))
			}
			_, err := ix.Merge(t.Context(), MergeOptions{})
			return err
		}}, "ix")
		check(t, err)
		check(t, commitChange(t.Context(), ix, nil, docs[2:]))
		changed, err := reader.Refresh()
		if !met || changed == vanishes || errors.Is(err, fs.ErrNotExist) != vanishes || !vanishes && err != nil {
			t.Errorf("vanishes: %t: changed %t, error %v", vanishes, changed, err)
		}
		want := uint64(3)
		if vanishes {
			want = 1
		}
		s, err := reader.Snapshot()
		check(t, err)
		if s.Generation != want {
			t.Errorf("vanishes: %t: generation %d, want %d", vanishes, s.Generation, want)
		}
		s.Release()
		check(t, errors.Join(reader.Close(), ix.Close()))
	}
}
