package backup

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A folder that holds other files becomes no store; an empty one does, also one of a new file system.
func TestNotStore(t *testing.T) {
	for name, c := range map[string]struct {
		files []string
		store bool
	}{
		"missing": {nil, true}, "empty": {[]string{}, true}, "new file system": {[]string{"lost+found", ".Trash"}, true},
		"copied": {[]string{"monday.snapshot"}, true}, "emptied": {[]string{"LOCK"}, true}, "with a note": {[]string{"LOCK", "README"}, true},
		"texts": {[]string{"a.txt"}, false}, "index": {[]string{"LOCK", "MANIFEST"}, false}, "no name": {[]string{".snapshot", "x"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "store")
			if c.files != nil {
				check(t, os.Mkdir(dir, 0o700))
			}
			for _, file := range c.files {
				check(t, os.WriteFile(filepath.Join(dir, file), nil, 0o600))
			}
			index := filepath.Join(t.TempDir(), "ix")
			change(t, vfs.OS, index, 0, 1)
			s := New(vfs.OS, dir)
			_, listErr := s.List(t.Context())
			_, createErr := s.Create(t.Context(), Source{Dir: index}, "", nil)
			for operation, err := range map[string]error{"List": listErr, "Create": createErr, "Prepare": s.Prepare(t.Context())} {
				if name == "copied" && operation == "List" { // the description is empty
					continue
				}
				if c.store && err != nil || !c.store && (!errors.Is(err, ErrNotStore) || !errors.Is(err, base.ErrBadInput)) {
					t.Errorf("%s: %v", operation, err)
				}
			}
			if entries, err := os.ReadDir(dir); !c.store && (err != nil || len(entries) != len(c.files)) {
				t.Errorf("%v: %v", entries, err)
			}
		})
	}
	file := filepath.Join(t.TempDir(), "file")
	check(t, os.WriteFile(file, nil, 0o600))
	for _, dir := range []string{file, filepath.Join(file, "below")} {
		if err := New(vfs.OS, dir).Prepare(t.Context()); err == nil {
			t.Errorf("%s: no error", dir)
		}
	}
}
