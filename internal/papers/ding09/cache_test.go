package ding09

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func newTestCache(t *testing.T, d *cuda.Device, limit int64) *cache {
	t.Helper()
	c, err := newCache(d, limit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.close(); err != nil {
			t.Error(err)
		}
	})
	return c
}

func numbered(id uint64) itemKey { return itemKey{kind: listItem, id: id} }

// take is bring of an item of 16 words, which count from id.
func take(t *testing.T, c *cache, id uint64) *item {
	t.Helper()
	words := make([]uint32, 14)
	for i := range words {
		words[i] = uint32(id) + uint32(i)
	}
	it, _, err := c.bring(numbered(id), content{parts: [][]uint32{words[:3], nil, words[3:]}})
	if err != nil {
		t.Fatal(err)
	}
	return it
}

const takenBytes = 4 * (4 + 12)

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	c := newTestCache(t, gputest.Open(t), 3*takenBytes)
	release := func(items ...*item) {
		t.Helper()
		if err := c.release(items); err != nil {
			t.Fatal(err)
		}
	}
	holds := func(ids ...uint64) {
		t.Helper()
		var got []uint64
		for id := range uint64(10) {
			if c.has(numbered(id)) {
				got = append(got, id)
			}
		}
		if !slices.Equal(got, ids) || c.size != takenBytes*int64(len(ids)) {
			t.Errorf("%v in %d bytes, want %v", got, c.size, ids)
		}
	}
	for id := range uint64(3) {
		release(take(t, c, id))
	}
	holds(0, 1, 2)
	release(c.find(numbered(0)))
	release(take(t, c, 3))
	holds(0, 2, 3)
	// Items in use are not evicted; the limit is exceeded until they are released.
	var used []*item
	for id := uint64(4); id < 9; id++ {
		used = append(used, take(t, c, id))
	}
	used = append(used, take(t, c, 4))
	holds(4, 5, 6, 7, 8)
	release(used[0])
	holds(4, 5, 6, 7, 8)
	release(used[1:]...)
	holds(4, 7, 8)
	if c.find(numbered(0)) != nil || c.bytesMoved() != 9*takenBytes {
		t.Errorf("%d bytes were moved", c.bytesMoved())
	}
}

// The parts of an item are aligned, and have the values of the host.
func TestCacheCopies(t *testing.T) {
	s := gputest.NewSession(t)
	c := newTestCache(t, s.Device, 1<<20)
	it := take(t, c, 70)
	for i, want := range [][]uint32{{70, 71, 72}, {}, {73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83}} {
		b := it.buffers[i]
		if got := gputest.Download(s, b); !slices.Equal(got, want) || b.Ptr()%16 != 0 {
			t.Errorf("part %d at %#x: %v, want %v", i, b.Ptr(), got, want)
		}
	}
	s.Must(c.release([]*item{it}))
}

// Memory that runs out on the device evicts idle items.
func TestCacheOutOfMemory(t *testing.T) {
	d := gputest.Open(t)
	c := newTestCache(t, d, 1<<20)
	used, idle := take(t, c, 0), take(t, c, 1)
	if err := c.release([]*item{idle}); err != nil {
		t.Fatal(err)
	}
	gputest.Fail(t, d, "cuMemAllocAsync", 1, cuda.OutOfMemory)
	items := []*item{used, take(t, c, 2)}
	if c.has(numbered(1)) || !c.has(numbered(0)) {
		t.Error("the idle item is kept, or the used one is not")
	}
	gputest.Fail(t, d, "cuMemAllocAsync", 1, cuda.OutOfMemory)
	if _, _, err := c.bring(numbered(3), content{parts: [][]uint32{{1}}}); err == nil || c.has(numbered(3)) {
		t.Error("an item without memory")
	}
	if err := c.release(items); err != nil {
		t.Fatal(err)
	}
	if err := c.empty(d); err != nil || c.size != 0 {
		t.Errorf("%v, %d bytes", err, c.size)
	}
}

// During a transfer, other items can be used and released. Users of the item itself wait for one
// transfer, whose time does not include the wait for the bus.
func TestCacheDuringTransfer(t *testing.T) {
	c := newTestCache(t, gputest.Open(t), takenBytes)
	idle := take(t, c, 0)
	if err := c.release([]*item{idle}); err != nil {
		t.Fatal(err)
	}
	c.bus.Lock()
	var unlocked time.Time // before the bus is unlocked
	var group sync.WaitGroup
	var items [3]*item
	for i := range items {
		group.Go(func() {
			it, moved, err := c.bring(numbered(1), content{parts: [][]uint32{{1, 2, 3}}})
			if items[i] = it; err != nil || moved.took > time.Since(unlocked) {
				t.Errorf("a transfer took %v of the %v since the bus was free: %v", moved.took, time.Since(unlocked), err)
			}
		})
	}
	for !c.has(numbered(1)) {
		time.Sleep(time.Millisecond)
	}
	// These would wait without end for the bus.
	used := c.find(numbered(0))
	if used == nil || !c.has(numbered(0)) || c.transferTime(1, 0) == 0 {
		t.Error("the item is missing")
	}
	if err := c.release([]*item{used}); err != nil {
		t.Error(err)
	}
	unlocked = time.Now()
	c.bus.Unlock()
	group.Wait()
	if items[0] != items[1] || items[0] != items[2] || items[0].users != 3 || c.bytesMoved() != takenBytes+16 {
		t.Errorf("items %p with %d users, %d bytes moved", items, items[0].users, c.bytesMoved())
	}
	if err := c.release([]*item{items[0], items[0], items[0]}); err != nil {
		t.Error(err)
	}
}

// An item that could not be loaded is loaded by the next user who waited for it.
func TestCacheFailedTransfer(t *testing.T) {
	d := gputest.Open(t)
	c := newTestCache(t, d, 1<<20)
	gputest.Fail(t, d, "cuMemAllocAsync", 1, cuda.OutOfMemory)
	c.bus.Lock()
	var group sync.WaitGroup
	results := make(chan *item, 2)
	for range 2 {
		group.Go(func() {
			it, _, _ := c.bring(numbered(1), content{parts: [][]uint32{{1}}})
			results <- it
		})
	}
	for !c.has(numbered(1)) {
		time.Sleep(time.Millisecond)
	}
	c.bus.Unlock()
	group.Wait()
	a, b := <-results, <-results
	if (a == nil) == (b == nil) || !c.has(numbered(1)) {
		t.Fatalf("items %p and %p, want one", a, b)
	}
	if a == nil {
		a = b
	}
	if err := c.release([]*item{a}); err != nil {
		t.Error(err)
	}
}
