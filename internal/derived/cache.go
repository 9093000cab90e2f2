package derived

import (
	"sync"
	"sync/atomic"
)

// DefaultLimit of an index's Cache is 512 MiB.
const DefaultLimit = 512 << 20

const (
	// Bytes that an entry counts besides its structure.
	entryOverhead = 160
	// For every refusalsPerStep refused structures, each clock hand moves by one entry. A kept
	// structure then stays, used between two visits, if those requested in turn are fewer than
	// refusalsPerStep times those that fit. With one step a refusal, a log whose structures
	// almost fit would evict each just before its next use.
	refusalsPerStep = 64
)

// Cache holds derived structures of any number of segments.
type Cache struct {
	mu       sync.RWMutex
	limit    int64
	entries  map[key]*entry
	clocks   [2]clock // of the built entries: needed, spare
	size     int64    // sum of entry.size over the clocks
	refused  int      // refused structures since the hands last moved
	segments uint64
}

const (
	needed = iota // for Kind.Get
	spare         // for Kind.GetIfRoom: evicted to make room for needed ones
)

// Entries are in no order; hand moves round. Guarded by Cache.mu.
type clock struct {
	entries []*entry
	hand    int
}

type key struct {
	kind                 *kind
	segment, list, param uint64
}

type entry struct {
	key   key
	clock int           // in Cache.clocks
	ready chan struct{} // closed when the fields below are set
	done  atomic.Bool   // set at the same time; cheaper to test
	value any           // *T
	err   error
	size  int64
	used  atomic.Bool // since the hand last passed
	at    int         // index in its clock; guarded by Cache.mu
}

// Stats is a Cache's fill level.
type Stats struct {
	Entries   int
	SizeBytes int64
}

// NewCache returns an empty Cache with a limit for all structures; 0 keeps none.
func NewCache(limitBytes int64) *Cache {
	return &Cache{limit: limitBytes, entries: map[key]*entry{}}
}

// SetLimit changes the limit and drops structures that no longer fit.
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

// Stats returns the fill level.
func (c *Cache) Stats() Stats {
	c.mu.RLock()
	defer c.mu.RUnlock()
	return Stats{Entries: len(c.clocks[needed].entries) + len(c.clocks[spare].entries), SizeBytes: c.size}
}

// NewSegment returns the part for one open segment. A nil Cache returns nil, which keeps
// nothing.
func (c *Cache) NewSegment() *Segment {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.segments++
	return &Segment{cache: c, id: c.segments}
}

// Segment is a Cache's part for one open segment.
type Segment struct {
	cache  *Cache
	id     uint64
	closed bool // guarded by cache.mu
}

// List returns a list's handle; id must be unique in the segment. A nil Segment returns the
// zero List. It costs nothing.
func (s *Segment) List(id uint64) List { return List{segment: s, id: id} }

// Close drops the segment's structures; later Gets build again.
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

// List is a list's handle; zero keeps nothing.
type List struct {
	segment *Segment
	id      uint64
}

// Room reports whether there is room for that many more structures, of any lists, of sizeBytes
// in total. If not, they count as refused, which evicts unused ones in time.
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

// find returns k's entry and whether it is complete, or a new one that the caller must finish.
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

// finish keeps the entry unless there was an error, there is no room, or the segment is closed.
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

// Spare entries give way to a needed one, and those unused for long.
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

// See refusalsPerStep: entries used since the hand last passed stay.
func (c *Cache) refuse(structures int) {
	for c.refused += structures; c.refused >= refusalsPerStep; c.refused -= refusalsPerStep {
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

func (c *Cache) drop(e *entry) {
	of := &c.clocks[e.clock]
	last := of.entries[len(of.entries)-1]
	of.entries[e.at], last.at = last, e.at
	of.entries[len(of.entries)-1] = nil
	of.entries = of.entries[:len(of.entries)-1]
	c.size -= e.size
	delete(c.entries, e.key)
}
