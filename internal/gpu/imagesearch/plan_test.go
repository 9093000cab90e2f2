package imagesearch

import (
	"math/rand/v2"
	"testing"
)

// The keys of the blocks that share queries stay within their limit, and blocks that count have none.
func TestSharedKeys(t *testing.T) {
	c := randomCollection(t, rand.New(rand.NewPCG(7, 1)), 2000, 4, false, 3)
	c.toDevice()
	c.kernels.resident = 2000
	b, err := c.kernels.NewBatch(Limits{Queries: 300, Terms: 600, Hits: 300 * MaxK})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	limit := MaxKeys
	keysFor := func(k int, count bool, cost uint64) int {
		b.limits.Keys = limit
		b.Reset(c.segment)
		for i := range 300 {
			q := c.query(Mode(i%2), max(k, 1), nil, c.Saturation.AvgLen, 0, 1)
			q.gpu.K, q.gpu.Count = k, count
			if _, err := b.Add(&q.gpu); err != nil {
				t.Fatal(err)
			}
		}
		for _, jobs := range b.jobs {
			for i := range jobs {
				jobs[i].cost = 1 + cost*uint64(i%7)
			}
		}
		b.segment.NumDocs = 1 << 30 // room for splits
		b.plan()
		b.segment.NumDocs = c.segment.NumDocs
		return b.numKeys
	}
	for _, limit = range []int{MaxKeys, 100_000, 3000, 1} {
		for _, k := range []int{1, 10, 1000, MaxK} {
			for _, cost := range []uint64{1, 1000, 1 << 30} {
				if n := keysFor(k, true, cost); n > limit || n == 0 && limit == MaxKeys {
					t.Errorf("k %d, cost %d: %d keys of %d", k, cost, n, limit)
				}
			}
		}
	}
	limit = MaxKeys
	if with, without := keysFor(10, true, 1000), keysFor(10, false, 1000); with != without {
		t.Errorf("counts have %d keys", with-without)
	}
	if n := keysFor(0, true, 1000); n != 0 {
		t.Errorf("counts alone have %d keys", n)
	}
}

// The memory for keys grows by factors of eight, within its limit.
func TestReserveKeys(t *testing.T) {
	c := randomCollection(t, rand.New(rand.NewPCG(7, 2)), 2000, 1, false, 1)
	c.toDevice()
	for limit, sizes := range map[int][][2]int{ // keys that are needed, and that there are then
		4 * LeastKeys:   {{0, LeastKeys}, {LeastKeys, LeastKeys}, {LeastKeys + 1, 4 * LeastKeys}, {4 * LeastKeys, 4 * LeastKeys}, {5, 4 * LeastKeys}},
		16 * LeastKeys:  {{1, LeastKeys}, {2 * LeastKeys, 8 * LeastKeys}, {9 * LeastKeys, 16 * LeastKeys}},
		160 * LeastKeys: {{20 * LeastKeys, 20 * LeastKeys}},
		100:             {{1, 100}, {100, 100}},
	} {
		b, err := c.kernels.NewBatch(Limits{Queries: 1, Terms: 1, Hits: 1, Keys: limit})
		must(t, err)
		for _, size := range sizes {
			b.numKeys = size[0]
			must(t, b.reserve())
			if n := b.memory.keys.Len(); n != size[1] {
				t.Errorf("limit %d: %d keys need room for %d, want %d", limit, size[0], n, size[1])
			}
		}
		must(t, b.Close())
	}
}
