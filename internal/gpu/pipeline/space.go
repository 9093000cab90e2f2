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

// space hands out extents of a number of slabs and takes them back: small ones from one
// end, large ones from the other, so that what makes room for a large one is mostly large
// itself, and not many small ones with others between them. It knows nothing of the
// memory itself. It is for one goroutine at a time.
type space struct {
	// free holds what is not taken, by slab and offset. Invariant: no two pieces
	// of a slab touch.
	free []extent
	used int64
}

// largeExtent is from when on an extent is large. Of 32, 64, 256 and 1024 KiB, it left least
// to be read over the bus by 300 ORs of the Terabyte track of 2006 on a collection like GOV2,
// with memory of a tenth of it, in a model of nothing but this cache.
const largeExtent = 256 << 10

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
	i, large := 0, n >= largeExtent
	if large {
		for i = len(s.free) - 1; i >= 0 && s.free[i].size < n; i-- {
		}
	} else {
		for i < len(s.free) && s.free[i].size < n {
			i++
		}
	}
	if i < 0 || i == len(s.free) {
		return extent{}, false
	}
	f := &s.free[i]
	taken := extent{f.slab, f.offset, n}
	if f.size -= n; large {
		taken.offset += f.size
	} else {
		f.offset += n
	}
	if f.size == 0 {
		s.free = slices.Delete(s.free, i, i+1)
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
	i, found := slices.BinarySearchFunc(s.free, e, func(a, b extent) int {
		return cmp.Or(cmp.Compare(a.slab, b.slab), cmp.Compare(a.offset, b.offset))
	})
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

func touches(a, b extent) bool { return a.slab == b.slab && a.offset+a.size == b.offset }

// largest returns a free piece of at least n bytes, without taking it.
func (s *space) largest(n int64) (extent, bool) {
	for _, f := range s.free {
		if f.size >= n {
			return f, true
		}
	}
	return extent{}, false
}
