package pipeline

import "slices"

const (
	// stretchBytes is from how many bytes on evictStretch looks for room: smaller pieces are
	// found without.
	stretchBytes = 64 << 10
	// stretchEntries is up to how many entries it looks at, with mu held: a look takes some tens
	// of microseconds. Where there are more, memory is large beside a list.
	stretchEntries = 1 << 13
	// stretchTries is how often it looks, again after lists were worth more by now than when
	// they came; stretchVictims is how many it drops at most.
	stretchTries   = 3
	stretchVictims = 512
)

// stretches are the entries of a memory in the order in which they lie, for evictStretch, as
// long as there are not too many. Guarded by cache.mu.
type stretches struct {
	places []place // by slab, then offset
	many   bool    // there are more than stretchEntries: places has none
}

// place is where an entry lies, and what it was worth there at least, when it came or was last
// looked at.
type place struct {
	extent
	e     *entry
	worth float64
}

// worth is what the entry saves, at so many uses more than frequency has.
func (e *entry) worth(uses uint32) float64 {
	return e.densityAt(e.frequency+float64(uses), e.extent.size) * float64(e.extent.size)
}

// add adds an entry.
func (s *stretches) add(e *entry) {
	if len(s.places) == stretchEntries {
		s.places, s.many = nil, true
	}
	if s.many {
		return
	}
	i, _ := slices.BinarySearchFunc(s.places, e.extent, place.compare)
	s.places = slices.Insert(s.places, i, place{e.extent, e, e.worth(0)})
}

// remove takes out an entry, if it is there.
func (s *stretches) remove(e *entry) {
	i, found := slices.BinarySearchFunc(s.places, e.extent, place.compare)
	if found && s.places[i].e == e {
		s.places = slices.Delete(s.places, i, i+1)
	}
}

func (p place) compare(e extent) int { return p.extent.compare(e) }

// set makes them the entries of a heap, if there are not too many.
func (s *stretches) set(heap entryHeap) {
	s.places, s.many = s.places[:0], len(heap) > stretchEntries
	if s.many {
		return
	}
	for _, e := range heap {
		s.places = append(s.places, place{e.extent, e, e.worth(0)})
	}
	slices.SortFunc(s.places, func(a, b place) int { return a.extent.compare(b.extent) })
}

// evictStretch drops the lists of the stretch of memory of at least size bytes whose lists are
// worth least in all, if that is less than size bytes of a density are. evict, which goes by
// each list's own, may have to drop most of what there is before as much lies together.
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
		for i := range s.places[from:to] {
			p := &s.places[from+i]
			p.worth = p.e.worth(p.e.uses.Load())
			worth += p.worth
		}
		if worth < limit*float64(size) {
			return c.dropAll(s.places[from:to])
		}
	}
	return false
}

// least returns the numbers of the places [from, to) that are worth least, of those that have
// size bytes with what is free beside and between them, if that is less than most.
func (s *stretches) least(size int64, most float64, free []extent) (from, to int) {
	// What is between two ends, in order: places[i:j] and free[f:g].
	i, f, g := 0, 0, 0
	length, worth := int64(0), 0.0
	var last extent
	for j := 0; j < len(s.places) || g < len(free); {
		var now extent
		isFree := j == len(s.places) || g < len(free) && free[g].compare(s.places[j].extent) < 0
		if isFree {
			now = free[g]
		} else {
			now = s.places[j].extent
		}
		if !touches(last, now) { // something is coming between them, or another slab begins
			i, f, length, worth = j, g, 0, 0
		}
		last = now
		if length += now.size; isFree {
			g++
		} else {
			worth += s.places[j].worth
			j++
		}
		for length >= size {
			if worth < most {
				from, to, most = i, j, worth
			}
			if f < g && (i == j || free[f].compare(s.places[i].extent) < 0) {
				length -= free[f].size
				f++
			} else {
				length -= s.places[i].size
				worth -= s.places[i].worth
				i++
			}
		}
	}
	return from, to
}

// dropAll drops the entries of some places, or none if one is in use; false: none were dropped.
func (c *cache) dropAll(places []place) bool {
	entries := c.victims[:0]
	defer func() {
		clear(entries)
		c.victims = entries[:0]
	}()
	for i := range places {
		e := places[i].e
		if !e.refs.CompareAndSwap(0, gone) {
			for _, e := range entries {
				e.refs.Store(0)
			}
			return false
		}
		entries = append(entries, e)
	}
	if len(entries) > 0 {
		at, _ := slices.BinarySearchFunc(c.stretches.places, entries[0].extent, place.compare)
		c.stretches.places = slices.Delete(c.stretches.places, at, at+len(entries))
	}
	for _, e := range entries {
		c.heap.remove(e.at)
		c.stats.Evictions++
		c.release(e)
	}
	return len(entries) > 0
}
