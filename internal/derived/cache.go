package derived

import (
	"sync"
	"sync/atomic"
)

// DefaultLimit is the limit of an index's Cache: half a GiB.
const DefaultLimit = 512 << 20

const (
	// entryOverhead is what an entry counts beside its structure, in bytes.
	entryOverhead = 160
	// patience is how many structures are refused until the next of those that are
	// kept is looked at. As long as what is asked for in turn is not patience times
	// what can be kept, each that is kept is used between two looks and so stays:
	// with one look a structure, a log of queries whose structures do not quite fit
	// would find each of them dropped just before it is needed again.
	patience = 64
)

// Cache holds derived structures of any number of segments.
type Cache struct {
	mu       sync.RWMutex
	limit    int64
	entries  map[key]*entry
	clocks   [2]clock // of those that are built: needed, spare
	size     int64    // sum over the clocks of entry.size
	refused  int      // structures, since the hands moved
	segments uint64
}

// The clocks of a Cache.
const (
	needed = iota // of Kind.Get
	spare         // of Kind.GetIfRoom: they make room for needed ones
)

// clock holds entries in no order; hand goes round. Guarded by Cache.mu.
type clock struct {
	entries []*entry
	hand    int
}

// key identifies a structure.
type key struct {
	kind                 *kind
	segment, list, param uint64
}

// entry is a structure that is kept or being built.
type entry struct {
	key   key
	clock int           // in Cache.clocks
	ready chan struct{} // closed when the fields below are set
	done  atomic.Bool   // set then too: cheaper to look at
	value any           // *T
	err   error
	size  int64
	used  atomic.Bool // since the hand passed
	at    int         // in its clock; guarded by Cache.mu
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

// SetLimit changes the limit to limitBytes, and drops what no longer fits.
func (c *Cache) SetLimit(limitBytes int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.limit = limitBytes
	for _, which := range []int{spare, needed} {
		for len(c.clocks[which].entries) > 0 && c.size > c.limit {
			c.drop(c.clocks[which].entries[0])
		}
	}
}

// Stats returns what the Cache holds.
func (c *Cache) Stats() Stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{Entries: len(c.clocks[needed].entries) + len(c.clocks[spare].entries), SizeBytes: c.size}
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
	for which := range c.clocks {
		for i := len(c.clocks[which].entries) - 1; i >= 0; i-- {
			if e := c.clocks[which].entries[i]; e.key.segment == s.id {
				c.drop(e)
			}
		}
	}
}

// List is the handle of one list. The zero List keeps nothing.
type List struct {
	segment *Segment
	id      uint64
}

// Room reports whether the cache of the list has room for so many structures
// more, of any lists, that hold sizeBytes in all. A false answer counts as
// structures that were refused, which in the long run makes room: those that
// nobody asks for are dropped.
func (l List) Room(structures int, sizeBytes int64) bool {
	if l.segment == nil {
		return false
	}
	c := l.segment.cache
	sizeBytes += int64(structures) * entryOverhead
	c.mu.RLock()
	size, limit := c.size, c.limit
	c.mu.RUnlock()
	if size+sizeBytes <= limit {
		return true
	}
	if sizeBytes <= limit {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.refuse(structures)
	}
	return false
}

// find returns the entry of k and whether it is complete; if there is none, a
// new one for a clock, which the caller must complete with finish.
func (c *Cache) find(s *Segment, k key, which int) (e *entry, mine bool) {
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
	e = &entry{key: k, clock: which, ready: make(chan struct{})}
	if !s.closed {
		c.entries[k] = e
	}
	return e, true
}

// finish makes a new entry known to those that wait for it, and keeps it unless
// there was an error, there is no room, or the segment was closed meanwhile.
func (c *Cache) finish(s *Segment, e *entry) {
	c.mu.Lock()
	if e.err == nil && !s.closed && c.makeRoom(e) {
		to := &c.clocks[e.clock]
		e.at = len(to.entries)
		to.entries = append(to.entries, e)
		c.size += e.size
		e.used.Store(true)
	} else if c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
	c.mu.Unlock()
	e.done.Store(true)
	close(e.ready)
}

// makeRoom reports whether e may be kept, and drops others for it: spare ones for
// one that is needed, and those that have not been used for long.
func (c *Cache) makeRoom(e *entry) bool {
	if e.size > c.limit {
		return false
	}
	if c.size+e.size > c.limit && e.clock == needed {
		for others := &c.clocks[spare]; len(others.entries) > 0 && c.size+e.size > c.limit; {
			others.hand = (others.hand + 1) % len(others.entries)
			c.drop(others.entries[others.hand])
		}
	}
	if c.size+e.size > c.limit {
		c.refuse(1)
	}
	return c.size+e.size <= c.limit
}

// refuse counts structures that found no room. For every patience of them each
// hand moves on by one entry, which is dropped unless it was used since the hand
// last passed it.
func (c *Cache) refuse(structures int) {
	for c.refused += structures; c.refused >= patience; c.refused -= patience {
		for which := range c.clocks {
			k := &c.clocks[which]
			if len(k.entries) == 0 {
				continue
			}
			k.hand = (k.hand + 1) % len(k.entries)
			if e := k.entries[k.hand]; !e.used.Swap(false) {
				c.drop(e)
			}
		}
	}
}

// drop forgets an entry of a clock.
func (c *Cache) drop(e *entry) {
	of := &c.clocks[e.clock]
	last := of.entries[len(of.entries)-1]
	of.entries[e.at], last.at = last, e.at
	of.entries[len(of.entries)-1] = nil
	of.entries = of.entries[:len(of.entries)-1]
	c.size -= e.size
	delete(c.entries, e.key)
}
