package gputest

import (
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

func TestSomeOf(t *testing.T) {
	for n, want := range map[int][]int{
		0: {}, 1: {1}, 8: {1, 2, 3, 4, 5, 6, 7, 8}, 9: {1, 2, 3, 4, 5, 7, 8, 9}, 100: {1, 2, 3, 4, 35, 67, 99, 100},
	} {
		if got := someOf(n); !slices.Equal(got, want) {
			t.Errorf("of %d calls %v fail, want %v", n, got, want)
		}
	}
}

// Each of two fills and a free fail.
func TestEachFault(t *testing.T) {
	var runs []string
	t.Run("runs", func(t *testing.T) {
		EachFault(t, cuda.InvalidValue, []string{"cuMemsetD8Async", "cuMemFree_v2"}, func(t *testing.T, d *cuda.Device) {
			outcome := ""
			s, err := d.NewStream()
			if err != nil {
				t.Fatal(err)
			}
			b, err := cuda.Alloc[uint32](d, 4)
			if err != nil {
				t.Fatal(err)
			}
			calls := []func() error{
				func() error { return cuda.Fill(s, b, 1) },
				func() error { return cuda.Fill(s, b, 2) },
				s.Synchronize, b.Free, s.Close,
			}
			for _, call := range calls {
				outcome += map[bool]string{true: "-", false: "x"}[call() == nil]
			}
			runs = append(runs, outcome+" "+strings.TrimPrefix(t.Name(), "TestEachFault/runs/"))
		})
	})
	want := []string{"----- none", "x---- cuMemsetD8Async/1", "-x--- cuMemsetD8Async/2", "---x- cuMemFree_v2/1"}
	if !slices.Equal(runs, want) {
		t.Errorf("runs\n%s\nwant\n%s", strings.Join(runs, "\n"), strings.Join(want, "\n"))
	}
}

func TestCopyBandwidth(t *testing.T) {
	d := Open(t)
	first := CopyBandwidth(t, d)
	if first <= 0 || CopyBandwidth(t, d) != first {
		t.Errorf("CopyBandwidth = %v and then %v, want one figure above 0", first, CopyBandwidth(t, d))
	}
	if OnGPU() && (first < 200 || first > 20000) {
		t.Errorf("CopyBandwidth = %.0f GB/s, which no GPU of capability 8 or 9 has", first)
	}
}
