package living

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// While a merge runs for minutes, in the background or of a call, small segments are merged, and no
// write waits.
func TestSmallMergesBesideLong(t *testing.T) {
	for _, called := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			mem := vfstest.NewMem()
			ix := create(t, mem, "ix")
			s := open(t, mem, ix, Options{MergeBytesPerSecond: 20 << 10, MemoryBytes: 64 << 20})
			numLarge := segmentsPerLevel + 1
			if called {
				numLarge = 2
			}
			for i := range numLarge {
				var ops []Op
				for j := range 4500 / numLarge {
					id := fmt.Sprintf("%d-%d", i, j)
					ops = append(ops, Op{Doc: &corpus.Document{ID: id, Text: strings.Repeat(id+" ", 100)}})
				}
				_, err := s.Apply(t.Context(), ops)
				check(t, err)
				check(t, s.Refresh(t.Context()))
			}
			done := make(chan time.Duration, 1)
			if called {
				go func() {
					began := time.Now()
					if err := s.Merge(t.Context(), 1); err != nil {
						t.Errorf("merge: %v", err)
					}
					done <- time.Since(began)
				}()
			}
			most := 0
			for i := range 300 {
				began := time.Now()
				_, err := s.Apply(t.Context(), []Op{put(fmt.Sprint(i))})
				check(t, err)
				if took := time.Since(began); took > 0 {
					t.Errorf("a write took %v", took)
				}
				time.Sleep(time.Second)
				most = max(most, numSegments(ix))
				if n := s.sizes(t)[0].NumDocs; i == 20 && n >= 4500 {
					t.Fatal("the long merge was short")
				}
			}
			if most > 45 {
				t.Errorf("%d segments beside a long merge", most)
			}
			if called {
				if took := <-done; took < 30*time.Second {
					t.Errorf("the merge took %v", took)
				}
			}
			if n := s.sizes(t)[0].NumDocs; n < 4500 {
				t.Errorf("%d documents in the first segment: want a long merge", n)
			}
			check(t, s.Close(t.Context()))
			check(t, ix.Close())
		})
	}
}
