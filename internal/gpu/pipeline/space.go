package pipeline

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/invariant"
)

// spaceAlign is the alignment of every extent: that of a transaction of device
// memory, twice.
const spaceAlign = 256

// extent is a piece of a slab of device memory, in bytes from the slab's start.
type extent struct {
	slab         int
	offset, size int64
}

// space hands out extents of a number of slabs and takes them back: first the
// smallest free piece that is large enough, so that large ones stay whole. It
// knows nothing of the memory itself. It is for one goroutine at a time.
type space struct {
	// free holds what is not taken, by slab and offset. Invariant: no two pieces
	// of a slab touch.
	free []extent
	used int64
}

// roundUp returns the size that an extent of n bytes takes.
func roundUp(n int64) int64 { return (n + spaceAlign - 1) &^ (spaceAlign - 1) }

// addSlab makes the size bytes of a new slab, numbered as the caller likes, free.
func (s *space) addSlab(slab int, size int64) {
	s.insert(extent{slab, 0, size &^ (spaceAlign - 1)})
}

// take returns an extent of at least n > 0 bytes, a multiple of spaceAlign; false
// if no free piece is large enough.
func (s *space) take(n int64) (extent, bool) {
	n = roundUp(n)
	best := -1
	for i := range s.free {
		if s.free[i].size >= n && (best < 0 || s.free[i].size < s.free[best].size) {
			best = i
			if s.free[i].size == n {
				break
			}
		}
	}
	if best < 0 {
		return extent{}, false
	}
	f := &s.free[best]
	taken := extent{f.slab, f.offset, n}
	f.offset += n
	f.size -= n
	if f.size == 0 {
		s.free = slices.Delete(s.free, best, best+1)
	}
	s.used += n
	return taken, true
}

// give takes back an extent as take returned it.
func (s *space) give(e extent) {
	s.used -= e.size
	s.insert(e)
}

// insert adds a free piece and joins it with those that it touches.
func (s *space) insert(e extent) {
	i, found := slices.BinarySearchFunc(s.free, e, extent.compare)
	invariant.Check(!found, "extent %+v is free already", e)
	if i > 0 && touches(s.free[i-1], e) {
		s.free[i-1].size += e.size
		if i < len(s.free) && touches(s.free[i-1], s.free[i]) {
			s.free[i-1].size += s.free[i].size
			s.free = slices.Delete(s.free, i, i+1)
		}
		return
	}
	if i < len(s.free) && touches(e, s.free[i]) {
		s.free[i].offset, s.free[i].size = e.offset, s.free[i].size+e.size
		return
	}
	s.free = slices.Insert(s.free, i, e)
}

// compare orders extents by slab, then offset.
func (e extent) compare(other extent) int {
	return cmp.Or(cmp.Compare(e.slab, other.slab), cmp.Compare(e.offset, other.offset))
}

func touches(a, b extent) bool { return a.slab == b.slab && a.offset+a.size == b.offset }

// fits reports whether a free piece has n bytes.
func (s *space) fits(n int64) bool {
	return slices.ContainsFunc(s.free, func(f extent) bool { return f.size >= n })
}
