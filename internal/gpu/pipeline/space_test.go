package pipeline

import (
	"math/rand/v2"
	"slices"
	"testing"
)

// Extents never overlap, lie in their slabs, and all memory comes back.
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
		t.Error("memory never ran out: the test is too easy")
	}
	for _, e := range taken {
		s.give(e)
	}
	if !slices.Equal(s.free, whole) || s.used != 0 {
		t.Errorf("after all was given back %+v is free and %d bytes used, want %+v and 0", s.free, s.used, whole)
	}
}

// Small pieces come from one end and large ones from the other, of all slabs.
func TestSpaceEnds(t *testing.T) {
	var s space
	s.addSlab(0, 2*largeExtent)
	s.addSlab(1, 3*largeExtent)
	for i, c := range []struct {
		size int64
		want extent
	}{
		{spaceAlign, extent{0, 0, spaceAlign}},
		{largeExtent, extent{1, 2 * largeExtent, largeExtent}},
		{2 * spaceAlign, extent{0, spaceAlign, 2 * spaceAlign}},
		{2 * largeExtent, extent{1, 0, 2 * largeExtent}},
		{largeExtent, extent{0, largeExtent, largeExtent}},
		{largeExtent - 3*spaceAlign, extent{0, 3 * spaceAlign, largeExtent - 3*spaceAlign}},
	} {
		if got, ok := s.take(c.size); !ok || got != c.want {
			t.Errorf("piece %d of %d bytes: got %+v, want %+v", i, c.size, got, c.want)
		}
	}
	if got, ok := s.take(1); ok {
		t.Errorf("got %+v of nothing", got)
	}
	for _, e := range []extent{{0, spaceAlign, 2 * spaceAlign}, {1, 0, 2 * largeExtent}} { // holes of 2 and many
		s.give(e)
	}
	if got, ok := s.take(3 * spaceAlign); !ok || got.slab != 1 || got.offset != 0 {
		t.Errorf("got %+v, want the start of the hole that is large enough", got)
	}
}
