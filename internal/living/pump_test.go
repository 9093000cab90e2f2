package living

import (
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// slowStart takes a second for the first documents, for which the publisher waits.
type slowStart struct {
	vfs.FS
	began *atomic.Bool
}

func (f slowStart) Create(name string) (vfs.File, error) {
	if strings.Contains(name, "stored") && !f.began.Swap(true) {
		time.Sleep(time.Second)
	}
	return f.FS.Create(name)
}

// Writes that come while a batch is published make one batch together, also if somebody waits for each.
func TestBatchesGrow(t *testing.T) {
	bubble(t, func(t *testing.T) {
		mem := slowStart{vfstest.NewMem(), new(atomic.Bool)}
		ix := create(t, mem, "ix")
		s := open(t, mem, ix, Options{RefreshInterval: -1})
		var waiting sync.WaitGroup
		for i := range 10 {
			_, err := s.Apply(t.Context(), []Op{put(strconv.Itoa(i)), put("again")})
			check(t, err)
			waiting.Go(func() {
				began := time.Now()
				check(t, s.Refresh(t.Context()))
				if took := time.Since(began); took > 2*time.Second {
					t.Errorf("refresh %d took %v", i, took)
				}
				if n := visibleDocs(t, ix); n < i+2 {
					t.Errorf("refresh %d: %d documents are visible", i, n)
				}
			})
			time.Sleep(50 * time.Millisecond)
		}
		waiting.Wait()
		if n := numSegments(ix); n != 2 {
			t.Errorf("%d segments, want 2", n)
		}
		if n := visibleDocs(t, ix); n != 11 {
			t.Errorf("%d documents, want 11", n)
		}
		for _, id := range []string{"0", "9", "again"} {
			if doc, _, pending, err := s.Get(id); pending || err != nil {
				t.Errorf("%s: %v, pending %t, %v", id, doc, pending, err)
			}
		}
		check(t, s.Close(t.Context()))
		check(t, ix.Close())
	})
}

func TestHold(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var h hold
		wait := func() time.Duration {
			began := time.Now()
			h.wait(nil, t.Context().Done())
			return time.Since(began)
		}
		if took := wait(); took != 0 {
			t.Errorf("nothing is held, but %v", took)
		}
		h.begin()
		if took := wait(); took != maxHold {
			t.Errorf("held for %v, want %v", took, maxHold)
		}
		if took := wait(); took != 0 {
			t.Errorf("held again for %v", took)
		}
		h.end()
		h.begin()
		go func() {
			time.Sleep(maxHold / 2)
			h.end()
		}()
		if took := wait(); took != maxHold/2 {
			t.Errorf("held for %v, want %v", took, maxHold/2)
		}
		h.end() // ended already
		synctest.Wait()
	})
}
