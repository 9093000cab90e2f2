package cuda_test

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Memory grows only when necessary, by a quarter more, and is empty after an
// error.
func TestGrow(t *testing.T) {
	d := gputest.Open(t)
	testGrow(t, d, "cuMemAlloc_v2", cuda.Alloc[uint32])
	testGrow(t, d, "cuMemHostAlloc", cuda.AllocHost[uint32])
}

func testGrow[M cuda.Memory](t *testing.T, d *cuda.Device, call string, alloc func(d *cuda.Device, n int) (M, error)) {
	t.Helper()
	var m M
	for _, step := range []struct{ n, want int }{{0, 0}, {100, 125}, {125, 125}, {7, 125}, {126, 157}} {
		must(t, cuda.Grow(d, &m, step.n, alloc))
		if m.Len() != step.want {
			t.Errorf("%s: grown to %d it holds %d, want %d", call, step.n, m.Len(), step.want)
		}
	}
	gputest.Fail(t, d, call, 1, cuda.OutOfMemory)
	if err := cuda.Grow(d, &m, 158, alloc); !errors.Is(err, cuda.ErrOutOfMemory) || m.Len() != 0 {
		t.Errorf("%s: %v, and it holds %d", call, err, m.Len())
	}
	must(t, cuda.Grow(d, &m, 1, alloc))
	must(t, m.Free())
}
