package pipeline

import (
	"sync"
	"sync/atomic"
	"testing"
)

// A single query takes the lane used last, batches take turns, and no lane is taken twice.
func TestFreeLanes(t *testing.T) {
	lanes := []*lane{{}, {}, {}}
	f := newFreeLanes(len(lanes))
	for _, l := range lanes {
		f.put(l)
	}
	for range 3 {
		l := f.take(nil, 1)
		if l != lanes[2] {
			t.Fatal("a single query took another lane than the one put last")
		}
		f.put(l)
	}
	for i := range 2 * len(lanes) {
		l := f.take(nil, 2)
		if l != lanes[i%len(lanes)] {
			t.Fatalf("batch %d took no turn", i)
		}
		f.put(l)
	}

	var group sync.WaitGroup
	users := make(map[*lane]*atomic.Int32)
	for _, l := range lanes {
		users[l] = new(atomic.Int32)
	}
	for i := range 8 {
		group.Go(func() {
			for range 1000 {
				l := f.take(nil, 1+i%2)
				if n := users[l].Add(1); n != 1 {
					t.Errorf("a lane has %d users", n)
				}
				users[l].Add(-1)
				f.put(l)
			}
		})
	}
	group.Wait()
	if f.count() != len(lanes) {
		t.Errorf("%d of %d lanes are left", f.count(), len(lanes))
	}
	for range lanes {
		f.take(nil, 1)
	}
	done := make(chan struct{})
	close(done)
	if l := f.take(done, 1); l != nil {
		t.Error("a lane after the last one")
	}
}
