package residency

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestSpace(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	sizes := []int64{4096, 10_000, 65_536}
	var s space
	for i, n := range sizes {
		s.addSlab(i, n)
	}
	whole := slices.Clone(s.free)
	var taken []extent
	refused := 0
	for range 20_000 {
		if len(taken) > 0 && rng.IntN(2) == 0 {
			i := rng.IntN(len(taken))
			s.give(taken[i])
			taken = slices.Delete(taken, i, i+1)
			continue
		}
		n := 1 + rng.Int64N(6000)
		e, ok := s.take(n)
		if !ok {
			refused++
			for _, f := range s.free {
				if f.size >= roundUp(n) {
					t.Fatalf("no room for %d bytes, but %+v is free", n, f)
				}
			}
			continue
		}
		if e.size < n || e.offset < 0 || e.offset+e.size > sizes[e.slab] || e.offset%spaceAlign != 0 {
			t.Fatalf("take(%d) = %+v in a slab of %d", n, e, sizes[e.slab])
		}
		for _, o := range taken {
			if o.slab == e.slab && o.offset < e.offset+e.size && e.offset < o.offset+o.size {
				t.Fatalf("%+v overlaps %+v", e, o)
			}
		}
		taken = append(taken, e)
	}
	if refused == 0 {
		t.Error("take never failed: the test is too easy")
	}
	for _, e := range taken {
		s.give(e)
	}
	if !slices.Equal(s.free, whole) || s.used != 0 {
		t.Errorf("after the last give: free %+v, %d bytes used, want %+v and 0", s.free, s.used, whole)
	}
}

func TestSpaceBestFit(t *testing.T) {
	var s space
	s.addSlab(0, 16*spaceAlign)
	var e [16]extent
	for i := range e {
		e[i], _ = s.take(spaceAlign)
	}
	for _, i := range []int{1, 2, 3, 5, 6, 9} { // free extents of 3, 2 and 1 units
		s.give(e[i])
	}
	if got, ok := s.take(2 * spaceAlign); !ok || got.offset != 5*spaceAlign {
		t.Errorf("got %+v, want the extent of 2 units at 5", got)
	}
}
