package wal

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// No record is acknowledged that is lost at Close since its file was removed, and no file is made in a folder that is
// not the log's any more.
func TestRemoved(t *testing.T) {
	for name, remove := range map[string]func(t *testing.T, dir string) error{
		"removed": func(_ *testing.T, dir string) error { return os.RemoveAll(dir) },
		"moved":   func(_ *testing.T, dir string) error { return os.Rename(dir, dir+".moved") },
		"file":    func(_ *testing.T, dir string) error { return os.Remove(fileName(dir, 1)) },
		"replaced": func(t *testing.T, dir string) error {
			other := filepath.Join(t.TempDir(), "other")
			l, err := Open(vfs.OS, other, Options{})
			if err != nil {
				return err
			}
			mustAppend(t, l, "other")
			mustClose(t, l)
			return errors.Join(os.RemoveAll(dir), os.Rename(other, dir))
		},
	} {
		for _, mode := range []Mode{ModeRequest, ModeAsync, ModeInterval} {
			for _, fileBytes := range []int64{0, 1} { // also when a file is begun
				t.Run(name, func(t *testing.T) {
					dir := filepath.Join(t.TempDir(), "log")
					l, err := Open(vfs.OS, dir, Options{Mode: mode, FileBytes: fileBytes})
					if err != nil {
						t.Fatal(err)
					}
					mustAppend(t, l, "a")
					if err := remove(t, dir); err != nil {
						t.Fatal(err)
					}
					before, _ := os.ReadDir(dir)
					for range 2 {
						_, err := l.Append(recordsOf("b"))
						if err == nil && mode != ModeRequest { // the record is durable later
							err = l.Sync()
						}
						if err == nil && (name == "moved" && fileBytes == 0 || name == "file" && fileBytes == 1) { // the record is in a file that has a name
							break
						}
						if !errors.Is(err, ErrFailed) || !errors.Is(err, base.ErrRemoved) {
							t.Errorf("Append: %v", err)
						}
					}
					if err := l.Close(); err != nil && !errors.Is(err, base.ErrRemoved) {
						t.Errorf("Close: %v", err)
					}
					if after, _ := os.ReadDir(dir); len(after) > len(before) && name != "file" {
						t.Errorf("%d files before, %d after", len(before), len(after))
					}
				})
			}
		}
	}
}

// A log is not opened where another program removed the folder above, which is not made anew.
func TestOpenRemoved(t *testing.T) {
	above := filepath.Join(t.TempDir(), "ix")
	if _, err := Open(vfs.OS, filepath.Join(above, "log"), Options{}); !errors.Is(err, base.ErrRemoved) {
		t.Errorf("Open: %v, want ErrRemoved", err)
	}
	if _, err := os.Stat(above); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder above was made anew: %v", err)
	}
}

// uncounted is a file system that counts no names of files.
type uncounted struct {
	vfs.FS
	removes bool // new files of records
}

type uncountedFile struct{ vfs.File }

func (uncountedFile) IsRemoved() bool { return true }

func (u uncounted) Create(name string) (vfs.File, error) {
	f, err := u.FS.Create(name)
	if err != nil {
		return nil, err
	}
	if _, ofRecords := parseName(filepath.Base(name)); ofRecords && u.removes {
		err = u.Remove(name)
	}
	return uncountedFile{f}, err
}

// A file system that counts no names of files keeps a log, but a file that is removed before its first record is noticed.
func TestUncountedNames(t *testing.T) {
	for _, removes := range []bool{false, true} {
		for _, mode := range []Mode{ModeRequest, ModeAsync} {
			l, err := Open(uncounted{vfs.OS, removes}, filepath.Join(t.TempDir(), "log"), Options{Mode: mode, FileBytes: 1})
			if err != nil {
				t.Fatal(err)
			}
			for range 3 {
				_, err := l.Append(recordsOf("a"))
				if err == nil {
					err = l.Sync()
				}
				if removes && !errors.Is(err, base.ErrRemoved) || !removes && err != nil {
					t.Errorf("Append, files removed %t: %v", removes, err)
				}
			}
			if err := l.Close(); !removes && err != nil {
				t.Error(err)
			}
		}
	}
}
