package derived

import (
	"sync"
	"sync/atomic"
)

// DefaultLimit is the limit of an index's Cache: half a GiB.
const DefaultLimit = 512 << 20

// entryOverhead is what an entry counts beside its structure, in bytes.
const entryOverhead = 160

// Cache holds derived structures of any number of segments.
type Cache struct {
	limit int64

	mu       sync.RWMutex
	entries  map[key]*entry
	clock    []*entry // those that are built, in no order; hand goes round
	hand     int
	size     int64 // sum over clock of entry.size
	segments uint64
}

// key identifies a structure.
type key struct {
	kind                 *kind
	segment, list, param uint64
}

// entry is a structure that is kept or being built.
type entry struct {
	key   key
	ready chan struct{} // closed when the fields below are set
	done  atomic.Bool   // set then too: cheaper to look at
	value any           // *T
	err   error
	size  int64
	used  atomic.Bool // since the hand passed
	at    int         // in clock; guarded by Cache.mu
}

// Stats says how full a Cache is.
type Stats struct {
	Entries   int
	SizeBytes int64
}

// NewCache returns an empty Cache that keeps structures of at most limitBytes in
// all; 0 keeps none.
func NewCache(limitBytes int64) *Cache {
	return &Cache{limit: limitBytes, entries: map[key]*entry{}}
}

// Stats returns what the Cache holds.
func (c *Cache) Stats() Stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{Entries: len(c.clock), SizeBytes: c.size}
}

// NewSegment returns the part of the Cache for one open segment. A nil Cache
// returns nil, which keeps nothing.
func (c *Cache) NewSegment() *Segment {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segments++
	return &Segment{cache: c, id: c.segments}
}

// Segment is the part of a Cache for one open segment.
type Segment struct {
	cache  *Cache
	id     uint64
	closed bool // guarded by cache.mu
}

// List returns the handle of a list of the segment. id identifies the list in
// the segment: it must be another one for each list. A nil Segment returns the
// zero List. It costs nothing.
func (s *Segment) List(id uint64) List { return List{segment: s, id: id} }

// Close drops the structures of the segment. Nothing is kept for it after; what
// is asked for all the same is built each time.
func (s *Segment) Close() {
	if s == nil {
		return
	}
	c := s.cache
	c.mu.Lock()
	defer c.mu.Unlock()
	s.closed = true
	for i := len(c.clock) - 1; i >= 0; i-- {
		if c.clock[i].key.segment == s.id {
			c.drop(c.clock[i])
		}
	}
}

// List is the handle of one list. The zero List keeps nothing.
type List struct {
	segment *Segment
	id      uint64
}

// find returns the entry of k and whether it is complete; if there is none, a
// new one, which the caller must complete with finish.
func (c *Cache) find(s *Segment, k key) (e *entry, mine bool) {
	c.mu.RLock()
	e = c.entries[k]
	c.mu.RUnlock()
	if e != nil {
		return e, false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if e = c.entries[k]; e != nil {
		return e, false
	}
	e = &entry{key: k, ready: make(chan struct{})}
	if !s.closed {
		c.entries[k] = e
	}
	return e, true
}

// finish makes a new entry known to those that wait for it, and keeps it unless
// there was an error, it is too large, or the segment was closed meanwhile.
func (c *Cache) finish(s *Segment, e *entry) {
	c.mu.Lock()
	if e.err != nil || s.closed || e.size > c.limit {
		if c.entries[e.key] == e {
			delete(c.entries, e.key)
		}
	} else {
		for c.size+e.size > c.limit {
			c.drop(c.victim())
		}
		e.at = len(c.clock)
		c.clock = append(c.clock, e)
		c.size += e.size
	}
	c.mu.Unlock()
	e.done.Store(true)
	close(e.ready)
}

// victim returns the next entry of the clock that was not used since the hand
// last passed it; there must be entries. It ends: a pass clears all marks, and
// marks are set no faster than queries come.
func (c *Cache) victim() *entry {
	for range 2 * len(c.clock) {
		c.hand = (c.hand + 1) % len(c.clock)
		if e := c.clock[c.hand]; !e.used.Swap(false) {
			return e
		}
	}
	return c.clock[c.hand]
}

// drop forgets an entry of the clock.
func (c *Cache) drop(e *entry) {
	last := c.clock[len(c.clock)-1]
	c.clock[e.at], last.at = last, e.at
	c.clock[len(c.clock)-1] = nil
	c.clock = c.clock[:len(c.clock)-1]
	c.size -= e.size
	delete(c.entries, e.key)
}
