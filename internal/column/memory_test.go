package column_test

import (
	"fmt"
	"io"
	"runtime"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Writing byte strings of many times the budget stays near the budget, and half a byte a term.
func TestOrdinalsMemory(t *testing.T) {
	const (
		numDocs = 100_000
		size    = 200 // bytes a string: 20 MB, all different
		budget  = 1 << 20
		most    = 6 << 20
	)
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := heap()
	peak := uint64(0)
	see := func() {
		if now := heap(); now > before {
			peak = max(peak, now-before)
		}
	}
	w := column.NewWriter(&seeing{see: see}, numDocs, column.Temp{FS: vfs.OS, Dir: t.TempDir(), BudgetBytes: budget})
	o, err := w.Ordinals("o")
	if err != nil {
		t.Fatal(err)
	}
	for doc := range numDocs {
		term := fmt.Appendf(nil, "%0*d", size, (doc*7919)%numDocs)
		if err := o.Add(base.DocID(doc), [][]byte{term}); err != nil {
			t.Fatal(err)
		}
		if doc%5000 == 0 {
			see()
		}
	}
	if err := o.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if peak > most || peak < budget/8 {
		t.Errorf("the heap grew by %d KiB, want at most %d for %d MB of strings", peak>>10, most>>10, numDocs*size/1_000_000)
	}
}

// seeing is a writer that discards its input and looks at the heap every few megabytes.
type seeing struct {
	see     func()
	written int64
}

func (s *seeing) Write(p []byte) (int, error) {
	if before := s.written; before>>21 != (before+int64(len(p)))>>21 {
		s.see()
	}
	s.written += int64(len(p))
	return io.Discard.Write(p)
}
