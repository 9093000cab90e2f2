package living

import (
	"bytes"
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// pacedFS has files whose ranges are written to a disk.
type pacedFS struct {
	vfs.FS
	ranges [][3]int64 // what (0: start, 1: await, 2: forget), from, to
	fails  int        // number of the call that fails; 0: none
}

var errPaced = errors.New("the disk is broken")

func (f *pacedFS) Create(name string) (vfs.File, error) {
	file, err := f.FS.Create(name)
	return &pacedTestFile{file, f}, err
}

type pacedTestFile struct {
	vfs.File
	fs *pacedFS
}

func (f *pacedTestFile) note(what, offset, length int64) error {
	f.fs.ranges = append(f.fs.ranges, [3]int64{what, offset, offset + length})
	if len(f.fs.ranges) == f.fs.fails {
		return errPaced
	}
	return nil
}

func (f *pacedTestFile) StartWriting(offset, length int64) error { return f.note(0, offset, length) }
func (f *pacedTestFile) AwaitWriting(offset, length int64) error { return f.note(1, offset, length) }
func (f *pacedTestFile) Forget(offset, length int64) error       { return f.note(2, offset, length) }

// A large file of a merge is on its way to the disk except for a window: each range is started once, in order,
// and awaited before the one after the next is started. Of a small file nothing is. What is on the disk is forgotten if it is of stored
// documents, of an index that takes much of the memory.
func TestWindow(t *testing.T) {
	for name, forgets := range map[string]bool{"stored": true, "postings": false, "small/stored": false} {
		t.Run(name, func(t *testing.T) {
			slow := &slowFS{quit: make(chan struct{}), forgets: forgetting{room: 4 << 30}}
			slow.forgets.update(1<<30 + 1)
			if filepath.Dir(name) == "small" {
				slow.forgets.update(1 << 30)
			}
			testWindow(t, slow, name, forgets)
		})
	}
}

func testWindow(t *testing.T, slow *slowFS, name string, forgets bool) {
	t.Helper()
	fs := &pacedFS{FS: vfstest.NewMem()}
	slow.FS = fs
	chunk := bytes.Repeat([]byte("x"), 60_000)
	fill := func(size int) error {
		file, err := slow.Create(filepath.Base(name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		for n := 0; n < size; n += len(chunk) {
			if _, err := file.Write(chunk); err != nil {
				return err
			}
		}
		return nil
	}
	if err := fill(minPaced - 2*len(chunk)); err != nil || len(fs.ranges) > 0 {
		t.Fatalf("a small file: %v, error %v", fs.ranges, err)
	}
	const size = minPaced + 20*windowBytes
	if err := fill(size); err != nil {
		t.Fatal(err)
	}
	ends := []int64{0, 0, 0} // of the started bytes, of the bytes on the disk, and of the forgotten ones
	for _, r := range fs.ranges {
		if r[1] != ends[r[0]] || r[2] <= r[1] {
			t.Fatalf("ranges %v", fs.ranges)
		}
		ends[r[0]] = r[2]
		if r[0] == 2 && r[2] != ends[1] {
			t.Fatalf("forgotten before they are on the disk: ranges %v", fs.ranges)
		}
	}
	if forgets != (ends[2] > 0) || forgets && ends[2] != ends[1] {
		t.Errorf("%d bytes are forgotten of %d on the disk, forgets %t", ends[2], ends[1], forgets)
	}
	if ends[0] < size-2*windowBytes || ends[1] < size-4*windowBytes {
		t.Errorf("%d bytes are started and %d on the disk of %d", ends[0], ends[1], size)
	}
	calls := slices.Clone(fs.ranges)
	for i := range calls {
		if i > 3 {
			break
		}
		fs.ranges, fs.fails = nil, i+1
		if err := fill(size); !errors.Is(err, errPaced) {
			t.Errorf("call %d fails: error %v", i, err)
		}
	}
}
