package residency

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

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
	}, func(*Entry) {})
}

type placement uint8

const (
	resident placement = iota // already in the cache
	absent                    // admitted now
	refused                   // no room
)

// request acts as an uploader; the caller publishes an absent list.
func request(c *cache, k listKey, size int64, evict bool) (*Entry, placement) {
	if e := c.claim(k); e != nil {
		return e, resident
	}
	defer c.unclaim(k)
	a := ifFree
	if evict {
		a = always
	}
	e := c.acquire(k, term{}, size, 1, imageGain(size, false /* packed */), a)
	if e == nil {
		return nil, refused
	}
	return e, absent
}

func key(list uint64) listKey { return listKey{shard: 1, list: base.ListID(list)} }

func ask(t *testing.T, c *cache, list uint64, size int64) placement {
	t.Helper()
	if e := c.find(key(list)); e != nil {
		e.Unpin()
		return resident
	}
	e, placed := request(c, key(list), size, true)
	if placed == absent {
		c.publish(e)
	}
	if e != nil {
		e.Unpin()
	}
	return placed
}

func TestCacheKeepsFrequentList(t *testing.T) {
	c := testCache(8*1024, 2*1024)
	for range 20 {
		ask(t, c, 1, 1024)
	}
	for i := range uint64(1000) {
		ask(t, c, 100+i, 1024)
		if i%10 == 0 && ask(t, c, 1, 1024) != resident {
			t.Fatalf("the most frequent list was evicted after %d other requests", i)
		}
	}
	s := c.snapshot()
	if s.Streamed == 0 || s.Evictions == 0 || s.SizeBytes > 10*1024 {
		t.Errorf("%+v: want streamed lists, and a size within the memory", s)
	}
}

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
		ask(t, c, 10, 1024) // replaces list 9 in the reserve
		ask(t, c, 11, 1024)
	}
	if misses > 3 {
		t.Errorf("the list was missing %d of 10 times", misses)
	}
}

// Of equally frequent lists, the long ones save less per byte and are evicted first.
func TestCacheEvictsByBenefitPerByte(t *testing.T) {
	c := testCache(64*1024, 4*1024)
	ask(t, c, 1, 32*1024)
	for i := range uint64(4) {
		ask(t, c, 10+i, 8*1024)
	}
	ask(t, c, 20, 8*1024)
	for i := range uint64(4) {
		if ask(t, c, 10+i, 8*1024) != resident {
			t.Errorf("short list %d was evicted", i)
		}
	}
	if ask(t, c, 1, 32*1024) == resident {
		t.Error("the long list was not evicted")
	}
}

// In fragmented memory a list needs many victims; if it is worth more per byte than each but
// less than all together, it is not admitted.
func TestCacheComparesTotalBenefit(t *testing.T) {
	const numLists, size = 32, 1024
	for _, c := range []struct {
		uses uint32
		want bool
	}{{2, false}, {20, true}} {
		cache := testCache(numLists*size, 0)
		for i := range uint64(numLists) {
			gain := 900.0 // evicted first
			if i%4 == 0 {
				gain = 1000
			}
			e := cache.acquire(key(i), term{}, size, 1, gain, ifFree)
			cache.publish(e)
			e.Unpin()
		}
		e := cache.acquire(key(100), term{}, 4*size, c.uses, 2200, ifBetter)
		if (e != nil) != c.want {
			t.Errorf("%d uses: admitted %v, want %v", c.uses, e != nil, c.want)
		}
	}
}

func TestCacheEvictsPastALargeList(t *testing.T) {
	const size = 1024
	c := testCache(1<<20+64*size, 0)
	put := func(list uint64, sizeBytes int64, density float64) bool {
		e := c.acquire(key(list), term{}, sizeBytes, 1, density*float64(sizeBytes), ifBetter)
		if e == nil {
			return false
		}
		c.publish(e)
		e.Unpin()
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

// A list without room beside pinned ones is refused.
func TestCachePins(t *testing.T) {
	c := testCache(4*1024, 1024)
	var pinned []*Entry
	for i := range uint64(5) {
		e, placed := request(c, key(i), 1024, true)
		if placed != absent {
			t.Fatalf("list %d: %d", i, placed)
		}
		c.publish(e)
		pinned = append(pinned, e)
	}
	if _, placed := request(c, key(9), 1024, true); placed != refused {
		t.Errorf("with all lists pinned: %d, want refused", placed)
	}
	for _, e := range pinned {
		if c.find(e.key) != e {
			t.Errorf("list %d was evicted", e.key.list)
		}
		e.Unpin()
		e.Unpin()
	}
	if got := ask(t, c, 9, 4*1024); got != absent {
		t.Errorf("a list of the size of main, nothing pinned: %d", got)
	}
	if s := c.snapshot(); s.Refused != 1 {
		t.Errorf("%+v: want one refusal", s)
	}
}

func TestCacheIfFree(t *testing.T) {
	c := testCache(4*1024, 1024)
	for i := range uint64(4) {
		e, placed := request(c, key(i), 1024, false)
		if placed != absent {
			t.Fatalf("list %d: %d", i, placed)
		}
		c.publish(e)
		e.Unpin()
	}
	if _, placed := request(c, key(9), 1024, false); placed != refused {
		t.Errorf("list 9: %d, want refused", placed)
	}
	if s := c.snapshot(); s.Evictions != 0 || s.Lists != 4 {
		t.Errorf("%+v: want 4 lists and no eviction", s)
	}
}

// drop also releases lists in the reserve, and keeps other shards' lists, pinned or not.
func TestCacheDropsOneShard(t *testing.T) {
	c := testCache(1024, 2048)
	add := func(shard uint32, list uint64) *Entry {
		t.Helper()
		e, placed := request(c, listKey{shard: shard, list: base.ListID(list)}, 1024, true)
		if placed != absent {
			t.Fatalf("list %d of shard %d: %d", list, shard, placed)
		}
		c.publish(e)
		return e
	}
	there := func(shard uint32, list uint64) bool {
		e := c.find(listKey{shard: shard, list: base.ListID(list)})
		if e != nil {
			e.Unpin()
		}
		return e != nil
	}
	resident := add(1, 0) // main is full and pinned
	first, second := add(1, 1), add(2, 2)
	if !first.streamed || !second.streamed {
		t.Fatal("the lists are not in the reserve")
	}
	resident.Unpin()
	first.Unpin()
	c.drop(1)
	if there(1, 0) || there(1, 1) {
		t.Error("shard 1 still has lists")
	}
	if !there(2, 2) {
		t.Error("shard 2 has lost its list")
	}
	if s := c.snapshot(); s.Lists != 1 || s.SizeBytes != 1024 {
		t.Errorf("%+v: want one list of 1024 bytes", s)
	}
	second.Unpin()
	c.drop(2)
	if s := c.snapshot(); there(2, 2) || s.Lists != 0 || s.SizeBytes != 0 || c.main.used != 0 || c.reserve.used != 0 {
		t.Errorf("%+v, %d and %d bytes in use: want nothing", s, c.main.used, c.reserve.used)
	}
}

// Extents never overlap, all bytes are accounted for, and drop frees all lists of a shard.
func TestCacheRandom(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	const mainBytes, reserveBytes = 64 * 1024, 8 * 1024
	c := testCache(mainBytes, reserveBytes)
	c.frequencies.limit = 100 // forces halvings
	var pinned []*Entry
	for step := range 20_000 {
		list := uint64(rng.ExpFloat64() * 40)
		k := listKey{shard: uint32(list % 3), list: base.ListID(list)}
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
				t.Fatalf("requested %+v of %d bytes, got %+v of %d", k, size, e.key, e.extent.size)
			}
			pinned = append(pinned, e)
		}
		for len(pinned) > 6 || len(pinned) > 0 && rng.IntN(3) == 0 {
			i := rng.IntN(len(pinned))
			pinned[i].Unpin()
			pinned[i] = pinned[len(pinned)-1]
			pinned = pinned[:len(pinned)-1]
		}
		if step%500 == 0 {
			checkCache(t, c, mainBytes, reserveBytes)
		}
	}
	for _, e := range pinned {
		e.Unpin()
	}
	for shard := range uint32(3) {
		c.drop(shard)
	}
	checkCache(t, c, mainBytes, reserveBytes)
	if s := c.snapshot(); s.SizeBytes != 0 || s.Lists != 0 || len(c.records.m) != 0 || s.Evictions < 100 || s.Streamed < 100 {
		t.Errorf("%+v, %d records: want an empty cache after all drops", s, len(c.records.m))
	}
}

func checkCache(t *testing.T, c *cache, mainBytes, reserveBytes int64) {
	t.Helper()
	used := [2]int64{}
	var all []*Entry
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
	for i, p := range c.stretches.spots {
		if p.e.extent != p.extent || p.e.at < 0 || i > 0 && c.stretches.spots[i-1].compare(p.extent) >= 0 {
			t.Fatalf("place %d: %+v of %+v", i, p, p.e)
		}
	}
	if len(c.stretches.spots) != len(c.heap) {
		t.Fatalf("%d places of %d entries", len(c.stretches.spots), len(c.heap))
	}
	if used[0] != c.main.used || used[1] != c.reserve.used || used[0] > mainBytes || used[1] > reserveBytes ||
		used[0]+used[1] != c.snapshot().SizeBytes || len(all) != len(c.heap)+len(c.streamed) || int64(len(all)) != c.snapshot().Lists {
		t.Fatalf("lists take %v bytes; main has %d used, the reserve %d, stats %+v, %d lists in the heap, %d streamed",
			used, c.main.used, c.reserve.used, c.snapshot(), len(c.heap), len(c.streamed))
	}
}
