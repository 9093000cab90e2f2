package residency

import (
	"slices"

	"github.com/griffin-search/griffin/internal/base"
)

const (
	// stretchBytes is the minimum size for evictStretch; smaller extents are found without it.
	stretchBytes = 64 << 10
	// stretchEntries is the maximum number of entries for evictStretch: a pass over them takes
	// some tens of microseconds with mu held. A memory with more is large compared with a list.
	stretchEntries = 1 << 13
	// stretchTries limits the passes; a pass is repeated if the worth of its choice was out
	// of date. stretchVictims limits the evictions.
	stretchTries   = 3
	stretchVictims = 512
)

// stretches are the entries of a memory in address order, for evictStretch. Guarded by
// cache.mu.
type stretches struct {
	spots []spot // by slab, then offset
	many  bool   // more than stretchEntries entries; spots is nil
}

// worth is a lower bound of an entry's current worth.
type spot struct {
	extent
	e     *Entry
	worth float64
}

// worth is the benefit with uses more uses than frequency.
func (e *Entry) worth(uses uint32) float64 {
	return e.densityAt(e.frequency+float64(uses), e.extent.size) * float64(e.extent.size)
}

func (s *stretches) add(e *Entry) {
	if len(s.spots) == stretchEntries {
		s.spots, s.many = nil, true
	}
	if s.many {
		return
	}
	i, _ := slices.BinarySearchFunc(s.spots, e.extent, spot.compare)
	s.spots = slices.Insert(s.spots, i, spot{e.extent, e, e.worth(0)})
}

func (s *stretches) remove(e *Entry) {
	i, found := slices.BinarySearchFunc(s.spots, e.extent, spot.compare)
	if found && s.spots[i].e == e {
		s.spots = slices.Delete(s.spots, i, i+1)
	}
}

func (p spot) compare(e extent) int { return p.extent.compare(e) }

func (s *stretches) set(heap entryHeap) {
	s.spots, s.many = s.spots[:0], len(heap) > stretchEntries
	if s.many {
		return
	}
	for _, e := range heap {
		s.spots = append(s.spots, spot{e.extent, e, e.worth(0)})
	}
	base.Sort(s.spots, func(a, b spot) int { return a.extent.compare(b.extent) })
}

// evictStretch drops the contiguous stretch of lists of at least size bytes with the least
// total worth, if that is below limit*size. evict, which selects lists by their own density,
// may have to drop most of the memory before size bytes are contiguous.
func (c *cache) evictStretch(size int64, limit float64) bool {
	if size < stretchBytes || len(c.heap) == 0 || c.heap[0].density >= limit {
		return false
	}
	s := &c.stretches
	if s.many && len(c.heap) <= stretchEntries/2 {
		s.set(c.heap)
	}
	for range stretchTries {
		from, to := s.least(size, limit*float64(size), c.main.free)
		if from == to || to-from > stretchVictims {
			return false
		}
		worth := 0.0
		for i := range s.spots[from:to] {
			p := &s.spots[from+i]
			p.worth = p.e.worth(p.e.uses.Load())
			worth += p.worth
		}
		if worth < limit*float64(size) {
			return c.dropAll(s.spots[from:to])
		}
	}
	return false
}

// least returns the spots [from, to) of the stretch with the least total worth, if below most,
// with at least size bytes of entries and free extents.
func (s *stretches) least(size int64, most float64, free []extent) (from, to int) {
	// Two-pointer scan: the stretch is spots[i:j] and free[f:g].
	i, f, g := 0, 0, 0
	length, worth := int64(0), 0.0
	var last extent
	for j := 0; j < len(s.spots) || g < len(free); {
		var now extent
		isFree := j == len(s.spots) || g < len(free) && free[g].compare(s.spots[j].extent) < 0
		if isFree {
			now = free[g]
		} else {
			now = s.spots[j].extent
		}
		if !touches(last, now) { // another slab, or an entry being uploaded
			i, f, length, worth = j, g, 0, 0
		}
		last = now
		if length += now.size; isFree {
			g++
		} else {
			worth += s.spots[j].worth
			j++
		}
		for length >= size {
			if worth < most {
				from, to, most = i, j, worth
			}
			if f < g && (i == j || free[f].compare(s.spots[i].extent) < 0) {
				length -= free[f].size
				f++
			} else {
				length -= s.spots[i].size
				worth -= s.spots[i].worth
				i++
			}
		}
	}
	return from, to
}

// dropAll drops none and returns false if one entry is pinned or spots is empty.
func (c *cache) dropAll(spots []spot) bool {
	entries := c.victims[:0]
	defer func() {
		clear(entries)
		c.victims = entries[:0]
	}()
	for i := range spots {
		e := spots[i].e
		if !e.refs.CompareAndSwap(0, gone) {
			for _, e := range entries {
				e.refs.Store(0)
			}
			return false
		}
		entries = append(entries, e)
	}
	if len(entries) > 0 {
		at, _ := slices.BinarySearchFunc(c.stretches.spots, entries[0].extent, spot.compare)
		c.stretches.spots = slices.Delete(c.stretches.spots, at, at+len(entries))
	}
	for _, e := range entries {
		c.heap.remove(e.at)
		c.stats.Evictions++
		c.release(e)
	}
	return len(entries) > 0
}
