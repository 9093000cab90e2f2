package turns

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Work waits for searches that run at the same time, until the answer of the last one has left.
func TestGate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		g.Pass() // nobody searches
		began := time.Now()
		var passed atomic.Int64 // ns
		for i := range 3 {
			time.AfterFunc(time.Duration(i)*2*time.Millisecond, g.Enter)
			time.AfterFunc(time.Duration(10+i)*time.Millisecond, g.Leave)
		}
		for range 4 {
			go func() {
				time.Sleep(time.Millisecond)
				g.Pass()
				passed.Add(int64(time.Since(began)))
			}()
		}
		time.Sleep(time.Second)
		synctest.Wait()
		if got, want := time.Duration(passed.Load())/4, 12*time.Millisecond+linger; got != want {
			t.Errorf("work goes on after %v, want %v", got, want)
		}
		g.Pass()
		began = time.Now()
		g.Enter()
		g.Leave()
		time.Sleep(linger / 2)
		g.Enter() // before the answer has left
		time.AfterFunc(linger, g.Leave)
		g.Pass()
		if got, want := time.Since(began), linger/2+2*linger; got != want {
			t.Errorf("work goes on after %v, want %v", got, want)
		}
	})
}

// Without work, searches neither close the gate nor start its timer. The first work that comes waits for the search
// that runs.
func TestGateWithoutWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		for range 3 {
			g.Enter()
			g.Leave()
			if g.closed.Load() || g.lingers != nil {
				t.Error("a search alone has closed the gate")
			}
		}
		for range 2 {
			g.Enter()
			time.AfterFunc(time.Millisecond, g.Leave)
			began := time.Now()
			g.Pass()
			if got, want := time.Since(began), time.Millisecond+linger; got != want {
				t.Errorf("work goes on after %v, want %v", got, want)
			}
			g.Enter() // the work that has waited continues meanwhile
			if !g.closed.Load() {
				t.Error("a search beside work has not closed the gate")
			}
			g.Leave()
			time.Sleep(2 * linger)
			g.Enter() // the work has ended
			g.Leave()
			if g.closed.Load() {
				t.Error("a search after the work has closed the gate")
			}
		}
	})
}

// Work that is cancelled does not wait.
func TestGateContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		ctx, cancel := context.WithCancel(t.Context())
		if err := g.PassContext(ctx); err != nil {
			t.Error(err)
		}
		g.Enter()
		time.AfterFunc(time.Millisecond, cancel)
		began := time.Now()
		if err := g.PassContext(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
		time.AfterFunc(time.Millisecond, g.Leave)
		if err := g.PassContext(t.Context()); err != nil || time.Since(began) != 2*time.Millisecond+linger {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// Work that waits again, because the gate has closed again before it could open it, still sees the end of its context.
func TestGateContextAfterTimer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		g.Enter()
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(maxCredit-time.Millisecond, func() { // more savings than the work has seen
			g.mu.Lock()
			defer g.mu.Unlock()
			g.credit += maxCredit
		})
		time.AfterFunc(maxCredit+5*time.Millisecond, cancel)
		began := time.Now()
		if err := g.PassContext(ctx); !errors.Is(err, context.Canceled) || time.Since(began) != maxCredit+5*time.Millisecond {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// A long search delays work for maxCredit, and the next one not before minCredit is saved.
func TestGateCredit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := NewGate()
		wait := func() time.Duration {
			began := time.Now()
			g.Pass()
			return time.Since(began)
		}
		time.Sleep(time.Hour) // savings end at maxCredit
		g.Enter()
		if got := wait(); got != maxCredit {
			t.Errorf("waited for %v", got)
		}
		time.Sleep(minCredit / 2)
		g.Enter()
		if got := wait(); got != 0 {
			t.Errorf("waited for %v without credit", got)
		}
		time.Sleep(minCredit)
		g.Enter()
		if got, want := wait(), minCredit*3/2; got != want {
			t.Errorf("waited for %v, want %v", got, want)
		}
		time.Sleep(2 * minCredit)
		g.Leave()
		g.Leave()
		g.Leave()
		g.Enter()
		time.Sleep(minCredit)
		g.Leave() // it keeps the rest of the credit
		g.Enter()
		if got, want := wait(), minCredit; got != want {
			t.Errorf("waited for %v, want %v", got, want)
		}
		g.Leave()
	})
}

// Searches without end, one after another or at the same time, leave half of the time to work.
func TestGateShare(t *testing.T) {
	for _, clients := range []int{1, 5} {
		synctest.Test(t, func(t *testing.T) {
			const piece = 100 * time.Microsecond
			g := NewGate()
			end := time.Now().Add(10 * time.Second)
			var group sync.WaitGroup
			for i := range clients {
				group.Go(func() {
					for time.Now().Before(end) {
						g.Enter()
						time.Sleep(time.Millisecond + time.Duration(i)*piece)
						g.Leave()
					}
				})
			}
			var worked time.Duration
			for time.Now().Before(end) {
				g.Pass()
				time.Sleep(piece)
				worked += piece
			}
			group.Wait()
			if worked < 4900*time.Millisecond || worked > 6*time.Second {
				t.Errorf("%d clients: work had %v of 10 s", clients, worked)
			}
		})
	}
}

// The race detector sees searches and work at the same time.
func TestGateRace(t *testing.T) {
	g := NewGate()
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 200 {
				g.Enter()
				g.Leave()
			}
		})
		group.Go(func() {
			for range 2000 {
				g.Pass()
			}
		})
	}
	group.Wait()
	g.Pass()
	g.mu.Lock()
	defer g.mu.Unlock()
	if n := g.searches.Load(); n != 0 || g.opened != nil || g.closed.Load() {
		t.Errorf("%d searches; closed: %t", n, g.closed.Load())
	}
	var none *Gate
	none.Enter()
	none.Pass()
	none.Leave()
}

func BenchmarkSearch(b *testing.B) {
	g := NewGate()
	for b.Loop() {
		g.Enter()
		g.Leave()
	}
}

func BenchmarkPass(b *testing.B) {
	g := NewGate()
	for b.Loop() {
		g.Pass()
	}
}
