package living

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/vfs"
)

// removeAll removes a folder in which files are made meanwhile.
func removeAll(t *testing.T, dir string) {
	t.Helper()
	err := os.RemoveAll(dir)
	for range 100 {
		if err == nil {
			break
		}
		err = os.RemoveAll(dir)
	}
	check(t, err)
}

// After the folder of an index was removed, nothing is acknowledged or made anew. After it was moved, the same holds from the next
// Refresh or Flush on; when it is back, all acknowledged writes are there and writes go on.
func TestKeepRemoved(t *testing.T) {
	for _, moved := range []bool{false, true} {
		for _, flush := range []bool{false, true} {
			dir := filepath.Join(t.TempDir(), "ix")
			ix := create(t, vfs.OS, dir)
			k, err := Keep(t.Context(), vfs.OS, ix, Options{RefreshInterval: -1})
			check(t, err)
			m := &model{states: map[string]state{}}
			check(t, m.put(t, k, "a"))
			check(t, k.Flush(t.Context()))
			check(t, m.put(t, k, "b"))
			if moved {
				check(t, os.Rename(dir, dir+".moved"))
			} else {
				removeAll(t, dir)
				if err := m.put(t, k, "c"); !errors.Is(err, base.ErrRemoved) {
					t.Errorf("a write: %v", err)
				}
			}
			makeVisible := k.Refresh
			if flush {
				makeVisible = k.Flush
			}
			if err := makeVisible(t.Context()); !errors.Is(err, base.ErrRemoved) || !errors.Is(err, base.ErrNotIndex) {
				t.Errorf("moved %t, flush %t: %v", moved, flush, err)
			}
			if err := m.put(t, k, "d"); !errors.Is(err, ErrDown) || !errors.Is(err, base.ErrRemoved) {
				t.Errorf("a write while it is down: %v", err)
			}
			time.Sleep(3 * minReopenWait) // it is not opened again
			if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the folder was made anew: %v", err)
			}
			if moved {
				check(t, os.Rename(dir+".moved", dir))
				err := m.put(t, k, "d")
				for until := time.Now().Add(20 * time.Second); errors.Is(err, ErrDown) && time.Now().Before(until); time.Sleep(10 * time.Millisecond) {
					err = m.put(t, k, "d")
				}
				check(t, err)
				check(t, k.Refresh(t.Context()))
				m.same(t, ix)
				check(t, k.Close(t.Context()))
			} else if err := k.Close(t.Context()); !errors.Is(err, base.ErrRemoved) {
				t.Errorf("Close: %v", err)
			}
			check(t, ix.Close())
			if _, err := os.Stat(dir); !moved && !errors.Is(err, os.ErrNotExist) {
				t.Errorf("Close made the folder anew: %v", err)
			}
		}
	}
}
