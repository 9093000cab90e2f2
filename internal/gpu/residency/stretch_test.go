package residency

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// The result equals an exhaustive search. Nothing is dropped if it is worth more than the
// limit, or pinned.
func TestEvictStretch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	evicted, kept, held := 0, 0, 0
	for range 300 {
		const unit = stretchBytes / 4
		c := testCache(64*unit, 0)
		var all []*Entry // by offset
		for i := uint64(0); ; i++ {
			size := min(int64(1+rng.IntN(6))*unit, 64*unit-c.main.used)
			if size == 0 {
				break
			}
			e := c.acquire(key(i), term{}, size, 1, float64(rng.IntN(1000)), ifFree)
			c.publish(e)
			all = append(all, e)
		}
		var free []*Entry
		for _, e := range all {
			if rng.IntN(8) > 0 {
				e.Unpin()
			}
			if e.refs.Load() == 0 && rng.IntN(10) == 0 {
				free = append(free, e)
			}
		}
		for _, e := range free {
			e.refs.Store(gone)
			c.heap.remove(e.at)
			c.release(e)
			e.gain, e.density = 0, 0
		}
		worth := func(e *Entry) float64 { return e.density * float64(e.extent.size) }
		size, most := int64(4+rng.IntN(20))*unit, float64(rng.IntN(4000))+0.5 // worths are integers
		if c.main.fits(size) {
			continue
		}
		least, at, to := most, -1, -1
		for i := range all {
			length, sum := int64(0), 0.0
			for j := i; j < len(all); j++ {
				length, sum = length+all[j].extent.size, sum+worth(all[j])
				if length >= size {
					if sum < least {
						least, at, to = sum, i, j+1
					}
					break
				}
			}
		}
		if at >= 0 && slices.ContainsFunc(all[at:to], func(e *Entry) bool { return e.refs.Load() > 0 }) {
			at = -1
		}
		got := c.evictStretch(size, most/float64(size))
		if got != (at >= 0) {
			t.Fatalf("%d bytes, limit %g: evicted %v, least total worth %g", size, most, got, least)
		}
		if !got {
			kept++
			if c.snapshot().Evictions != 0 {
				t.Fatal("evicted lists without making room")
			}
			continue
		}
		evicted++
		lost := 0.0
		for i, e := range all {
			if slices.Contains(free, e) {
				continue
			}
			if went := e.refs.Load() < 0; went {
				lost += worth(e)
				if i < at || i >= to {
					held++ // another stretch of equal worth
				}
			}
		}
		if ok := c.main.fits(size); !ok || lost > least*(1+1e-9) {
			t.Fatalf("%d bytes: room %v after evicting a worth of %g, want %g", size, ok, lost, least)
		}
	}
	if evicted < 50 || kept < 50 || held > evicted/4 {
		t.Errorf("evicted %d times, kept %d times, %d times an equal stretch: the test is too easy", evicted, kept, held)
	}
}

func TestDropAll(t *testing.T) {
	c := testCache(4*stretchBytes, 0)
	for i := range uint64(4) {
		e := c.acquire(key(i), term{}, stretchBytes, 1, 1, ifFree)
		c.publish(e)
		e.Unpin()
	}
	first, third := c.stretches.spots[0].e, c.stretches.spots[2].e
	if !third.pin() || c.dropAll(c.stretches.spots) || c.snapshot().Lists != 4 || !first.pin() {
		t.Error("lists were dropped with a pinned one among them")
	}
	first.Unpin()
	third.Unpin()
	if !c.dropAll(c.stretches.spots) || c.snapshot().Lists != 0 || len(c.heap) != 0 || len(c.stretches.spots) != 0 || c.dropAll(nil) {
		t.Errorf("%+v: want all lists dropped", c.snapshot())
	}
}

// Current worths decide, not those at publication.
func TestEvictStretchOfUsedLists(t *testing.T) {
	c := testCache(4*stretchBytes, 0)
	var all []*Entry
	for i := range uint64(4) {
		e := c.acquire(key(i), term{}, stretchBytes, 1, float64(10+i), ifFree)
		c.publish(e)
		e.Unpin()
		all = append(all, e)
	}
	for range 9 { // 9 uses of list 0
		all[0].pin()
		all[0].Unpin()
	}
	if !c.evictStretch(stretchBytes, 11.5/float64(stretchBytes)) || c.find(key(1)) != nil || c.find(key(0)) == nil {
		t.Error("want list 1 evicted, the least worth now")
	}
}

// Above stretchEntries entries nothing is dropped.
func TestEvictStretchOfMany(t *testing.T) {
	const size = 1024
	c := testCache((stretchEntries+1)*size, 0)
	for i := range uint64(stretchEntries + 1) {
		k := key(i)
		k.shard = uint32(i % 2)
		e := c.acquire(k, term{}, size, 1, 1, ifFree)
		c.publish(e)
		e.Unpin()
	}
	if c.evictStretch(stretchBytes, 1) {
		t.Error("evicted lists of a memory with too many entries")
	}
	c.drop(0)
	if !c.evictStretch(stretchBytes, 1) || !c.main.fits(stretchBytes) {
		t.Error("no eviction after most entries were dropped")
	}
}

func BenchmarkEvictStretch(b *testing.B) {
	for _, n := range []int{500, 4096, stretchEntries} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(6, 1))
			c := testCache(int64(n)<<13, 0)
			for i := range uint64(n) {
				e := c.acquire(key(i), term{}, 1<<13, 1, 1+rng.Float64(), ifFree)
				c.publish(e)
				e.Unpin()
			}
			for b.Loop() {
				if c.evictStretch(stretchBytes, 1.01/(1<<13)) {
					b.Fatal("something went for less than it is worth")
				}
			}
		})
	}
}
