package pipeline

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// What goes for something large is what is worth least of all that lies together; if that is
// worth more, or some of it in use, nothing goes.
func TestEvictStretch(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 1))
	evicted, kept, held := 0, 0, 0
	for range 300 {
		const unit = stretchBytes / 4
		c := testCache(64*unit, 0)
		var all []*entry // by offset
		for i := uint64(0); ; i++ {
			size := min(int64(1+rng.IntN(6))*unit, 64*unit-c.main.used)
			if size == 0 {
				break
			}
			e := c.acquire(key(i), size, 1, float64(rng.IntN(1000)), ifFree)
			c.publish(e)
			all = append(all, e)
		}
		var free []*entry
		for _, e := range all {
			if rng.IntN(8) > 0 {
				e.unpin()
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
		worth := func(e *entry) float64 { return e.density * float64(e.extent.size) }
		size, most := int64(4+rng.IntN(20))*unit, float64(rng.IntN(4000))+0.5 // what lists are worth is whole
		if c.main.fits(size) {
			continue
		}
		// All stretches, one after the other.
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
		if at >= 0 && slices.ContainsFunc(all[at:to], func(e *entry) bool { return e.refs.Load() > 0 }) {
			at = -1
		}
		got := c.evictStretch(size, most/float64(size))
		if got != (at >= 0) {
			t.Fatalf("%d bytes for less than %g: evicted %v, but the least that lies together is worth %g", size, most, got, least)
		}
		if !got {
			kept++
			if c.snapshot().Evictions != 0 {
				t.Fatal("something went for nothing")
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
					held++ // another stretch, worth as much
				}
			}
		}
		if ok := c.main.fits(size); !ok || lost > least*(1+1e-9) {
			t.Fatalf("%d bytes: room %v for what was worth %g, where %g would have done", size, ok, lost, least)
		}
	}
	if evicted < 50 || kept < 50 || held > evicted/4 {
		t.Errorf("evicted %d times, not %d times, %d times others: the test is too easy", evicted, kept, held)
	}
}

// A stretch of which one list is in use by then stays.
func TestDropAll(t *testing.T) {
	c := testCache(4*stretchBytes, 0)
	for i := range uint64(4) {
		e := c.acquire(key(i), stretchBytes, 1, 1, ifFree)
		c.publish(e)
		e.unpin()
	}
	first, third := c.stretches.places[0].e, c.stretches.places[2].e
	if !third.pin() || c.dropAll(c.stretches.places) || c.snapshot().Lists != 4 || !first.pin() {
		t.Error("lists went with one that is in use")
	}
	first.unpin()
	third.unpin()
	if !c.dropAll(c.stretches.places) || c.snapshot().Lists != 0 || len(c.heap) != 0 || len(c.stretches.places) != 0 || c.dropAll(nil) {
		t.Errorf("%+v: want all gone", c.snapshot())
	}
}

// What lists are worth by now counts, not what they were when they came.
func TestEvictStretchOfUsedLists(t *testing.T) {
	c := testCache(4*stretchBytes, 0)
	var all []*entry
	for i := range uint64(4) {
		e := c.acquire(key(i), stretchBytes, 1, float64(10+i), ifFree)
		c.publish(e)
		e.unpin()
		all = append(all, e)
	}
	for range 9 { // uses of the first
		all[0].pin()
		all[0].unpin()
	}
	if !c.evictStretch(stretchBytes, 11.5/float64(stretchBytes)) || c.find(key(1)) != nil || c.find(key(0)) == nil {
		t.Error("want the second list gone, which is worth least by now")
	}
}

// Of more entries than it looks at it drops none, until they are far fewer.
func TestEvictStretchOfMany(t *testing.T) {
	const size = 1024
	c := testCache((stretchEntries+1)*size, 0)
	for i := range uint64(stretchEntries + 1) {
		k := key(i)
		k.part = uint32(i % 2)
		e := c.acquire(k, size, 1, 1, ifFree)
		c.publish(e)
		e.unpin()
	}
	if c.evictStretch(stretchBytes, 1) {
		t.Error("it looked at more than it should")
	}
	c.drop(0)
	if !c.evictStretch(stretchBytes, 1) || !c.main.fits(stretchBytes) {
		t.Error("it does not look again")
	}
}

func BenchmarkEvictStretch(b *testing.B) {
	for _, n := range []int{500, 4096, stretchEntries} {
		b.Run(fmt.Sprintf("entries=%d", n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(6, 1))
			c := testCache(int64(n)<<13, 0)
			for i := range uint64(n) {
				e := c.acquire(key(i), 1<<13, 1, 1+rng.Float64(), ifFree)
				c.publish(e)
				e.unpin()
			}
			for b.Loop() {
				if c.evictStretch(stretchBytes, 1.01/(1<<13)) {
					b.Fatal("something went for less than it is worth")
				}
			}
		})
	}
}
