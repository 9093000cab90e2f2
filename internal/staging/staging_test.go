package staging

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"
)

func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}

// Folders of ended processes go; folders in use stay.
func TestAbandoned(t *testing.T) {
	dir := t.TempDir()
	out := filepath.Join(dir, "x.idx")
	abandoned := filepath.Join(dir, ".x.idx"+Infix+"1")
	if err := os.Mkdir(abandoned, 0o755); err != nil {
		t.Fatal(err)
	}
	alive, err := New(out)
	if err != nil {
		t.Fatal(err)
	}
	if exists(abandoned) {
		t.Error("the abandoned folder is still there")
	}
	second, err := New(out)
	if err != nil {
		t.Fatal(err)
	}
	if !exists(alive.Dir) {
		t.Error("the folder in use was removed")
	}
	for _, f := range []*Folder{alive, second} {
		if err := f.Remove(); err != nil {
			t.Error(err)
		}
	}
}

// The place is free, empty or taken.
func TestMoveTo(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, name := range []string{"first", "second"} {
		f, err := New(out)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(f.Dir, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := errors.Join(f.MoveTo(out), f.Remove()); err != nil {
			t.Fatal(err)
		}
		if name == "second" && exists(filepath.Join(out, "first")) || !exists(filepath.Join(out, name)) {
			t.Errorf("%s is not at its place", name)
		}
	}
}
