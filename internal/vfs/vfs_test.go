package vfs_test

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

func TestAllImplementations(t *testing.T) {
	for name, fsys := range map[string]vfs.FS{
		"os":     vfs.OS,
		"mem":    vfstest.NewMem(),
		"faulty": vfstest.NewFaulty(vfs.OS, vfstest.Plan{}),
		"disk":   vfstest.NewDisk(),
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			t.Run("files", func(t *testing.T) { testFiles(t, fsys, dir) })
			t.Run("folders", func(t *testing.T) { testFolders(t, fsys, dir) })
			t.Run("mkdir", func(t *testing.T) { testMkdir(t, fsys, dir) })
			t.Run("lock", func(t *testing.T) { testLock(t, fsys, dir) })
		})
	}
}

func write(t *testing.T, fsys vfs.FS, name, content string) {
	t.Helper()
	if err := vfs.WriteFile(fsys, name, []byte(content)); err != nil {
		t.Fatal(err)
	}
}

// Each operation's failure, including Sync, must be reported and the file closed.
func TestWriteFileFails(t *testing.T) {
	ops := 0
	for n := 0; ; n++ {
		fsys := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{FailAt: n, Once: true})
		err := vfs.WriteFile(fsys, "f", []byte("content"))
		if n == 0 {
			if ops = fsys.Ops(); err != nil || ops != 4 { // create, write, sync, close
				t.Fatalf("%d operations, %v", ops, err)
			}
			continue
		}
		if n > ops {
			return
		}
		if err == nil {
			t.Errorf("no error where operation %d fails", n)
		}
	}
}

func testFiles(t *testing.T, fsys vfs.FS, dir string) {
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"the content", "", "other"} {
		name := filepath.Join(dir, "f")
		write(t, fsys, name, content)
		f, err := fsys.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(f)
		if err != nil || string(got) != content {
			t.Errorf("read %q, %v, want %q", got, err, content)
		}
		if content != "" {
			buf := make([]byte, 2)
			if n, err := f.ReadAt(buf, 1); n != 2 || err != nil || string(buf) != content[1:3] {
				t.Errorf("ReadAt: %q, %v", buf[:n], err)
			}
		}
		if err := f.Close(); err != nil {
			t.Error(err)
		}
		m, err := fsys.Map(name)
		if err != nil || !bytes.Equal(m.Bytes(), []byte(content)) {
			t.Fatalf("Map: %v", err)
		}
		if err := errors.Join(m.Close(), m.Close()); err != nil {
			t.Error(err)
		}
		if n, err := fsys.Stat(name); err != nil || n != int64(len(content)) {
			t.Errorf("Stat: %d, %v", n, err)
		}
	}
	none := filepath.Join(dir, "none")
	_, openErr := fsys.Open(none)
	_, mapErr := fsys.Map(none)
	_, statErr := fsys.Stat(none)
	for _, err := range []error{openErr, mapErr, statErr, fsys.Remove(none), fsys.Rename(none, none+"2")} {
		if !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("missing file: %v, want ErrNotExist", err)
		}
	}
}

func testFolders(t *testing.T, fsys vfs.FS, dir string) {
	deep := filepath.Join(dir, "a", "b")
	if err := errors.Join(fsys.MkdirAll(deep), fsys.MkdirAll(deep)); err != nil {
		t.Fatal(err)
	}
	write(t, fsys, filepath.Join(deep, "y"), "y")
	write(t, fsys, filepath.Join(deep, "x"), "x")
	if names, err := fsys.ReadDir(deep); err != nil || !slices.Equal(names, []string{"x", "y"}) {
		t.Errorf("ReadDir: %q, %v", names, err)
	}
	if err := fsys.Remove(deep); err == nil {
		t.Error("Remove of a folder that is not empty: no error")
	}
	if err := fsys.Rename(filepath.Join(deep, "y"), filepath.Join(deep, "x")); err != nil {
		t.Error(err)
	}
	if m, err := fsys.Map(filepath.Join(deep, "x")); err != nil || string(m.Bytes()) != "y" {
		t.Errorf("after Rename: %v", err)
	} else if err := m.Close(); err != nil {
		t.Error(err)
	}
	if err := fsys.Rename(deep, filepath.Join(dir, "c")); err != nil {
		t.Error(err)
	}
	if names, err := fsys.ReadDir(filepath.Join(dir, "c")); err != nil || !slices.Equal(names, []string{"x"}) {
		t.Errorf("ReadDir after Rename: %q, %v", names, err)
	}
	if err := fsys.SyncDir(filepath.Join(dir, "c")); err != nil {
		t.Error(err)
	}
	if err := errors.Join(fsys.RemoveAll(filepath.Join(dir, "c")), fsys.RemoveAll(filepath.Join(dir, "c"))); err != nil {
		t.Error(err)
	}
	if _, err := fsys.ReadDir(filepath.Join(dir, "c")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("ReadDir after RemoveAll: %v", err)
	}
}

func testMkdir(t *testing.T, fsys vfs.FS, dir string) {
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	parent, child := filepath.Join(dir, "parent"), filepath.Join(dir, "parent", "child")
	if err := fsys.Mkdir(child); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir without the parent: %v, want ErrNotExist", err)
	}
	if _, err := fsys.Stat(parent); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Mkdir made the parent: %v", err)
	}
	for range 2 {
		if err := errors.Join(fsys.Mkdir(parent), fsys.Mkdir(child)); err != nil {
			t.Error(err)
		}
	}
	write(t, fsys, filepath.Join(child, "f"), "f")
	if err := fsys.Mkdir(child); err != nil {
		t.Errorf("Mkdir of a folder that exists: %v", err)
	}
	if names, err := fsys.ReadDir(child); err != nil || !slices.Equal(names, []string{"f"}) {
		t.Errorf("after Mkdir of a folder that exists: %q, %v", names, err)
	}
	if err := fsys.Mkdir(filepath.Join(child, "f")); err == nil {
		t.Error("Mkdir of a file: no error")
	}
}

func testLock(t *testing.T, fsys vfs.FS, dir string) {
	if err := fsys.MkdirAll(dir); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "LOCK")
	lock, err := fsys.Lock(name)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := fsys.Lock(name); !errors.Is(err, base.ErrLocked) {
		t.Errorf("second Lock: %v, want ErrLocked", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
	if lock, err = fsys.Lock(name); err != nil {
		t.Fatalf("Lock after Close: %v", err)
	}
	if err := lock.Close(); err != nil {
		t.Error(err)
	}
}

func TestFaultyFailsAsPlanned(t *testing.T) {
	ops := func(fsys vfs.FS) []error {
		var errs []error
		f, err := fsys.Create("a")
		errs = append(errs, err)
		if err == nil {
			_, err = f.Write([]byte("12345678"))
			errs = append(errs, err, f.Sync(), f.Close())
		}
		_, err = fsys.Map("a")
		errs = append(errs, err, fsys.Rename("a", "b"), fsys.Remove("b"), fsys.MkdirAll("d"), fsys.Mkdir("d/e"), fsys.SyncDir("d"), fsys.RemoveAll("d"))
		_, err = fsys.Lock("l")
		errs = append(errs, err)
		return errs
	}
	whole := vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{})
	if err := errors.Join(ops(whole)...); err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= whole.Ops(); n++ {
		failed := 0
		for _, err := range ops(vfstest.NewFaulty(vfstest.NewMem(), vfstest.Plan{FailAt: n})) {
			if errors.Is(err, vfstest.ErrInjected) {
				failed++
			} else if failed > 0 {
				t.Errorf("FailAt %d: a later operation passes: %v", n, err)
			}
		}
		if failed == 0 {
			t.Errorf("FailAt %d: nothing failed", n)
		}
	}
	mem := vfstest.NewMem()
	ops(vfstest.NewFaulty(mem, vfstest.Plan{FailAt: 2, ShortWrite: true}))
	if got := string(mem.Get("a")); got != "1234" {
		t.Errorf("short write wrote %q", got)
	}
	mem = vfstest.NewMem()
	ops(vfstest.NewFaulty(mem, vfstest.Plan{FailAt: 3, DiskBytes: 3}))
	if got := string(mem.Get("a")); got != "123" {
		t.Errorf("full disk holds %q", got)
	}
}

// A range that is read ahead has the content of the file, wherever it begins; without a file nothing happens.
func TestPrefetch(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	if err := vfs.WriteFile(vfs.OS, name, data); err != nil {
		t.Fatal(err)
	}
	m, err := vfs.OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range [][2]int{{0, len(data)}, {1, 2}, {5000, 9000}, {len(data) - 1, len(data)}, {7, 7}, {len(data), len(data)}} {
		if err := m.Prefetch(r[0], r[1]); err != nil {
			t.Errorf("%v: %v", r, err)
		}
	}
	if !bytes.Equal(m.Bytes(), data) {
		t.Error("other content")
	}
	if err := errors.Join(m.Close(), m.Prefetch(0, 1), vfs.NewMapping(data, nil).Prefetch(0, 1)); err != nil {
		t.Error(err)
	}
}

// Dropped pages come back from the file, also beside readers.
func TestDrop(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	data := bytes.Repeat([]byte("0123456789abcdef"), 1<<14)
	if err := vfs.WriteFile(vfs.OS, name, data); err != nil {
		t.Fatal(err)
	}
	m, err := vfs.OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for range 50 {
				if !bytes.Equal(m.Bytes(), data) {
					t.Error("other content")
				}
			}
		})
	}
	for range 50 {
		if err := m.Drop(); err != nil {
			t.Error(err)
		}
	}
	readers.Wait()
	if err := errors.Join(m.Close(), m.Drop(), vfs.NewMapping(data, nil).Drop()); err != nil {
		t.Error(err)
	}
}

// Ranges of a file of the system can be written before a Sync, and leave the memory; files in memory have none to write.
func TestPace(t *testing.T) {
	f, err := vfs.OS.Create(filepath.Join(t.TempDir(), "file"))
	if err != nil {
		t.Fatal(err)
	}
	content := bytes.Repeat([]byte("content "), 1<<17)
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	p := vfs.Pace(f)
	if p == nil {
		t.Fatal("a file of the system cannot be paced")
	}
	half := int64(len(content) / 2)
	if err := errors.Join(p.StartWriting(0, half), p.AwaitWriting(0, half), p.Forget(0, half), p.StartWriting(half, half)); err != nil {
		t.Error(err)
	}
	if vfs.Pace(p) != p {
		t.Error("a paced file is paced again")
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if runtime.GOOS == "linux" && p.StartWriting(0, half) == nil {
		t.Error("no error of a closed file")
	}
	mem, err := vfstest.NewMem().Create("file")
	if err != nil {
		t.Fatal(err)
	}
	if vfs.Pace(mem) != nil {
		t.Error("a file in memory can be paced")
	}
}
