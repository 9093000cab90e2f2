package living

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// pacedFS has files whose ranges are written to a disk.
type pacedFS struct {
	vfs.FS
	ranges [][3]int64 // what (0: start, 1: await), from, to
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

// A large file of a merge is on its way to the disk except for a window: each range is started once, in order,
// and awaited before the one after the next is started. Of a small file nothing is.
func TestWindow(t *testing.T) {
	fs := &pacedFS{FS: vfstest.NewMem()}
	slow := &slowFS{FS: fs, quit: make(chan struct{})}
	chunk := bytes.Repeat([]byte("x"), 60_000)
	fill := func(size int) error {
		file, err := slow.Create("file")
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
	ends := []int64{0, 0} // of the started bytes, and of the bytes on the disk
	for _, r := range fs.ranges {
		if r[1] != ends[r[0]] || r[2] <= r[1] {
			t.Fatalf("ranges %v", fs.ranges)
		}
		ends[r[0]] = r[2]
	}
	if ends[0] < size-2*windowBytes || ends[1] < size-4*windowBytes {
		t.Errorf("%d bytes are started and %d on the disk of %d", ends[0], ends[1], size)
	}
	calls := slices.Clone(fs.ranges)
	for i := range calls {
		if i > 2 {
			break
		}
		fs.ranges, fs.fails = nil, i+1
		if err := fill(size); !errors.Is(err, errPaced) {
			t.Errorf("call %d fails: error %v", i, err)
		}
	}
}
