package cuda_test

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Kernels give the same results on parts of all sizes.
func TestParts(t *testing.T) {
	d := gputest.Open(t)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	all := d.Info().Multiprocessors
	a, b := alloc[uint32](t, d, 4096), alloc[uint32](t, d, 4096)
	objects, _ := d.Live()
	for n := 1; n <= all; n += max(1, all/5) {
		p, err := d.NewPart(n)
		must(t, err)
		if p.Multiprocessors() < n || p.Multiprocessors() > all {
			t.Errorf("a part of %d for %d of %d multiprocessors", p.Multiprocessors(), n, all)
		}
		s, err := p.NewStream()
		must(t, err)
		must(t, cuda.FillWords(s, a, 7))
		add(t, s, k, b, a, uint32(n))
		if got := read(t, s, b); slices.Min(got) != uint32(n)+7 || slices.Max(got) != uint32(n)+7 {
			t.Errorf("on %d multiprocessors: between %d and %d, want %d", n, slices.Min(got), slices.Max(got), n+7)
		}
		must(t, s.Close())
		must(t, p.Close())
		wantMisuse(t, "the second Close", p.Close)
	}
	if after, _ := d.Live(); after != objects {
		t.Errorf("%d objects are left, %d before", after, objects)
	}
	for _, n := range []int{0, all + 1} {
		wantMisuse(t, "a part of too few or too many", func() error {
			_, err := d.NewPart(n)
			return err
		})
	}
}
