package index

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// slowUnmap counts mappings, whose Close takes a while.
type slowUnmap struct {
	vfs.FS
	mapped atomic.Int64
}

func (s *slowUnmap) Map(name string) (*vfs.Mapping, error) {
	m, err := s.FS.Map(name)
	if err != nil {
		return nil, err
	}
	s.mapped.Add(1)
	return vfs.NewMapping(m.Bytes(), func([]byte) error {
		time.Sleep(time.Second)
		s.mapped.Add(-1)
		return m.Close()
	}), nil
}

// A search that releases a large segment does not wait for its unmapping, and Close does. A snapshot that is released
// after Close leaves nothing mapped either.
func TestCloseWaitsForUnmapping(t *testing.T) {
	for _, late := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			fsys := &slowUnmap{FS: vfstest.NewMem()}
			ix, err := Create(fsys, "ix", Options{Analyzer: "simple", NoStored: true}) // zstd has goroutines of its own
			if err != nil {
				t.Fatal(err)
			}
			ix.unmapping.least = 1
			write := func(id int) {
				t.Helper()
				w, err := ix.Writer(WriterOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if err := w.Add(&corpus.Document{ID: fmt.Sprint(id), Text: "griffin"}); err != nil {
					t.Fatal(err)
				}
				if err := w.Commit(t.Context()); err != nil {
					t.Fatal(err)
				}
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			}
			write(1)
			old, err := ix.Snapshot()
			if err != nil {
				t.Fatal(err)
			}
			write(1) // replaces the segment
			release := func() {
				before := time.Now()
				old.Release()
				if took := time.Since(before); took > 0 != late {
					t.Errorf("late: %t: Release took %v", late, took)
				}
			}
			if !late {
				release()
			}
			if fsys.mapped.Load() == 0 {
				t.Error("nothing is mapped")
			}
			if err := ix.Close(); err != nil {
				t.Error(err)
			}
			if late {
				release()
			}
			if n := fsys.mapped.Load(); n != 0 {
				t.Errorf("late: %t: %d files are still mapped", late, n)
			}
			if err := ix.Close(); err != nil {
				t.Errorf("again: %v", err)
			}
		})
	}
}
