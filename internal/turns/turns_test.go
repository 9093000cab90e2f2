package turns

import (
	"sync"
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
	turns.Yield()
	called := false
	turns.Wait(func() { called = true })
	turns.Give()
	if !called {
		t.Error("Wait did not call")
	}
}
