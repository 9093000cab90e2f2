package residency

import (
	"runtime"
	"slices"
	"testing"
)

// fillCache adds entries of one unit and returns them by address, unpinned. Entry i saves
// gain(i) nanoseconds.
func fillCache(t *testing.T, c *cache, n int, gain func(i int) float64) (all []*Entry) {
	t.Helper()
	for i := range n {
		e := c.acquire(key(uint64(i)), term{}, spaceAlign, 1, gain(i), ifFree)
		if e == nil {
			t.Fatalf("no room for entry %d", i)
		}
		c.publish(e)
		e.Unpin()
		all = append(all, e)
	}
	return all
}

func numGone(all []*Entry) (n int) {
	for _, e := range all {
		if e.refs.Load() < 0 {
			n++
		}
	}
	return n
}

// A list that is not needed at once replaces at most fewVictims lists; one that is needed, any
// number, and stays out of the reserve if its benefit suffices.
func TestCacheVictims(t *testing.T) {
	for _, c := range []struct {
		victims int
		a       admission
		want    bool
	}{{fewVictims, ifBetter, true}, {fewVictims + 1, ifBetter, false}, {fewVictims + 1, always, true}} {
		cache := testCache(100*spaceAlign, 100*spaceAlign)
		all := fillCache(t, cache, 100, func(i int) float64 { return float64(1 + i) }) // evicted in order
		e := cache.acquire(key(1000), term{}, int64(c.victims)*spaceAlign, 1, 1e9, c.a)
		if (e != nil) != c.want {
			t.Errorf("%d victims: admitted %t, want %t", c.victims, e != nil, c.want)
		}
		s, want := cache.snapshot(), 0
		if c.want {
			want = c.victims
		}
		if n := numGone(all); n != want || s.Evictions != int64(want) || s.Streamed != 0 || s.Refused != 0 || e != nil && e.streamed {
			t.Errorf("%d victims, %+v: want %d, and nothing streamed", n, s, want)
		}
	}
}

// A search passes over fewVictims lists whose eviction would cost too much, not more.
func TestCacheSparedLists(t *testing.T) {
	for _, spared := range []int{fewVictims, fewVictims + 1} {
		c := testCache(int64(spared*16+1)*spaceAlign, 0)
		for i := range spared { // low density, but large
			e := c.acquire(key(uint64(2000+i)), term{}, 16*spaceAlign, 1, 1600, ifFree)
			c.publish(e)
			e.Unpin()
		}
		small := fillCache(t, c, 1, func(int) float64 { return 200 })[0]
		e := c.acquire(key(1000), term{}, spaceAlign, 1, 300, ifBetter)
		if want := spared == fewVictims; (e != nil) != want || (small.refs.Load() < 0) != want {
			t.Errorf("beyond %d large lists: admitted %t, want %t", spared, e != nil, want)
		}
		checkHeap(t, c.heap)
		if want := int64(len(c.heap)); e == nil && (c.snapshot().Lists != want || want != int64(spared+1)) {
			t.Errorf("%+v, %d entries in the heap", c.snapshot(), want)
		}
	}
}

// A list replaces victims only if their total benefit is at most its own.
func TestCacheWorthOfVictims(t *testing.T) {
	for gain, want := range map[float64]bool{99: false, 100: true, 101: true} {
		c := testCache(2*spaceAlign, 0)
		e := c.acquire(key(1), term{}, 2*spaceAlign, 1, 100, ifFree)
		c.publish(e)
		e.Unpin()
		if got := c.acquire(key(2), term{}, spaceAlign, 1, gain, ifBetter); (got != nil) != want {
			t.Errorf("a list of benefit %g replaces one of 100: %t, want %t", gain, got != nil, want)
		}
	}
	// Two victims of 60 each are worth more than 100, although neither is.
	for gain, want := range map[float64]bool{100: false, 125: true} {
		c := testCache(4*spaceAlign, 0)
		all := fillCache(t, c, 4, func(i int) float64 { return 60 - 59*float64(i%3/2) }) // 60, 60, 1, 60
		all[2].pin()
		if got := c.acquire(key(9), term{}, 2*spaceAlign, 1, gain, ifBetter); (got != nil) != want || numGone(all) != 0 && !want {
			t.Errorf("a list of benefit %g replaces two of 60: %t, want %t", gain, got != nil, want)
		}
	}
}

// Statistics, room and settled entries after each kind of load.
func TestCacheCounts(t *testing.T) {
	c := testCache(4*spaceAlign, 2*spaceAlign)
	var settled []*Entry
	c.settle = func(e *Entry) { settled = append(settled, e) }
	check := func(what string, used int64, want CacheStats) {
		t.Helper()
		if got := c.snapshot(); got != want || c.room(4*spaceAlign) != 4*spaceAlign-used || c.used.Load() != used {
			t.Errorf("%s: %+v, room for %d bytes; want %+v and %d", what, got, c.room(4*spaceAlign), want, 4*spaceAlign-used)
		}
	}
	put := func(k listKey, size int64, gain float64, a admission) *Entry {
		e := c.acquire(k, term{}, size, 1, gain, a)
		if e != nil {
			c.publish(e)
		}
		return e
	}
	check("empty", 0, CacheStats{})
	image := put(key(1), 1, 10, ifFree)
	check("image", 256, CacheStats{Lists: 1, SizeBytes: 256})
	packed := put(key(1).of(kindPacked), 257, 100, ifBetter)
	check("packed", 768, CacheStats{Lists: 2, Compressed: 1, SizeBytes: 768})
	directory := put(key(1).of(kindDirectory), 256, 100, always)
	check("directory", 1024, CacheStats{Lists: 2, Compressed: 1, Directories: 1, SizeBytes: 1024})
	if put(key(2), 1, 1000, ifFree) != nil {
		t.Error("room in a full cache")
	}
	check("refused", 1024, CacheStats{Refused: 1, Lists: 2, Compressed: 1, Directories: 1, SizeBytes: 1024})
	if put(key(2), 1, 1000, ifBetter) != nil {
		t.Error("room in a full cache")
	}
	check("refused, not needed", 1024, CacheStats{Refused: 1, Lists: 2, Compressed: 1, Directories: 1, SizeBytes: 1024})
	streamed := put(key(3), 512, 1, always)
	check("streamed", 1024, CacheStats{Streamed: 1, Refused: 1, Lists: 3, Compressed: 1, Directories: 1, SizeBytes: 1536})
	streamed.Unpin()
	if put(key(4), 512, 1, always); !slices.Equal(settled, []*Entry{streamed}) || !image.pin() {
		t.Error("want the streamed list replaced, after a wait for its upload")
	}
	check("replaced", 1024, CacheStats{Streamed: 2, Refused: 1, Evictions: 1, Lists: 3, Compressed: 1, Directories: 1, SizeBytes: 1536})
	image.Unpin()
	image.Unpin()
	settled = nil
	if put(key(5), 256, 1000, ifBetter) == nil || !slices.Equal(settled, []*Entry{image}) {
		t.Error("want the image evicted, after a wait for its upload")
	}
	check("evicted", 1024, CacheStats{Streamed: 2, Refused: 1, Evictions: 2, Lists: 3, Compressed: 1, Directories: 1, SizeBytes: 1536})
	settled = nil
	c.drop(9)
	packed.Unpin()
	directory.Unpin()
	for _, e := range []*Entry{packed, directory} { // like AbandonAll
		c.heap.remove(e.at)
		c.abandon(e)
		if e.pin() || e.refs.Load() >= 0 {
			t.Error("an abandoned entry can be pinned")
		}
	}
	check("abandoned", 256, CacheStats{Streamed: 2, Refused: 1, Evictions: 2, Lists: 2, SizeBytes: 768})
	if !slices.Equal(settled, []*Entry{packed, directory}) {
		t.Error("no wait for abandoned uploads")
	}
}

// A claim lasts until unclaim; other callers of claim wait, callers of tryClaim do not.
func TestCacheClaims(t *testing.T) {
	c := testCache(1024, 0)
	if c.claim(key(1)) != nil || c.tryClaim(key(1)) || !c.tryClaim(key(2)) || c.tryClaim(key(2)) || len(c.claims) != 2 {
		t.Fatalf("claims %v", c.claims)
	}
	found := make(chan *Entry)
	go func() { found <- c.claim(key(1)) }()
	for range 100 {
		runtime.Gosched()
	}
	select {
	case e := <-found:
		t.Errorf("claim = %v for a claimed list", e)
	default:
	}
	e := c.acquire(key(1), term{}, 1, 1, 1, ifFree)
	c.publish(e)
	c.unclaim(key(1))
	if got := <-found; got != e || e.refs.Load() != 2 || len(c.claims) != 1 {
		t.Errorf("the waiting caller got %v, %d pins, %d claims", got, e.refs.Load(), len(c.claims))
	}
	if c.tryClaim(key(1)) || c.claim(key(1)) != e {
		t.Error("a resident list was claimed")
	}
	c.unclaim(key(2))
	if !c.tryClaim(key(2)) {
		t.Error("a list cannot be claimed again")
	}
}

// Halving the frequencies halves the worth of all entries; dropping a shard keeps the order.
func TestCacheAges(t *testing.T) {
	c := testCache(100*spaceAlign, 0)
	c.frequencies.limit = 50
	all := fillCache(t, c, 50, func(i int) float64 { return 256 * float64(1+i*37%50) })
	checkCache(t, c, 100*spaceAlign, 0)
	c.publish(c.acquire(key(50), term{}, spaceAlign, 1, 1, ifFree)) // halves
	for i, e := range all {
		want := float64(1+i*37%50) / 2
		if e.frequency != 0.5 || e.density != want {
			t.Errorf("entry %d: frequency %g, density %g; want 0.5, %g", i, e.frequency, e.density, want)
		}
	}
	for _, p := range c.stretches.spots {
		if p.worth != p.e.worth(0) {
			t.Errorf("worth %g of an entry of %g", p.worth, p.e.worth(0))
		}
	}
	checkHeap(t, c.heap)
	checkCache(t, c, 100*spaceAlign, 0)
}

func TestCacheDropKeepsOrder(t *testing.T) {
	c := testCache(100*spaceAlign, 0)
	for i := range 100 {
		k := key(uint64(i))
		k.shard = uint32(i * i % 3)
		e := c.acquire(k, term{}, spaceAlign, 1, float64(i*37%100), ifFree)
		c.publish(e)
		e.Unpin()
	}
	c.drop(0)
	checkHeap(t, c.heap)
	checkCache(t, c, 100*spaceAlign, 0)
	if len(c.heap) != 66 || c.snapshot().Evictions != 0 {
		t.Errorf("%d entries are left, %+v", len(c.heap), c.snapshot())
	}
	c.drop(1)
	if len(c.heap) != 0 || len(c.stretches.spots) != 0 || c.used.Load() != 0 {
		t.Errorf("%d entries are left", len(c.heap))
	}
}
