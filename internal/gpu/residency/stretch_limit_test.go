package residency

import (
	"testing"
)

// numSlabs slabs of slabBytes each, filled with unpinned entries of one unit.
func fillSlabs(t *testing.T, numSlabs int, slabBytes int64, gain func(i int) float64) (*cache, []*Entry) {
	t.Helper()
	slabs := 0
	c := newCache(newRecords(), func(int64, bool) (int, int64, bool) {
		slabs++
		return slabs - 1, slabBytes, slabs <= numSlabs
	}, func(*Entry) {})
	return c, fillCache(t, c, numSlabs*int(slabBytes/spaceAlign), gain)
}

func one(int) float64 { return 1 }

// A stretch has at most stretchVictims entries.
func TestStretchVictims(t *testing.T) {
	for _, n := range []int64{stretchVictims, stretchVictims + 1} {
		c, all := fillSlabs(t, 1, 2*(stretchVictims+1)*spaceAlign, one)
		want := n == stretchVictims
		if got := c.evictStretch(n*spaceAlign, 1); got != want {
			t.Errorf("%d victims: evicted %t, want %t", n, got, want)
		}
		if gone := numGone(all); want && gone != stretchVictims || !want && gone != 0 {
			t.Errorf("%d victims: %d entries went", n, gone)
		}
		if s := c.snapshot(); s.Evictions != int64(numGone(all)) || s.Lists != int64(len(all)-numGone(all)) {
			t.Errorf("%+v, but %d entries went", s, numGone(all))
		}
		checkHeap(t, c.heap)
		checkCache(t, c, c.used.Load(), 0)
	}
}

// A stretch lies in one slab, and has no gap.
func TestStretchIsContiguous(t *testing.T) {
	const unit = stretchBytes / spaceAlign
	if c, all := fillSlabs(t, 2, stretchBytes-spaceAlign, one); c.evictStretch(stretchBytes, 1) || numGone(all) != 0 {
		t.Error("a stretch over two slabs")
	}
	if c, all := fillSlabs(t, 2, stretchBytes, one); !c.evictStretch(stretchBytes, 1) || !c.main.fits(stretchBytes) || numGone(all) != unit {
		t.Errorf("%d entries went, want those of a slab", numGone(all))
	}
	// An entry that is being uploaded separates its neighbours.
	c := testCache(2*stretchBytes-spaceAlign, 0)
	for i := range 2*unit - 1 {
		e := c.acquire(key(uint64(i)), term{}, spaceAlign, 1, 1, ifFree)
		if i != unit-1 {
			c.publish(e)
			e.Unpin()
		}
	}
	if c.evictStretch(stretchBytes, 1) || c.snapshot().Evictions != 0 {
		t.Error("a stretch includes an entry that is being uploaded")
	}
}

// A stretch is worth less than the list that replaces it, and contains a list of less benefit
// per byte. Free memory is worth nothing.
func TestStretchWorth(t *testing.T) {
	cacheOf := func(gains ...float64) (*cache, []*Entry) {
		c := testCache(int64(len(gains))*stretchBytes, 0)
		var all []*Entry
		for i, gain := range gains {
			e := c.acquire(key(uint64(i)), term{}, stretchBytes, 1, gain, ifFree)
			c.publish(e)
			e.Unpin()
			all = append(all, e)
		}
		return c, all
	}
	c, all := cacheOf(1000, 1000)
	if c.evictStretch(stretchBytes, 1000./stretchBytes) || numGone(all) != 0 {
		t.Error("evicted a list of the same worth")
	}
	if !c.evictStretch(stretchBytes, 1000.5/stretchBytes) || numGone(all) != 1 {
		t.Error("no eviction of a list of less worth")
	}
	// Beside free memory the entry of density 1000 would be cheap enough, but the list itself
	// has no greater benefit per byte.
	if c.evictStretch(2*stretchBytes, 1000./stretchBytes) {
		t.Error("evicted a list of the same benefit per byte")
	}
	if !c.evictStretch(2*stretchBytes, 1000.5/stretchBytes) || c.snapshot().Lists != 0 {
		t.Error("no eviction of a list beside free memory")
	}
	if c, all = cacheOf(1e6, 1e6); !c.evictStretch(stretchBytes, 1.1e6/stretchBytes) || numGone(all) != 1 {
		t.Error("no eviction of a list of great worth by one of more")
	}
	c, all = cacheOf(500, 9000)
	all[0].pin() // a second use
	all[0].Unpin()
	if c.evictStretch(stretchBytes, 1000./stretchBytes) || numGone(all) != 0 {
		t.Error("evicted a list that is worth the limit after a use")
	}
	if !c.evictStretch(stretchBytes, 1000.5/stretchBytes) || all[0].refs.Load() >= 0 {
		t.Error("no eviction after a use")
	}
}

// A memory with more than stretchEntries entries is searched again after half of them went.
func TestStretchEntries(t *testing.T) {
	const extra = stretchBytes / spaceAlign
	c, all := fillSlabs(t, 1, stretchEntries*spaceAlign, one)
	c.stretches.set(c.heap)
	if !c.evictStretch(stretchBytes, 1) || numGone(all) != extra {
		t.Error("no eviction from stretchEntries entries")
	}
	const n = stretchEntries + 2*extra
	c, all = fillSlabs(t, 1, n*spaceAlign, func(i int) float64 { return 1 + float64(i)/n })
	refused := func(what string, size int64) {
		t.Helper()
		before := c.snapshot()
		if c.evictStretch(size, 2) || c.snapshot() != before {
			t.Errorf("%s: evicted from %d entries", what, len(c.heap))
		}
	}
	refused("full", stretchBytes)
	c.age()
	refused("after set", stretchBytes)
	const most = stretchEntries/2 + 1
	if !c.evict((n-most)*spaceAlign, anyDensity, n) || len(c.heap) != most || all[0].refs.Load() >= 0 || all[n-1].refs.Load() < 0 {
		t.Fatalf("%d entries are left", len(c.heap))
	}
	larger := int64(n-most+10) * spaceAlign // than the free memory
	refused("more than half", larger)
	if last := c.heap[0]; !c.evict(int64(n-most+1)*spaceAlign, anyDensity, 1) || last.refs.Load() >= 0 {
		t.Fatal("no further eviction")
	}
	if !c.evictStretch(larger, 2) || len(c.heap) != most-10 {
		t.Errorf("%d entries are left: no eviction from half of stretchEntries", len(c.heap))
	}
	checkCache(t, c, c.used.Load(), 0)
}

func TestSpaceTakesSmallest(t *testing.T) {
	var s space
	for slab, size := range []int64{3, 2, 4, 2} {
		s.addSlab(slab, size*spaceAlign)
	}
	for i, want := range []extent{{1, 0, 256}, {1, 256, 256}, {3, 0, 512}, {0, 0, 256}, {0, 256, 512}, {2, 0, 1024}} {
		if got, ok := s.take(want.size); !ok || got != want {
			t.Errorf("extent %d: %+v, %t; want %+v", i, got, ok, want)
		}
	}
	if _, ok := s.take(1); ok || len(s.free) != 0 || s.used != 11*spaceAlign {
		t.Errorf("%+v, %d bytes used", s.free, s.used)
	}
}
