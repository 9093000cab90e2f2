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
	keysFor := func(k int, count bool, cost uint64) int {
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
	for _, k := range []int{1, 10, 1000, MaxK} {
		for _, cost := range []uint64{1, 1000, 1 << 30} {
			if n := keysFor(k, true, cost); n > maxSpareKeys || n == 0 {
				t.Errorf("k %d, cost %d: %d keys of %d", k, cost, n, maxSpareKeys)
			}
		}
	}
	if with, without := keysFor(10, true, 1000), keysFor(10, false, 1000); with != without {
		t.Errorf("counts have %d keys", with-without)
	}
	if n := keysFor(0, true, 1000); n != 0 {
		t.Errorf("counts alone have %d keys", n)
	}
}
