package residency

import (
	"math"
	"sync"
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/invariant"
)

// Entry is a form of a list that is in a memory or is being uploaded to it.
type Entry struct {
	key    listKey
	term   term
	extent extent
	// streamed: the list was not admitted and lies in the reserve, where later streamed
	// lists may replace it.
	streamed bool
	again    bool              // requested before this acquire
	image    imagesearch.Image // kindImage only; zero if the shard has no posting of the list
	packed   packed            // other kinds: addresses of the compressed list or of its directory, or a bitmap
	// lane is the uploader's number, event the number of its event that completes the upload.
	// Until publication, and for kindHost, lane is -1.
	lane, event int

	refs   atomic.Int32 // pins; negative: dropped
	uses   atomic.Uint32
	loaded atomic.Bool // the upload has completed
	// For kindHost only. readers has a bit for each uploader that copied from the entry. reads
	// counts runs that read it in place; shares sums the shares of blocks that they read, in
	// units of 1/wholeShare. tried is reads at the last attempt to promote the list.
	readers      atomic.Uint64
	reads, tried atomic.Uint32
	shares       atomic.Uint64

	gain      float64 // nanoseconds saved by a use
	frequency float64 // guarded by cache.mu, like the fields below
	density   float64
	at        int // index in cache.heap; -1: not in the heap
}

// pin prevents eviction until Unpin; it returns false if the entry was dropped. It takes no
// lock.
func (e *Entry) pin() bool {
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

// Unpin allows the entry to be evicted again.
func (e *Entry) Unpin() { e.refs.Add(-1) }

// wholeShare represents a share of 1 in Entry.shares.
const wholeShare = 1 << 20

// share is the mean share of blocks that runs read of a page-locked list.
func (e *Entry) share() float64 {
	n := e.reads.Load()
	if n == 0 {
		return usualShare
	}
	return min(float64(e.shares.Load())/wholeShare/float64(n), 1)
}

// cache records the lists in one memory, of a device or page-locked. It keeps the lists with
// the greatest benefit per byte: uses times the time saved by a use (gain.go), divided by size.
// A list is admitted if its benefit exceeds the total benefit of the lists it would evict. A
// list that is needed but not admitted streams through a reserve.
//
// Ding, He, Yan and Suel, WWW 2009, §5, describe such a cache in GPU memory without a
// replacement policy. We differ: benefits are per byte, since sizes of lists differ by a factor
// of a million, and frequencies control admission.
//
// It is safe for concurrent use.
type cache struct {
	// grow allocates a slab of at least n bytes, for main or for the reserve, and returns its
	// number and size, or false at the memory limit. The caller holds mu.
	grow func(n int64, reserve bool) (slab int, size int64, ok bool)
	// settle waits until no device accesses an unpinned entry, so that its memory can be
	// reused. The caller holds mu.
	settle  func(e *Entry)
	records *records // published entries

	mu          sync.Mutex
	claims      map[listKey]struct{} // lists being uploaded
	unclaimed   sync.Cond            // of mu
	frequencies frequencies
	main        space
	reserve     space
	heap        entryHeap // entries of main, least density first; densities may be out of date
	stretches   stretches // entries of heap
	streamed    []*Entry  // entries of the reserve, oldest first
	stats       CacheStats
	spare       *Entry // reused after a failed acquire
	// Scratch of evict and dropAll.
	victims, spared []*Entry
	trial           space

	used   atomic.Int64 // bytes of main; written with mu held
	hits   atomic.Int64 // hits and misses are part of stats; runs count them without mu
	misses atomic.Int64
}

// CacheStats are counts since a cache was created; griffin.GPUCacheStats documents them.
type CacheStats struct {
	Hits        int64 `json:"hits"`
	Misses      int64 `json:"misses"`
	Streamed    int64 `json:"streamed"`
	Evictions   int64 `json:"evictions"`
	Refused     int64 `json:"refused"`
	Lists       int64 `json:"lists"`
	Compressed  int64 `json:"compressed"`
	Directories int64 `json:"directories"`
	Filters     int64 `json:"filters"`
	Columns     int64 `json:"columns"`
	SizeBytes   int64 `json:"size_bytes"`
}

func (s *CacheStats) count(k kind, n int64) {
	switch k {
	case kindDirectory:
		s.Directories += n
		return
	case kindFilter:
		s.Filters += n
		return
	case kindColumn:
		s.Columns += n
		return
	case kindLent:
		return
	case kindPacked, kindHost:
		s.Compressed += n
	}
	s.Lists += n
}

// trackedLists limits the number of lists whose uses are counted.
const trackedLists = 1 << 20

func newCache(records *records, grow func(n int64, reserve bool) (int, int64, bool), settle func(*Entry)) *cache {
	c := &cache{
		grow: grow, settle: settle, records: records, claims: map[listKey]struct{}{}, frequencies: newFrequencies(trackedLists),
	}
	c.unclaimed.L = &c.mu
	return c
}

// find returns the pinned entry of a list, or nil.
func (c *cache) find(k listKey) *Entry {
	if r := c.records.find(k.name()); r != nil {
		return r.pinned(k.kind)
	}
	return nil
}

// claim returns the pinned entry of a list, or nil: then the caller uploads the list and calls
// unclaim, also on failure. Other callers of claim wait until then.
func (c *cache) claim(k listKey) *Entry {
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

// tryClaim claims a list without waiting, false if the list is resident or claimed.
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

func (c *cache) unclaim(k listKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.claims, k)
	c.unclaimed.Broadcast()
}

type admission uint8

const (
	ifFree admission = iota
	// ifBetter evicts entries with less benefit per byte.
	ifBetter
	// always evicts any unpinned entries if necessary.
	always
)

// acquire allocates memory for a claimed list and returns its pinned entry, or nil if there is
// no room. uses counts uses of the list since the last acquire; gain is the nanoseconds that a
// use saves. The caller fills the entry, which is private until then, and calls publish or
// abandon.
func (c *cache) acquire(k listKey, of term, size int64, uses uint32, gain float64, a admission) *Entry {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, halved := c.frequencies.add(k, uses)
	if halved {
		c.age()
	}
	e := c.spare
	if c.spare = nil; e == nil {
		e = new(Entry)
	}
	e.key, e.term, e.gain, e.frequency, e.again, e.at, e.lane = k, of, gain, float64(n), n > 1, -1, -1
	if !c.allocate(e, roundUp(size), a) {
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

func (c *cache) publish(e *Entry) {
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

func (c *cache) abandon(e *Entry) {
	c.mu.Lock()
	defer c.mu.Unlock()
	e.refs.Store(gone)
	c.release(e)
}

// gone is the value of Entry.refs of a dropped entry.
const gone = -1 << 30

// The caller holds mu.
func (c *cache) release(e *Entry) {
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

// allocate finds memory for e, with evictions if a allows them.
func (c *cache) allocate(e *Entry, size int64, a admission) bool {
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
	// The reserve is too small or in use: evict any unpinned entry.
	e.streamed = false
	if !c.evict(size, anyDensity, math.MaxInt) {
		return false
	}
	e.extent, ok = c.main.take(size)
	return ok
}

func (e *Entry) densityAt(frequency float64, size int64) float64 {
	return frequency * e.gain / float64(size)
}

// room returns the bytes that main can take below a limit without eviction.
func (c *cache) room(limit int64) int64 { return limit - c.used.Load() }

// fewVictims bounds the evictions for a list that is not needed at once: the search holds mu.
const fewVictims = 64

// anyDensity exceeds the density of every list.
const anyDensity = 1e300

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

// evict drops up to most entries with a density below limit, least first, until main has a
// free extent of size bytes. If it fails, it drops nothing and returns false. In fragmented
// memory it may drop more than size bytes, but the total benefit of the victims never
// exceeds limit*size.
func (c *cache) evict(size int64, limit float64, most int) bool {
	victims, spared := c.victims[:0], c.spared[:0]
	found, lost := false, 0.0
	trial := &c.trial
	for len(c.heap) > 0 && !found && len(victims) < most {
		e := c.heap.pop()
		if now := e.densityAt(e.frequency+float64(e.uses.Load()), e.extent.size); now > e.density {
			// It was used since: update its density.
			n, _ := c.frequencies.add(e.key, e.uses.Swap(0))
			e.frequency = float64(n)
			e.density = e.densityAt(e.frequency, e.extent.size)
			c.heap.push(e)
			continue
		}
		if e.density >= limit {
			spared = append(spared, e)
			break
		}
		worth := e.density * float64(e.extent.size)
		if lost+worth > limit*float64(size) { // a smaller entry may fit
			if spared = append(spared, e); len(spared) > fewVictims {
				break
			}
			continue
		}
		if !e.refs.CompareAndSwap(0, gone) {
			spared = append(spared, e)
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
	for _, e := range spared {
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
	clear(spared)
	c.victims, c.spared = victims[:0], spared[:0]
	return found
}

// age halves the frequencies of the entries, after c.frequencies were halved.
func (c *cache) age() {
	for _, e := range c.heap {
		e.frequency /= 2
		e.density = e.densityAt(e.frequency, e.extent.size)
	}
	c.heap.init()
	c.stretches.set(c.heap)
}

// drop drops all lists of a shard that no query uses.
func (c *cache) drop(shard uint32) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stretches.spots = nil
	for i := len(c.heap) - 1; i >= 0; i-- {
		if e := c.heap[i]; e.key.shard == shard {
			c.releaseIdle(e)
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
		if e.key.shard == shard {
			c.releaseIdle(e)
		} else {
			kept = append(kept, e)
		}
	}
	clear(c.streamed[len(kept):])
	c.streamed = kept
}

func (c *cache) releaseIdle(e *Entry) {
	idle := e.refs.CompareAndSwap(0, gone)
	invariant.Check(idle, "a list is dropped with %d pins", e.refs.Load())
	e.refs.Store(gone)
	c.release(e)
}

func (c *cache) snapshot() CacheStats {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Hits, s.Misses = c.hits.Load(), c.misses.Load()
	return s
}
