package pipeline

import (
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/invariant"
)

// listKey identifies a list's image: a part of a segment (part.id) and a list in
// it, by the offset that is its own in the segment's or the impacts' file.
type listKey struct {
	part    uint32
	impacts bool
	list    uint64
}

// entry is a list that is on the device or on its way there.
type entry struct {
	key    listKey
	extent extent
	// streamed says that the list was not admitted: it lies in the reserve, to be
	// replaced by the next one that is not.
	streamed bool
	again    bool           // it was asked for before
	image    fastpath.Image // zero if the part has no posting of the list
	// The uploader, by its lane, and which of its events happens when the device has made
	// the image; lane is -1 before.
	lane, event int

	refs   atomic.Int32 // queries that use it now; below 0: gone
	uses   atomic.Uint32
	loaded atomic.Bool // the device has finished making it

	frequency float64 // guarded by cache.mu, as what follows
	density   float64
	at        int // in cache.heap; -1: not in it
}

// pin keeps the entry where it is until unpin; false if it is gone. It takes no lock.
func (e *entry) pin() bool {
	for {
		n := e.refs.Load()
		if n < 0 {
			return false
		}
		if e.refs.CompareAndSwap(n, n+1) {
			e.uses.Add(1)
			return true
		}
	}
}

func (e *entry) unpin() { e.refs.Add(-1) }

// cache says which lists are on a device, and where. Memory that is short goes to
// the lists with the greatest benefit per byte: how often a list is asked for,
// times what it costs to bring it, over its size. A list is admitted if its
// benefit per byte is greater than that of every list that would have to go for
// it; other lists are streamed through a reserve of memory that all of them share.
//
// Ding, He, Yan and Suel, WWW 2009, §5, have such a cache in GPU memory, and leave
// open which lists it keeps. Here benefits count by the byte, since sizes of lists
// differ by a factor of a million, and there is admission (frequencies).
//
// It is safe for concurrent use.
type cache struct {
	// grow makes a new slab of at least n bytes, of the reserve or not, and returns
	// its number and size; false if there is to be no more memory. It is called with
	// mu held.
	grow func(n int64, reserve bool) (slab int, size int64, ok bool)
	// settle waits until the device has made the image of an entry, so that its memory
	// can be another's. It is called with mu held, for entries that are not loaded.
	settle func(e *entry)

	mu          sync.Mutex
	entries     map[listKey]*entry
	claims      map[listKey]struct{} // lists that runs are bringing
	unclaimed   sync.Cond            // of mu
	frequencies frequencies
	main        space
	reserve     space
	heap        entryHeap // of those in main, least density first; densities may have grown since
	streamed    []*entry  // of those in the reserve, oldest first
	stats       CacheStats

	hits atomic.Int64 // of stats; counted by runs
}

// CacheStats count what a cache did since it was made.
type CacheStats struct {
	// Hits counts lists that were there when a query asked for them, Misses those
	// that had to be brought.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Streamed counts misses that were not admitted, Evictions lists that went to
	// make room, Refused those for which there was none: their queries went to the
	// CPU or waited for others.
	Streamed  int64 `json:"streamed"`
	Evictions int64 `json:"evictions"`
	Refused   int64 `json:"refused"`
	// Lists that are there now, and the bytes that they take.
	Lists     int64 `json:"lists"`
	SizeBytes int64 `json:"size_bytes"`
}

// trackedLists is how many lists' uses are counted.
const trackedLists = 1 << 20

func newCache(grow func(n int64, reserve bool) (int, int64, bool), settle func(*entry)) *cache {
	c := &cache{
		grow: grow, settle: settle, entries: map[listKey]*entry{}, claims: map[listKey]struct{}{}, frequencies: newFrequencies(trackedLists),
	}
	c.unclaimed.L = &c.mu
	return c
}

// loadCost is what bringing a list of so many bytes costs, in nanoseconds: copies
// and launches, and bytes over a bus.
func loadCost(sizeBytes int64) float64 {
	const (
		fixed = 20_000
		bus   = 20 // bytes a nanosecond
	)
	return fixed + float64(sizeBytes)/bus
}

func density(frequency float64, sizeBytes int64) float64 {
	return frequency * loadCost(sizeBytes) / float64(sizeBytes)
}

// find returns the pinned entry of a list, nil if it is not there.
func (c *cache) find(k listKey) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.findLocked(k)
}

func (c *cache) findLocked(k listKey) *entry {
	e := c.entries[k]
	if e == nil || !e.pin() {
		return nil
	}
	return e
}

// claim returns the pinned entry of a list, or nil: then the caller is the one to bring
// it, and must call unclaim when it has or cannot. Others that want it wait until then.
func (c *cache) claim(k listKey) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if e := c.findLocked(k); e != nil {
			return e
		}
		if _, taken := c.claims[k]; !taken {
			c.claims[k] = struct{}{}
			return nil
		}
		c.unclaimed.Wait()
	}
}

// unclaim ends a claim.
func (c *cache) unclaim(k listKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, k)
	c.unclaimed.Broadcast()
}

// acquire returns a new entry, pinned, with memory for the image of a list that the
// caller has claimed; evict says that others may go for it. nil: there is no room while
// others use it. The caller must fill in the entry and then call publish or abandon;
// until then nobody else sees it.
func (c *cache) acquire(k listKey, size int64, evict bool) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, halved := c.frequencies.add(k, 1)
	if halved {
		c.age()
	}
	e := &entry{key: k, frequency: float64(n), again: n > 1, at: -1, lane: -1}
	if !c.place(e, roundUp(size), evict) {
		c.stats.Refused++
		return nil
	}
	e.refs.Store(1)
	e.density = density(e.frequency, e.extent.size)
	c.stats.Misses++
	if e.streamed {
		c.stats.Streamed++
	}
	c.stats.SizeBytes += e.extent.size
	c.stats.Lists++
	return e
}

// publish lets others find the entry.
func (c *cache) publish(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.entries[e.key] = e
	if e.streamed {
		c.streamed = append(c.streamed, e)
	} else {
		c.heap.push(e)
	}
}

// abandon gives up an entry that was not published.
func (c *cache) abandon(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refs.Store(gone)
	c.release(e)
}

// gone is in entry.refs of what is not there any more.
const gone = -1 << 30

// release gives the memory of an entry back.
func (c *cache) release(e *entry) {
	if !e.loaded.Load() && e.lane >= 0 {
		c.settle(e)
	}
	if e.streamed {
		c.reserve.give(e.extent)
	} else {
		c.main.give(e.extent)
	}
	c.stats.SizeBytes -= e.extent.size
	c.stats.Lists--
	if c.entries[e.key] == e {
		delete(c.entries, e.key)
	}
}

// place finds memory for e, and makes some free for it if need be.
func (c *cache) place(e *entry, size int64, evict bool) bool {
	var ok bool
	if e.extent, ok = c.take(&c.main, size, false); ok || !evict {
		return ok
	}
	if c.evict(size, density(e.frequency, size)) {
		if e.extent, ok = c.main.take(size); ok {
			return true
		}
	}
	e.streamed = true
	if e.extent, ok = c.take(&c.reserve, size, true); ok {
		return true
	}
	for i := 0; i < len(c.streamed); {
		old := c.streamed[i]
		if !old.refs.CompareAndSwap(0, gone) {
			i++
			continue
		}
		c.streamed = append(c.streamed[:i], c.streamed[i+1:]...)
		c.stats.Evictions++
		c.release(old)
		if e.extent, ok = c.reserve.take(size); ok {
			return true
		}
	}
	// Too large for the reserve, or others use it: then whatever is not in use goes.
	e.streamed = false
	if !c.evict(size, everything) {
		return false
	}
	e.extent, ok = c.main.take(size)
	return ok
}

// everything is a density that no list has.
const everything = 1e300

// take takes an extent, of new memory if there may be more.
func (c *cache) take(s *space, size int64, reserve bool) (extent, bool) {
	if e, ok := s.take(size); ok {
		return e, true
	}
	slab, n, ok := c.grow(size, reserve)
	if !ok {
		return extent{}, false
	}
	s.addSlab(slab, n)
	return s.take(size)
}

// evict drops lists of less than a density, least first, until main has a piece of
// size bytes; if there are not enough of them, or they are in use, it drops none
// and returns false. (Where free memory is in pieces, it may have to drop more
// than size bytes.)
func (c *cache) evict(size int64, limit float64) bool {
	var victims, others []*entry
	found := false
	var trial space
	for len(c.heap) > 0 && !found {
		e := c.heap.pop()
		if now := density(e.frequency+float64(e.uses.Load()), e.extent.size); now > e.density {
			// It was used since: its place in the heap is another one.
			n, _ := c.frequencies.add(e.key, e.uses.Swap(0))
			e.frequency = float64(n)
			e.density = density(e.frequency, e.extent.size)
			c.heap.push(e)
			continue
		}
		if e.density >= limit {
			others = append(others, e)
			break
		}
		if !e.refs.CompareAndSwap(0, gone) {
			others = append(others, e)
			continue
		}
		if victims == nil {
			trial = space{free: append([]extent(nil), c.main.free...)}
		}
		victims = append(victims, e)
		trial.insert(e.extent)
		_, found = trial.largest(size)
	}
	for _, e := range others {
		c.heap.push(e)
	}
	for _, e := range victims {
		if found {
			c.stats.Evictions++
			c.release(e)
			continue
		}
		e.refs.Store(0)
		c.heap.push(e)
	}
	return found
}

// age follows a halving of the frequencies.
func (c *cache) age() {
	for _, e := range c.heap {
		e.frequency /= 2
		e.density = density(e.frequency, e.extent.size)
	}
	c.heap.init()
}

// drop lets go of all lists of a part, which no query uses.
func (c *cache) drop(part uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := len(c.heap) - 1; i >= 0; i-- {
		if e := c.heap[i]; e.key.part == part {
			c.let(e)
			c.heap[i], c.heap[len(c.heap)-1] = c.heap[len(c.heap)-1], nil
			c.heap = c.heap[:len(c.heap)-1]
		}
	}
	for i, e := range c.heap {
		e.at = i
	}
	c.heap.init()
	kept := c.streamed[:0]
	for _, e := range c.streamed {
		if e.key.part == part {
			c.let(e)
		} else {
			kept = append(kept, e)
		}
	}
	clear(c.streamed[len(kept):])
	c.streamed = kept
}

// let releases an entry that nobody uses.
func (c *cache) let(e *entry) {
	idle := e.refs.CompareAndSwap(0, gone)
	invariant.Check(idle, "a list is let go of while %d use it", e.refs.Load())
	e.refs.Store(gone)
	c.release(e)
}

// snapshot returns the counts as of now.
func (c *cache) snapshot() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Hits = c.hits.Load()
	return s
}
