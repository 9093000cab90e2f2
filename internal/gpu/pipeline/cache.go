package pipeline

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/fastpath"
	"github.com/griffin-search/griffin/internal/invariant"
)

// entry is what a memory holds of a list, or is on its way there.
type entry struct {
	key    listKey
	extent extent
	// streamed says that the list was not admitted: it lies in the reserve, to be
	// replaced by the next one that is not.
	streamed bool
	again    bool           // it was asked for before
	image    fastpath.Image // of kindImage; zero if the part has no posting of the list
	packed   packed         // where the compressed list is, or its directory; of other kinds
	// The uploader, by its number, which is that of its lane or comes after them, and which of
	// its events happens when the device has made the entry; lane is -1 before, and of kindHost.
	lane, event int

	refs   atomic.Int32 // queries that use it now; below 0: gone
	uses   atomic.Uint32
	loaded atomic.Bool // the device has finished making it
	// readers has a bit for each uploader that has copied from it; reads counts the
	// runs that have read it in place, shares sums up the share of its blocks that each was to
	// read, in parts of wholeShare, and tried is what reads was when it was last tried to
	// promote it (all kindHost).
	readers      atomic.Uint64
	reads, tried atomic.Uint32
	shares       atomic.Uint64

	gain      float64 // what a use saves, in nanoseconds
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

// wholeShare is a share of 1 in entry.shares.
const wholeShare = 1 << 20

// share is the mean of the shares that were read of a list in page-locked memory.
func (e *entry) share() float64 {
	n := e.reads.Load()
	if n == 0 {
		return usualShare
	}
	return min(float64(e.shares.Load())/wholeShare/float64(n), 1)
}

// cache says which lists are in a memory, of a device or page-locked, and where. Memory
// that is short goes to what has the greatest benefit per byte: how often it is asked
// for, times what a use saves (gain.go), over its size. Something is admitted if its
// benefit is greater than that of all that would have to go for it; what is needed all the
// same is streamed through a reserve of memory that all of it shares.
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
	// settle waits until no device writes or reads an entry that nobody has pinned, so
	// that its memory can be another's. It is called with mu held.
	settle  func(e *entry)
	records *records // of the entries that are published

	mu          sync.Mutex
	claims      map[listKey]struct{} // lists that runs are bringing
	unclaimed   sync.Cond            // of mu
	frequencies frequencies
	main        space
	reserve     space
	heap        entryHeap // of those in main, least density first; densities may have grown since
	stretches   stretches // of heap
	streamed    []*entry  // of those in the reserve, oldest first
	stats       CacheStats
	spare       *entry // of an acquire for which there was no room
	// Scratch of evict and dropAll.
	victims, others []*entry
	trial           space

	used   atomic.Int64 // bytes of main; changed with mu held
	hits   atomic.Int64 // of stats; counted by runs, as misses is
	misses atomic.Int64
}

// CacheStats count what a cache did since it was made.
type CacheStats struct {
	// Hits counts lists that were there when a query asked for them, Misses those
	// that had to be brought, or read over the bus.
	Hits   int64 `json:"hits"`
	Misses int64 `json:"misses"`
	// Streamed counts misses that were not admitted, Evictions lists (or directories)
	// that went to make room, Refused those for which there was none: their queries went
	// to the CPU or waited for others.
	Streamed  int64 `json:"streamed"`
	Evictions int64 `json:"evictions"`
	Refused   int64 `json:"refused"`
	// Lists are there now, Compressed of them not as images; Directories of compressed
	// lists are there on their own. SizeBytes is what all that takes.
	Lists       int64 `json:"lists"`
	Compressed  int64 `json:"compressed"`
	Directories int64 `json:"directories"`
	SizeBytes   int64 `json:"size_bytes"`
}

// count counts n more entries of a kind.
func (s *CacheStats) count(k kind, n int64) {
	switch k {
	case kindDirectory:
		s.Directories += n
		return
	case kindPacked, kindHost:
		s.Compressed += n
	}
	s.Lists += n
}

// trackedLists is how many lists' uses are counted.
const trackedLists = 1 << 20

func newCache(records *records, grow func(n int64, reserve bool) (int, int64, bool), settle func(*entry)) *cache {
	c := &cache{
		grow: grow, settle: settle, records: records, claims: map[listKey]struct{}{}, frequencies: newFrequencies(trackedLists),
	}
	c.unclaimed.L = &c.mu
	return c
}

// find returns the pinned entry of a list, nil if it is not there.
func (c *cache) find(k listKey) *entry {
	if r := c.records.find(k.name()); r != nil {
		return r.pinned(k.kind)
	}
	return nil
}

// claim returns the pinned entry of a list, or nil: then the caller is the one to bring
// it, and must call unclaim when it has or cannot. Others that want it wait until then.
func (c *cache) claim(k listKey) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	for {
		if e := c.find(k); e != nil {
			return e
		}
		if _, taken := c.claims[k]; !taken {
			c.claims[k] = struct{}{}
			return nil
		}
		c.unclaimed.Wait()
	}
}

// tryClaim claims a list that is not there and that nobody else brings; false: it is, or
// somebody does.
func (c *cache) tryClaim(k listKey) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, taken := c.claims[k]; taken {
		return false
	}
	if r := c.records.find(k.name()); r != nil && r.there(k.kind) {
		return false
	}
	c.claims[k] = struct{}{}
	return true
}

// unclaim ends a claim.
func (c *cache) unclaim(k listKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, k)
	c.unclaimed.Broadcast()
}

// admission says what may go for something new.
type admission uint8

const (
	// ifFree lets nothing go.
	ifFree admission = iota
	// ifBetter lets go what has less benefit per byte.
	ifBetter
	// always lets go whatever is not in use, if it must.
	always
)

// acquire returns a new entry, pinned, with memory for what the caller has claimed, which
// was asked for so many times since the last acquire, and of which a use saves gain
// nanoseconds. nil: there is no room, while others use it if that matters. The caller must
// fill in the entry and then call publish or abandon; until then nobody else sees it.
func (c *cache) acquire(k listKey, size int64, uses uint32, gain float64, a admission) *entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, halved := c.frequencies.add(k, uses)
	if halved {
		c.age()
	}
	e := c.spare
	if c.spare = nil; e == nil {
		e = new(entry)
	}
	e.key, e.gain, e.frequency, e.again, e.at, e.lane = k, gain, float64(n), n > 1, -1, -1
	if !c.place(e, roundUp(size), a) {
		e.streamed = false
		c.spare = e
		if a != ifBetter {
			c.stats.Refused++
		}
		return nil
	}
	e.refs.Store(1)
	e.density = e.densityAt(e.frequency, e.extent.size)
	if e.streamed {
		c.stats.Streamed++
	}
	c.used.Store(c.main.used)
	c.stats.SizeBytes += e.extent.size
	c.stats.count(k.kind, 1)
	return e
}

// publish lets others find the entry.
func (c *cache) publish(e *entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.records.add(e)
	if e.streamed {
		c.streamed = append(c.streamed, e)
	} else {
		c.heap.push(e)
		c.stretches.add(e)
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
	c.settle(e)
	if e.streamed {
		c.reserve.give(e.extent)
	} else {
		c.main.give(e.extent)
		c.stretches.remove(e)
	}
	c.used.Store(c.main.used)
	c.stats.SizeBytes -= e.extent.size
	c.stats.count(e.key.kind, -1)
	c.records.remove(e)
}

// place finds memory for e, and makes some free for it if need be.
func (c *cache) place(e *entry, size int64, a admission) bool {
	var ok bool
	if e.extent, ok = c.take(&c.main, size, false); ok || a == ifFree {
		return ok
	}
	most := fewVictims
	if a == always {
		most = math.MaxInt
	}
	if limit := e.densityAt(e.frequency, size); c.evictStretch(size, limit) || c.evict(size, limit, most) {
		if e.extent, ok = c.main.take(size); ok {
			return true
		}
	}
	if a == ifBetter {
		return false
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
	if !c.evict(size, everything, math.MaxInt) {
		return false
	}
	e.extent, ok = c.main.take(size)
	return ok
}

// densityAt is the benefit per byte.
func (e *entry) densityAt(frequency float64, size int64) float64 {
	return frequency * e.gain / float64(size)
}

// room returns how many bytes of main may still be taken of so many, without anything
// having to go.
func (c *cache) room(limit int64) int64 { return limit - c.used.Load() }

// fewVictims is how many entries go at most for one that is not needed at once: that it is
// looked for holds up others.
const fewVictims = 64

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

// evict drops up to most lists of less than a density, least first, until main has a piece
// of size bytes; if there are not enough of them, or they are in use, it drops none
// and returns false. Where free memory is in pieces, it may have to drop more
// than size bytes; but not what is worth more in all than size bytes of that density.
func (c *cache) evict(size int64, limit float64, most int) bool {
	victims, others := c.victims[:0], c.others[:0]
	found, lost := false, 0.0
	trial := &c.trial
	for len(c.heap) > 0 && !found && len(victims) < most {
		e := c.heap.pop()
		if now := e.densityAt(e.frequency+float64(e.uses.Load()), e.extent.size); now > e.density {
			// It was used since: its place in the heap is another one.
			n, _ := c.frequencies.add(e.key, e.uses.Swap(0))
			e.frequency = float64(n)
			e.density = e.densityAt(e.frequency, e.extent.size)
			c.heap.push(e)
			continue
		}
		if e.density >= limit {
			others = append(others, e)
			break
		}
		worth := e.density * float64(e.extent.size)
		if lost+worth > limit*float64(size) { // a smaller one may do
			if others = append(others, e); len(others) > fewVictims {
				break
			}
			continue
		}
		if !e.refs.CompareAndSwap(0, gone) {
			others = append(others, e)
			continue
		}
		if len(victims) == 0 {
			trial.free = append(trial.free[:0], c.main.free...)
		}
		victims = append(victims, e)
		lost += worth
		trial.insert(e.extent)
		found = trial.fits(size)
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
	clear(victims)
	clear(others)
	c.victims, c.others = victims[:0], others[:0]
	return found
}

// age follows a halving of the frequencies.
func (c *cache) age() {
	for _, e := range c.heap {
		e.frequency /= 2
		e.density = e.densityAt(e.frequency, e.extent.size)
	}
	c.heap.init()
	c.stretches.set(c.heap)
}

// drop lets go of all lists of a part, which no query uses.
func (c *cache) drop(part uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stretches.places = nil
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
	c.stretches.set(c.heap)
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
	s.Hits, s.Misses = c.hits.Load(), c.misses.Load()
	return s
}
