package pipeline

import (
	"math/rand/v2"
	"testing"
)

// testCache returns a cache over memory of so many bytes, a slab for each of main
// and reserve.
func testCache(mainBytes, reserveBytes int64) *cache {
	left := [2]int64{mainBytes, reserveBytes}
	slabs := 0
	return newCache(newRecords(), func(n int64, reserve bool) (int, int64, bool) {
		i := 0
		if reserve {
			i = 1
		}
		size := left[i]
		if size < n {
			return 0, 0, false
		}
		left[i] = 0
		slabs++
		return slabs - 1, size, true
	}, func(*entry) {})
}

// placement is what became of a request for a list.
type placement uint8

const (
	resident placement = iota // it is there
	absent                    // there is room now
	refused                   // there is no room
)

// request asks for a list as an uploader does: an absent one is to be published.
func request(c *cache, k listKey, size int64, evict bool) (*entry, placement) {
	if e := c.claim(k); e != nil {
		return e, resident
	}
	defer c.unclaim(k)
	a := ifFree
	if evict {
		a = always
	}
	e := c.acquire(k, size, 1, imageGain(size, false /* direct */), a)
	if e == nil {
		return nil, refused
	}
	return e, absent
}

func key(list uint64) listKey { return listKey{part: 1, list: list} }

// ask asks for a list as a run does, and lets go of it.
func ask(t *testing.T, c *cache, list uint64, size int64) placement {
	t.Helper()
	if e := c.find(key(list)); e != nil {
		e.unpin()
		return resident
	}
	e, placed := request(c, key(list), size, true)
	if placed == absent {
		c.publish(e)
	}
	if e != nil {
		e.unpin()
	}
	return placed
}

// A list that is asked for again and again stays while others come and go.
func TestCacheKeepsWhatIsAskedFor(t *testing.T) {
	c := testCache(8*1024, 2*1024)
	for range 20 {
		ask(t, c, 1, 1024)
	}
	for i := range uint64(1000) {
		ask(t, c, 100+i, 1024)
		if i%10 == 0 && ask(t, c, 1, 1024) != resident {
			t.Fatalf("the list that is asked for most is gone after %d others", i)
		}
	}
	s := c.snapshot()
	if s.Streamed == 0 || s.Evictions == 0 || s.SizeBytes > 10*1024 {
		t.Errorf("%+v: want lists streamed, and no more bytes than there are", s)
	}
}

// What comes back often replaces what does not, though it was there first.
func TestCacheAdmits(t *testing.T) {
	c := testCache(4*1024, 1024)
	for i := range uint64(4) {
		ask(t, c, i, 1024)
	}
	misses := 0
	for range 10 {
		if ask(t, c, 9, 1024) == absent {
			misses++
		}
		ask(t, c, 10, 1024) // replaces it in the reserve
		ask(t, c, 11, 1024)
	}
	if misses > 3 {
		t.Errorf("the list had to be brought %d of 10 times", misses)
	}
}

// Of lists asked for as often, the long ones go first: a byte of them saves less.
func TestCacheEvictsByBenefitPerByte(t *testing.T) {
	c := testCache(64*1024, 4*1024)
	ask(t, c, 1, 32*1024)
	for i := range uint64(4) {
		ask(t, c, 10+i, 8*1024)
	}
	ask(t, c, 20, 8*1024)
	for i := range uint64(4) {
		if ask(t, c, 10+i, 8*1024) != resident {
			t.Errorf("short list %d is gone", i)
		}
	}
	if ask(t, c, 1, 32*1024) == resident {
		t.Error("the long list stayed")
	}
}

// What comes is worth more by the byte than each that would have to go, but not than all of
// them: where free memory is in pieces, they are many.
func TestCacheEvictsNotWhatIsWorthMoreInAll(t *testing.T) {
	const numLists, size = 32, 1024
	for _, c := range []struct {
		uses uint32
		want bool
	}{{2, false}, {20, true}} {
		cache := testCache(numLists*size, 0)
		for i := range uint64(numLists) {
			gain := 900.0 // the first to go
			if i%4 == 0 {
				gain = 1000
			}
			e := cache.acquire(key(i), size, 1, gain, ifFree)
			cache.publish(e)
			e.unpin()
		}
		e := cache.acquire(key(100), 4*size, c.uses, 2200, ifBetter)
		if (e != nil) != c.want {
			t.Errorf("%d uses: admitted %v, want %v", c.uses, e != nil, c.want)
		}
	}
}

// A large list that is worth more than what comes does not keep small ones of less worth from
// going.
func TestCacheEvictsPastALargeList(t *testing.T) {
	const size = 1024
	c := testCache(1<<20+64*size, 0)
	put := func(list uint64, sizeBytes int64, density float64) bool {
		e := c.acquire(key(list), sizeBytes, 1, density*float64(sizeBytes), ifBetter)
		if e == nil {
			return false
		}
		c.publish(e)
		e.unpin()
		return true
	}
	put(0, 1<<20, 0.5)
	for i := range uint64(64) {
		put(1+i, size, 0.6)
	}
	for i := range uint64(64) {
		if !put(100+i, size, 10) {
			t.Fatalf("list %d has no room", i)
		}
	}
}

// A list in use is never moved or replaced, and what does not fit beside those in use
// is refused.
func TestCachePins(t *testing.T) {
	c := testCache(4*1024, 1024)
	var pinned []*entry
	for i := range uint64(5) {
		e, placed := request(c, key(i), 1024, true)
		if placed != absent {
			t.Fatalf("list %d: %d", i, placed)
		}
		c.publish(e)
		pinned = append(pinned, e)
	}
	if _, placed := request(c, key(9), 1024, true); placed != refused {
		t.Errorf("a list got room among others that are all in use: %d", placed)
	}
	for _, e := range pinned {
		if c.find(e.key) != e {
			t.Errorf("list %d is gone", e.key.list)
		}
		e.unpin()
		e.unpin()
	}
	if got := ask(t, c, 9, 4*1024); got != absent {
		t.Errorf("a list of all of main, when none is in use: %d", got)
	}
	if s := c.snapshot(); s.Refused != 1 {
		t.Errorf("%+v: want one refusal", s)
	}
}

// Without evict only free memory is given.
func TestCacheWarm(t *testing.T) {
	c := testCache(4*1024, 1024)
	for i := range uint64(4) {
		e, placed := request(c, key(i), 1024, false)
		if placed != absent {
			t.Fatalf("list %d: %d", i, placed)
		}
		c.publish(e)
		e.unpin()
	}
	if _, placed := request(c, key(9), 1024, false); placed != refused {
		t.Errorf("list 9: %d, want refused", placed)
	}
	if s := c.snapshot(); s.Evictions != 0 || s.Lists != 4 {
		t.Errorf("%+v: want 4 lists and no eviction", s)
	}
}

// Whatever is asked for in whatever order, extents of lists never overlap, all bytes
// are accounted for, and dropping a part frees all that it has.
func TestCacheRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const mainBytes, reserveBytes = 64 * 1024, 8 * 1024
	c := testCache(mainBytes, reserveBytes)
	c.frequencies.limit = 100 // halved now and then
	var pinned []*entry
	for step := range 20_000 {
		list := uint64(rng.ExpFloat64() * 40)
		k := listKey{part: uint32(list % 3), list: list}
		size := int64(256 + list*list%5000)
		e := c.find(k)
		if e == nil {
			var placed placement
			if e, placed = request(c, k, size, rng.IntN(8) > 0); placed == absent {
				if rng.IntN(20) == 0 {
					c.abandon(e)
					e = nil
				} else {
					c.publish(e)
				}
			}
		}
		if e != nil {
			if e.key != k || e.extent.size < size {
				t.Fatalf("asked for %+v of %d bytes, got %+v of %d", k, size, e.key, e.extent.size)
			}
			pinned = append(pinned, e)
		}
		for len(pinned) > 6 || len(pinned) > 0 && rng.IntN(3) == 0 {
			i := rng.IntN(len(pinned))
			pinned[i].unpin()
			pinned[i] = pinned[len(pinned)-1]
			pinned = pinned[:len(pinned)-1]
		}
		if step%500 == 0 {
			checkCache(t, c, mainBytes, reserveBytes)
		}
	}
	for _, e := range pinned {
		e.unpin()
	}
	for part := range uint32(3) {
		c.drop(part)
	}
	checkCache(t, c, mainBytes, reserveBytes)
	if s := c.snapshot(); s.SizeBytes != 0 || s.Lists != 0 || len(c.records.m) != 0 || s.Evictions < 100 || s.Streamed < 100 {
		t.Errorf("%+v, %d entries: want nothing left after much coming and going", s, len(c.records.m))
	}
}

func checkCache(t *testing.T, c *cache, mainBytes, reserveBytes int64) {
	t.Helper()
	used := [2]int64{}
	var all []*entry
	for _, r := range c.records.m {
		e := r.held[kindImage].Load()
		i := 0
		if e.streamed {
			i = 1
		}
		used[i] += e.extent.size
		all = append(all, e)
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if a.extent.slab == b.extent.slab && a.extent.offset < b.extent.offset+b.extent.size && b.extent.offset < a.extent.offset+a.extent.size {
				t.Fatalf("%+v overlaps %+v", a.extent, b.extent)
			}
		}
	}
	for i, p := range c.stretches.places {
		if p.e.extent != p.extent || p.e.at < 0 || i > 0 && c.stretches.places[i-1].compare(p.extent) >= 0 {
			t.Fatalf("place %d: %+v of %+v", i, p, p.e)
		}
	}
	if len(c.stretches.places) != len(c.heap) {
		t.Fatalf("%d places of %d entries", len(c.stretches.places), len(c.heap))
	}
	if used[0] != c.main.used || used[1] != c.reserve.used || used[0] > mainBytes || used[1] > reserveBytes ||
		used[0]+used[1] != c.snapshot().SizeBytes || len(all) != len(c.heap)+len(c.streamed) || int64(len(all)) != c.snapshot().Lists {
		t.Fatalf("lists take %v bytes; main has %d used, the reserve %d, stats %+v, %d lists in the heap, %d streamed",
			used, c.main.used, c.reserve.used, c.snapshot(), len(c.heap), len(c.streamed))
	}
}
