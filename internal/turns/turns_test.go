package turns

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Turns are handed on in the order of waiting, and there are never more than the limit.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(2)
		var mu sync.Mutex
		var order []int
		running, most := 0, 0
		for i := range 8 {
			go func() {
				turns.Take()
				mu.Lock()
				order = append(order, i)
				running++
				most = max(most, running)
				mu.Unlock()
				time.Sleep(time.Second)
				mu.Lock()
				running--
				mu.Unlock()
				turns.Give()
			}()
			time.Sleep(10 * time.Millisecond) // no two end at the same time
		}
		time.Sleep(time.Minute)
		mu.Lock()
		defer mu.Unlock()
		if most != 2 {
			t.Errorf("%d had a turn at the same time, want 2", most)
		}
		for i, n := range order {
			if i != n {
				t.Fatalf("order %v", order)
			}
		}
		if len(order) != 8 {
			t.Errorf("%d had a turn, want 8", len(order))
		}
	})
}

// The lowest rank that waits has the next turn, and others one in fairness turns.
func TestRanks(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		turns.Take()
		const each = 40
		var order []int // by the holder of the turn
		for _, rank := range []int{7, 3, 3, 5} {
			go func() {
				mine := turns.At(rank)
				for range each {
					mine.Take()
					order = append(order, rank)
					time.Sleep(time.Millisecond) // the others wait again
					mine.Give()
				}
			}()
		}
		synctest.Wait()
		turns.Give()
		time.Sleep(time.Minute)
		synctest.Wait()
		counts := map[int]int{}
		for i, rank := range order {
			if counts[rank]++; i+1 == 2*each { // goroutines of rank 3 still wait
				if n := counts[5] + counts[7]; n < 2*each/fairness-2 || n > 2*each/fairness+2 {
					t.Errorf("%d of the first %d turns were of rank 5 and 7, want one in %d: %v", n, i+1, fairness, order)
				}
			}
		}
		if counts[3] != 2*each || counts[5] != each || counts[7] != each {
			t.Errorf("%v turns", counts)
		}
	})
}

// A goroutine that yields keeps its turn mostly if only higher ranks wait, and gives it to its own and lower ones.
func TestYieldRanks(t *testing.T) {
	for rank, want := range map[int]int64{2: 20, 3: 20, 4: 20 / fairness} { // of the one that waits; the yielding one has 3
		synctest.Test(t, func(t *testing.T) {
			turns := New(1).At(3)
			turns.Take()
			var n atomic.Int64
			go func() {
				mine := turns.At(rank)
				for n.Load() < 20 {
					mine.Take()
					n.Add(1)
					mine.Give()
				}
			}()
			yield := func() {
				synctest.Wait()
				turns.Yield()
				synctest.Wait()
			}
			for range 20 {
				yield()
			}
			if n.Load() != want {
				t.Errorf("rank %d had %d turns in 20 yields, want %d", rank, n.Load(), want)
			}
			for n.Load() < 20 {
				yield()
			}
			turns.Give()
		})
	}
}

// A goroutine that yields waits until those before it have had their turn. One that waits for another in
// Wait does not keep it from its turn.
func TestYieldWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		turns.Take()
		turns.Yield() // nobody waits
		ran := make(chan int, 2)
		go func() {
			turns.Take()
			ran <- 1
			turns.Give()
		}()
		synctest.Wait()
		if len(ran) != 0 {
			t.Fatal("two have a turn, want one")
		}
		turns.Yield()
		if len(ran) != 1 {
			t.Fatal("Yield returned before the one that waited had its turn")
		}
		done := make(chan struct{})
		go func() {
			turns.Take()
			close(done)
			turns.Give()
		}()
		turns.Wait(func() { <-done })
		turns.Give()
	})
}

// More turns go to those who wait at once; fewer are not taken away.
func TestSetLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turns := New(1)
		turns.Take()
		ran := make(chan struct{}, 3)
		for range 3 {
			go func() {
				turns.Take()
				ran <- struct{}{}
			}()
		}
		synctest.Wait()
		turns.SetLimit(3)
		synctest.Wait()
		if len(ran) != 2 {
			t.Fatalf("%d got a turn after the limit grew by 2", len(ran))
		}
		turns.SetLimit(1)
		turns.Give()
		turns.Give()
		synctest.Wait()
		if len(ran) != 2 {
			t.Fatal("a turn above the limit was handed on")
		}
		turns.Give()
		synctest.Wait()
		if len(ran) != 3 {
			t.Fatal("the last turn was not handed on")
		}
		turns.Give()
	})
}

func TestNil(t *testing.T) {
	var turns *Turns
	turns.Take()
	turns.At(2).Yield()
	called := false
	turns.Wait(func() { called = true })
	turns.Give()
	if !called {
		t.Error("Wait did not call")
	}
}
