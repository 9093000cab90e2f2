package backup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// change deletes a document, if delete is not 0, and adds the numbered ones.
func change(t *testing.T, fsys vfs.FS, dir string, remove int, add ...int) {
	t.Helper()
	ix, err := index.Open(fsys, dir)
	if errors.Is(err, base.ErrNotIndex) {
		ix, err = index.Create(fsys, dir, index.Options{})
	}
	check(t, err)
	w, err := ix.Writer(index.WriterOptions{Threads: 1})
	check(t, err)
	if remove != 0 {
		check(t, w.Delete(fmt.Sprint(remove)))
	}
	for _, n := range add {
		check(t, w.Add(&corpus.Document{ID: fmt.Sprint(n), Text: fmt.Sprintf("document %d of many, word%d", n, n%7)}))
	}
	check(t, w.Commit(t.Context()))
	check(t, errors.Join(w.Close(), ix.Close()))
}

func merge(t *testing.T, fsys vfs.FS, dir string) {
	t.Helper()
	ix, err := index.Open(fsys, dir)
	check(t, err)
	_, err = ix.Merge(t.Context(), index.MergeOptions{})
	check(t, errors.Join(err, ix.Close()))
}

func impacts(t *testing.T, fsys vfs.FS, dir string) {
	t.Helper()
	ix, err := index.Open(fsys, dir)
	check(t, err)
	_, err = ix.BuildImpacts(t.Context(), index.ImpactOptions{})
	check(t, errors.Join(err, ix.Close()))
}

// ids verifies an index and returns the ids of its documents below 100.
func ids(t *testing.T, fsys vfs.FS, dir string) (found []int) {
	t.Helper()
	ix, err := index.Open(fsys, dir)
	check(t, err)
	defer ix.Close()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	check(t, s.Verify(t.Context(), nil))
	for n := range 100 {
		_, _, ok, err := s.Lookup(fmt.Sprint(n))
		check(t, err)
		if ok {
			found = append(found, n)
		}
	}
	if len(found) != s.NumLive {
		t.Errorf("%s: %d documents, want %d", dir, len(found), s.NumLive)
	}
	return found
}

func restored(t *testing.T, s *Store, fsys vfs.FS, name string) []int {
	t.Helper()
	check(t, fsys.RemoveAll("restored"))
	_, err := s.Restore(t.Context(), name, "restored", nil)
	check(t, err)
	return ids(t, fsys, "restored")
}

func TestSnapshots(t *testing.T) {
	fsys := vfstest.NewMem()
	change(t, fsys, "ix", 0, 1, 2, 3)
	change(t, fsys, "ix", 2, 4, 5)
	impacts(t, fsys, "ix")
	s := New(fsys, "store")
	now := time.Date(2026, 1, 2, 3, 4, 5, 6e6, time.UTC)
	s.now = func() time.Time { now = now.Add(time.Second); return now }

	if all, err := s.List(t.Context()); err != nil || len(all) != 0 {
		t.Fatalf("List of nothing = %v, %v", all, err)
	}
	var done, total int64
	first, err := s.Create(t.Context(), Source{Dir: "ix", Settings: json.RawMessage("7")}, "first", func(d, n int64) { done, total = d, n })
	check(t, err)
	if first.NumDocs != 4 || first.CopiedSegments != 2 || first.SharedSegments != 0 || done != total || total == 0 {
		t.Errorf("first: %+v, progress %d of %d", first, done, total)
	}
	change(t, fsys, "ix", 1, 6)
	second, err := s.Create(t.Context(), Source{Dir: "ix"}, "", nil)
	check(t, err)
	if second.Name != "20260102T030408.006Z" || second.CopiedSegments != 1 || second.SharedSegments != 2 || second.CopiedBytes >= second.SizeBytes {
		t.Errorf("second: %+v", second)
	}
	again, err := s.Create(t.Context(), Source{Dir: "ix"}, "again", nil)
	check(t, err)
	if again.CopiedBytes != 0 || again.SharedSegments != 3 {
		t.Errorf("again: %+v", again)
	}
	merge(t, fsys, "ix")
	_, err = s.Create(t.Context(), Source{Dir: "ix"}, "merged", nil)
	check(t, err)
	all, err := s.List(t.Context())
	check(t, err)
	var names []string
	for _, one := range all {
		names = append(names, one.Name)
	}
	if want := []string{"first", second.Name, "again", "merged"}; !slices.Equal(names, want) {
		t.Errorf("List = %v, want %v", names, want)
	}
	if string(all[0].Settings) != "7" || all[1].Settings != nil {
		t.Errorf("settings %s and %s", all[0].Settings, all[1].Settings)
	}
	check(t, fsys.RemoveAll("ix"))
	for name, want := range map[string][]int{"first": {1, 3, 4, 5}, second.Name: {3, 4, 5, 6}, "again": {3, 4, 5, 6}, "merged": {3, 4, 5, 6}} {
		if got := restored(t, s, fsys, name); !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", name, got, want)
		}
	}
	restored(t, s, fsys, "first")
	ix, err := index.Open(fsys, "restored")
	check(t, err)
	defer ix.Close()
	snapshot, err := ix.Snapshot()
	check(t, err)
	defer snapshot.Release()
	if lists, err := snapshot.StoredImpacts(); err != nil || lists == nil {
		t.Errorf("impact-ordered lists of the copy: %v, %v", lists, err)
	}
	change(t, fsys, "restored", 3, 7) // it can be written
	if got := ids(t, fsys, "restored"); !slices.Equal(got, []int{1, 4, 5, 7}) {
		t.Errorf("after a change: %v", got)
	}
}

func TestErrors(t *testing.T) {
	fsys := vfstest.NewMem()
	change(t, fsys, "ix", 0, 1)
	s := New(fsys, "store")
	create := func(dir, name string) error { _, err := s.Create(t.Context(), Source{Dir: dir}, name, nil); return err }
	restore := func(name, dir string) error { _, err := s.Restore(t.Context(), name, dir, nil); return err }
	into := func(store string) error {
		_, err := New(fsys, store).Create(t.Context(), Source{Dir: "ix"}, "b", nil)
		return err
	}
	check(t, create("ix", "a"))
	if err, want := create("ix", "a"), `snapshot "a" is in store already`; err == nil || err.Error() != want {
		t.Errorf("a name that is taken: %v, want %s", err, want)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	_, cancelled := s.Create(ended, Source{Dir: "ix"}, "c", nil)
	for _, c := range []struct{ got, want error }{
		{create("ix", "a"), base.ErrExists},
		{create("ix", "../a"), base.ErrBadInput},
		{create("ix", strings.Repeat("a", 101)), base.ErrBadInput},
		{create("none", "b"), base.ErrNotIndex},
		{into("ix"), base.ErrBadInput},
		{restore("none", "new"), base.ErrBadInput},
		{restore("..", "new"), base.ErrBadInput},
		{restore("a", "ix"), base.ErrExists},
		{cancelled, nil}, // all is there already
	} {
		if !errors.Is(c.got, c.want) {
			t.Errorf("error %v, want %v", c.got, c.want)
		}
	}
	lock, err := fsys.Lock("store/LOCK")
	check(t, err)
	if err := create("ix", "b"); !errors.Is(err, base.ErrLocked) {
		t.Errorf("locked: %v", err)
	}
	check(t, lock.Close())
}

// Every flipped byte of a store or of an index is an error, or changes nothing.
func TestDamage(t *testing.T) {
	fsys := vfstest.NewMem()
	change(t, fsys, "ix", 0, 1, 2)
	change(t, fsys, "ix", 2, 3)
	s := New(fsys, "store")
	_, err := s.Create(t.Context(), Source{Dir: "ix"}, "a", nil)
	check(t, err)
	d, err := s.load("a")
	check(t, err)
	files := []string{"store/a.snapshot"}
	for _, f := range d.Files {
		files = append(files, "store/"+f.Copy)
	}
	for _, name := range files {
		flipEach(t, fsys, name, func(what string) {
			check(t, fsys.RemoveAll("restored"))
			_, err := s.Restore(t.Context(), "a", "restored", nil)
			if err == nil || !errors.Is(err, base.ErrCorrupt) && !errors.Is(err, base.ErrVersion) {
				t.Errorf("restored after %s: %v", what, err)
			}
		})
	}
	for _, f := range d.Files {
		flipEach(t, fsys, "ix/"+f.Path, func(what string) {
			other := New(fsys, "other")
			if _, err := other.Create(t.Context(), Source{Dir: "ix"}, "a", nil); err == nil {
				t.Errorf("copied after %s", what)
			}
			if all, err := other.List(t.Context()); err != nil || len(all) > 0 {
				t.Errorf("after %s: %v, %v", what, all, err)
			}
			check(t, fsys.RemoveAll("other"))
		})
	}
}

// flipEach inverts some bytes of a file, one at a time.
func flipEach(t *testing.T, fsys vfs.FS, name string, damaged func(what string)) {
	t.Helper()
	good, err := readFile(fsys, name, 1<<30)
	check(t, err)
	for i := 0; i < len(good); i += max(1, len(good)/10) {
		bad := slices.Clone(good)
		bad[i] ^= 0x55
		check(t, vfs.WriteFile(fsys, name, bad))
		damaged(fmt.Sprintf("byte %d of %s", i, name))
	}
	check(t, vfs.WriteFile(fsys, name, good[:len(good)-1]))
	damaged("truncating " + name)
	check(t, vfs.WriteFile(fsys, name, good))
}

func TestParseDescription(t *testing.T) {
	for _, paths := range [][2]string{{"../x", "a"}, {"a", "/etc/passwd"}, {`a\b`, "a"}, {"MANIFEST", "a"}, {"", "a"}, {".", "a"}} {
		data, err := (&description{Files: []fileCopy{{Path: paths[0], Copy: paths[1]}}}).encode()
		check(t, err)
		if _, err := parseDescription(data); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%v: %v", paths, err)
		}
	}
	if _, err := parseDescription([]byte("griffin-snapshot 2 crc32c 00000000\n{}")); !errors.Is(err, base.ErrVersion) {
		t.Errorf("a newer version: %v", err)
	}
}
