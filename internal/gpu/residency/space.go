package residency

import (
	"cmp"
	"slices"

	"github.com/griffin-search/griffin/internal/invariant"
)

// spaceAlign is the alignment of every extent: two transactions of device memory.
const spaceAlign = 256

// extent is a range of a slab in bytes.
type extent struct {
	slab         int
	offset, size int64
}

// space allocates extents of slabs, best fit, so that large free extents stay whole. It does
// not access the memory, and is not safe for concurrent use.
type space struct {
	// Free extents by slab and offset. Invariant: no two extents of a slab touch.
	free []extent
	used int64
}

func roundUp(n int64) int64 { return (n + spaceAlign - 1) &^ (spaceAlign - 1) }

// The caller of addSlab chooses the number.
func (s *space) addSlab(slab int, size int64) {
	s.insert(extent{slab, 0, size &^ (spaceAlign - 1)})
}

// take allocates n > 0 bytes, rounded up to a multiple of spaceAlign, false if no free extent
// is large enough.
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

func (s *space) give(e extent) {
	s.used -= e.size
	s.insert(e)
}

// insert merges a free extent with adjacent ones.
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

func (e extent) compare(other extent) int {
	return cmp.Or(cmp.Compare(e.slab, other.slab), cmp.Compare(e.offset, other.offset))
}

func touches(a, b extent) bool { return a.slab == b.slab && a.offset+a.size == b.offset }

func (s *space) fits(n int64) bool {
	return slices.ContainsFunc(s.free, func(f extent) bool { return f.size >= n })
}
