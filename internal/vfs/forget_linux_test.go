package vfs_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// A range that was written leaves the memory, and only that one.
func TestForget(t *testing.T) {
	name := filepath.Join(t.TempDir(), "file")
	f, err := vfs.OS.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const half = 4 << 20 // the system keeps up to 2 MiB together
	content := bytes.Repeat([]byte("content "), 2*half/8)
	if _, err := f.Write(content); err != nil {
		t.Fatal(err)
	}
	p := vfs.Pace(f)
	if err := errors.Join(p.StartWriting(0, 2*half), p.AwaitWriting(0, 2*half), p.Forget(0, half)); err != nil {
		t.Fatal(err)
	}
	m, err := vfs.OS.Map(name)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	forgotten, err := vfstest.InMemory(m.Bytes()[:half])
	if err != nil {
		t.Fatal(err)
	}
	kept, err := vfstest.InMemory(m.Bytes()[half:])
	if err != nil {
		t.Fatal(err)
	}
	if slices.Contains(kept, false) {
		t.Error("a page left the memory that was not to")
	}
	if slices.Contains(forgotten, true) {
		if err := vfstest.Evict(name); err != nil {
			t.Fatal(err)
		}
		if left, err := vfstest.InMemory(m.Bytes()); err == nil && slices.Contains(left, true) {
			t.Skip("the file system keeps files in memory")
		}
		t.Error("the range is still in memory")
	}
	if !bytes.Equal(m.Bytes(), content) {
		t.Error("the content has changed")
	}
}
