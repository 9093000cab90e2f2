package backup

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Store is a folder of snapshots.
type Store struct {
	fs  vfs.FS
	dir string
	now func() time.Time
}

// New returns the store in the folder dir, which Create makes if it is missing.
func New(fsys vfs.FS, dir string) *Store { return &Store{fs: fsys, dir: dir, now: time.Now} }

// Snapshot is a copy of a commit.
type Snapshot struct {
	Name       string    `json:"name"`
	Created    time.Time `json:"created"`
	Index      string    `json:"index,omitempty"` // name of its folder
	IndexID    string    `json:"index_id"`
	Generation uint64    `json:"generation"` // number of the commit
	NumDocs    int64     `json:"num_docs"`
	Segments   int       `json:"segments"`
	SizeBytes  int64     `json:"size_bytes"` // of all its files, also those that it shares
	// Settings are those of the Source.
	Settings json.RawMessage `json:"settings,omitempty"`
}

// Source is what Create copies.
type Source struct {
	Dir string // of the index
	// Settings are what a server knows of the index beside its files, nil for none: JSON that only the server reads.
	Settings json.RawMessage
}

// nameOf is the last part of a folder's path; "" if it has none.
func nameOf(dir string) string {
	dir, err := filepath.Abs(dir)
	if name := filepath.Base(dir); err == nil && name != string(filepath.Separator) {
		return name
	}
	return ""
}

const (
	suffix   = ".snapshot"
	lockName = "LOCK"
	tempName = "tmp"
)

var namePattern = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// NameAt is the name of a snapshot that gets none.
func NameAt(t time.Time) string { return t.UTC().Format("20060102T150405.000Z") }

// CheckName returns an error that wraps base.ErrBadInput unless name can be a snapshot's.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return fmt.Errorf("snapshot %q: want letters, digits, dots, hyphens and underscores, at most 100: %w", name, base.ErrBadInput)
	}
	return nil
}

// takenError is a base.ErrExists about a snapshot, not an index.
type takenError struct{ name, where string }

func (e *takenError) Error() string {
	return fmt.Sprintf("snapshot %q is in %s already", e.name, e.where)
}

func (e *takenError) Is(target error) bool { return target == base.ErrExists }

// ErrNotStore means that a folder holds other files than those of a Store. It wraps base.ErrBadInput.
var ErrNotStore = fmt.Errorf("not a folder of snapshots: %w", base.ErrBadInput)

// names returns the files of the folder, nil if there is none. The error wraps ErrNotStore unless it is a Store or empty: a
// Store has a lock file since its first snapshot, and a copy of one has descriptions.
func (s *Store) names() (names []string, err error) {
	names, err = s.fs.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || isStore(names) {
		return names, err
	}
	if slices.Contains(names, base.ManifestName) {
		return nil, fmt.Errorf("%s is an index: name another folder for snapshots: %w", s.dir, ErrNotStore)
	}
	for _, name := range names {
		if name != "lost+found" && name[0] != '.' { // those are in new file systems
			return nil, fmt.Errorf("%s holds other files: name an empty or new folder for snapshots: %w", s.dir, ErrNotStore)
		}
	}
	return nil, nil
}

func isStore(names []string) bool {
	if slices.Contains(names, base.ManifestName) { // it has such a lock, too
		return false
	}
	return slices.ContainsFunc(names, func(file string) bool {
		name, ok := strings.CutSuffix(file, suffix)
		return file == lockName || ok && CheckName(name) == nil
	})
}

// Prepare makes the folder if there is none, and reports whether snapshots can be made in it, or are there. The error wraps
// ErrNotStore if it holds other files.
func (s *Store) Prepare(context.Context) error {
	names, err := s.names()
	if err != nil {
		return err
	}
	if err := s.fs.MkdirAll(s.dir); err != nil {
		return err
	}
	lock, err := s.fs.Lock(s.path(lockName))
	switch {
	case err == nil:
		return lock.Close()
	case errors.Is(err, base.ErrLocked), isStore(names): // of another process, or to be restored from
		return nil
	}
	return err
}

// List returns the snapshots, oldest first; none if there is no such folder. A damaged description is
// an error that wraps base.ErrCorrupt. The error wraps ErrNotStore if the folder holds other files.
func (s *Store) List(ctx context.Context) ([]Snapshot, error) {
	all, err := s.descriptions(ctx)
	if err != nil {
		return nil, err
	}
	return listed(all), nil
}

func listed(all []*description) []Snapshot {
	var snapshots []Snapshot
	for _, d := range all {
		snapshots = append(snapshots, d.Snapshot)
	}
	base.Sort(snapshots, func(a, b Snapshot) int {
		return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.Name, b.Name))
	})
	return snapshots
}

func (s *Store) descriptions(ctx context.Context) (all []*description, err error) {
	names, err := s.names()
	if err != nil {
		return nil, err
	}
	for _, file := range names {
		name, ok := strings.CutSuffix(file, suffix)
		if !ok || CheckName(name) != nil {
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		d, err := s.load(name)
		if err != nil {
			return nil, err
		}
		all = append(all, d)
	}
	return all, nil
}

func (s *Store) path(parts ...string) string {
	return filepath.Join(append([]string{s.dir}, parts...)...)
}

func exists(fsys vfs.FS, name string) (bool, error) {
	_, err := fsys.Stat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}
