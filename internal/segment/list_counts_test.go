package segment

import (
	"cmp"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
)

// Sums of counts, small and large, are as in a map; they take no more memory than they need, and survive encoding.
func TestListCounts(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for range 50 {
		want := map[uint64]uint32{}
		var c listCounts
		for range 1 + rng.IntN(6) {
			var added []listCount
			for range rng.IntN(400) {
				key := rng.Uint64N(300) * 0x9e3779b97f4a7c15
				if slices.ContainsFunc(added, func(l listCount) bool { return l.key == key }) {
					continue
				}
				count := 1 + rng.Uint32N(300)
				if rng.IntN(20) == 0 {
					count = rng.Uint32()/8 + 1
				}
				added = append(added, listCount{key, count})
				want[key] += count
			}
			slices.SortFunc(added, func(a, b listCount) int { return cmp.Compare(a.key, b.key) })
			before, beforeAll := c, slices.Collect(c.all())
			c = c.with(added)
			if !slices.Equal(slices.Collect(before.all()), beforeAll) {
				t.Fatal("with changed its receiver")
			}
			if c.len() != len(want) || cap(c.keys) != len(want) || cap(c.counts) != len(want) {
				t.Fatalf("%d lists in %d and %d, want %d", c.len(), cap(c.keys), cap(c.counts), len(want))
			}
		}
		if got := maps.Collect(func(yield func(uint64, uint32) bool) {
			for l := range c.all() {
				if !yield(l.key, l.count) {
					return
				}
			}
		}); !maps.Equal(got, want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for key, n := range want {
			if got := c.find(key); got != n {
				t.Fatalf("key %d has %d, want %d", key, got, n)
			}
			if _, other := want[key+1]; !other && c.find(key+1) != 0 {
				t.Fatalf("key %d is there", key+1)
			}
		}
		encoded := c.append(nil)
		back, ok := decodeListCounts(encoded[8:], uint64(len(want)))
		if !ok || !slices.Equal(slices.Collect(back.all()), slices.Collect(c.all())) {
			t.Fatalf("decoded %t: %v, want %v", ok, back, c)
		}
		if _, ok := decodeListCounts(encoded[8:], uint64(len(want)+1)); ok {
			t.Fatal("a wrong number of lists was decoded")
		}
	}
}
