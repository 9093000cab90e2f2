package sched

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Jobs that arrive while another goroutine holds the lock do not wait for it, and are admitted in their order when it
// is released.
func TestPoolInbox(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, Stretch: -1, MaxQueue: 3})
		var order []int
		var group sync.WaitGroup
		p.mu.Lock()
		errs, ended := make([]error, 6), [6]time.Duration{}
		start := time.Now()
		cancelled, cancel := context.WithCancel(t.Context())
		defer cancel()
		for i := range errs {
			w := &sleeper{takes: both(10*ms, Never), outcome: func(Place) error { order = append(order, i); return nil }}
			j := w.job()
			ctx := t.Context()
			if i == 3 {
				j.Cost = both(Never, Never)
			}
			switch i {
			case 1:
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 5*ms)
				defer cancel()
			case 4:
				ctx = cancelled
			}
			group.Go(func() {
				errs[i] = p.Do(ctx, j, w)
				ended[i] = time.Since(start)
			})
			synctest.Wait() // all goroutines are durably blocked, which none is that waits for a mutex
		}
		if p.inbox.isEmpty() || p.s.Queued() != 0 {
			t.Error("the jobs are not in the inbox")
		}
		cancel()
		for range 1000 {
			runtime.Gosched() // the cancelled job waits for the lock
		}
		p.release()
		group.Wait()
		var shed *Overload
		for i, err := range errs {
			switch i {
			case 1:
				if !errors.As(err, &shed) || shed.Reason != TooLate || ended[i] != 0 {
					t.Errorf("the job with a deadline, after %v: %v", ended[i], err)
				}
			case 4:
				if !errors.Is(err, context.Canceled) || ended[i] != 0 {
					t.Errorf("the cancelled job, after %v: %v", ended[i], err)
				}
			case 3:
				if !errors.Is(err, ErrNoPlace) {
					t.Errorf("the job without a place: %v", err)
				}
			default:
				if err != nil {
					t.Errorf("job %d: %v", i, err)
				}
			}
		}
		if got, want := fmt.Sprint(order), "[0 2 5]"; got != want {
			t.Errorf("they ran in the order %s, want %s", got, want)
		}
		checkIdle(t, p)
	})
}

// A goroutine that has admitted many jobs leaves the next ones to the goroutine of one of them.
func TestPoolInboxPassesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: -1})
		release := occupy(t, p, CPU)
		var group sync.WaitGroup
		arrive := func(n int) {
			p.mu.Lock()
			for range n {
				w := &sleeper{takes: both(ms, Never)}
				group.Go(func() {
					if err := p.Do(t.Context(), w.job(), w); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait() // they are in the inbox
			p.mu.Unlock()
		}
		arrive(3)
		left, more := p.inbox.look(2)
		if left != -1 || !more || p.s.Queued() != 3 {
			t.Errorf("%d left, more %t, %d admitted", left, more, p.s.Queued())
		}
		arrive(4)
		if left, more = p.inbox.look(left); left != -1 || more {
			t.Errorf("after its turn: %d left, more %t", left, more)
		}
		synctest.Wait()
		if !p.inbox.isEmpty() || p.s.Queued() != 7 {
			t.Errorf("%d of 7 jobs are admitted", p.s.Queued())
		}
		for _, turn := range []int{0, 1} { // another goroutine took the jobs before this one had the lock; the next can arrive before it is free
			p.mu.Lock()
			left, more = p.inbox.lookInside(turn)
			if left != turn || !more {
				t.Errorf("nothing is there: %d left of %d, more %t", left, turn, more)
			}
		}
		if left, more = p.inbox.look(1); left != 1 || more {
			t.Errorf("an empty inbox: %d left, more %t", left, more)
		}
		release()
		group.Wait()
		checkIdle(t, p)
	})
}

// A job of the inbox is shed at its deadline, and by a full queue, as one that takes the lock.
func TestPoolInboxSheds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: 2})
		release := occupy(t, p, CPU)
		start := time.Now()
		var group sync.WaitGroup
		p.mu.Lock()
		outcomes := map[Reason]time.Duration{}
		var mu sync.Mutex
		for _, within := range []time.Duration{Never, 200 * ms, Never} {
			w := &sleeper{takes: both(50*ms, Never)}
			j := w.job()
			j.Within = within
			if within != Never {
				j.Cost[CPU] = ms // it is admitted
			}
			group.Go(func() {
				var shed *Overload
				if errors.As(p.Do(t.Context(), j, w), &shed) {
					mu.Lock()
					defer mu.Unlock()
					outcomes[shed.Reason] = time.Since(start)
				}
			})
			synctest.Wait()
		}
		p.release()
		synctest.Wait()
		mu.Lock()
		if at, ok := outcomes[QueueFull]; !ok || at != 0 {
			t.Errorf("shed at once: %v", outcomes)
		}
		mu.Unlock()
		time.Sleep(300 * ms) // the CPU is busy
		mu.Lock()
		if at, ok := outcomes[Expired]; !ok || at < 199*ms || at > 201*ms {
			t.Errorf("shed at its deadline: %v", outcomes)
		}
		mu.Unlock()
		release()
		group.Wait()
		checkIdle(t, p)
	})
}

// If the scheduler panics on the arrival of a job of the inbox, the panic is of the goroutine that holds the lock. The job
// ends, the jobs after it arrive, and the lock is free.
func TestPoolInboxPanics(t *testing.T) {
	for name, take := range map[string]func(p *Pool){
		"release": func(p *Pool) { p.release() },
		"Stats":   func(p *Pool) { p.mu.Unlock(); p.Stats() },
		"Lose":    func(p *Pool) { p.mu.Unlock(); p.Lose(GPU) },
		"attend":  func(p *Pool) { p.mu.Unlock(); p.inbox.attend() },
	} {
		t.Run(name, func(t *testing.T) { synctest.Test(t, func(t *testing.T) { checkInboxPanic(t, take) }) })
	}
}

func checkInboxPanic(t *testing.T, take func(p *Pool)) {
	p := newPool(t, Options{Policy: PolicyQuery, CPUs: 1, Lanes: 1})
	var group sync.WaitGroup
	var errs [3]error
	p.mu.Lock()
	for i := range errs {
		w := &sleeper{takes: both(ms, Never)}
		group.Go(func() { errs[i] = p.Do(t.Context(), w.job(), w) })
		synctest.Wait()
	}
	var runs [NumPlaces][]run
	for at := range runs {
		st := &p.s.queues.places[at]
		st.runs, runs[at] = nil, st.runs // the first job takes a server that does not exist
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("it does not panic")
			}
		}()
		take(p)
	}()
	if !p.mu.TryLock() {
		t.Fatal("the lock is held after a panic")
	}
	if p.s.Queued() == 0 {
		t.Error("no job waits")
	}
	for at := range runs {
		st := &p.s.queues.places[at]
		st.runs, st.idle = runs[at], []int32{0}
	}
	p.mu.Unlock()
	after := &sleeper{takes: both(ms, Never)}
	if err := p.Do(t.Context(), after.job(), after); err != nil {
		t.Errorf("a job after it: %v", err)
	}
	group.Wait()
	if !errors.Is(errs[0], ErrNoPlace) {
		t.Errorf("the job on whose arrival the scheduler panicked: %v", errs[0])
	}
	for _, err := range errs[1:] {
		if err != nil && !errors.Is(err, errScheduler) {
			t.Errorf("a job behind it: %v", err)
		}
	}
	checkIdle(t, p)
}

// A job leaves the queue if the scheduler panics while its goroutine empties the inbox for others.
func TestPoolInboxPanicsAfterPassing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(t, Options{Policy: PolicyCPU, CPUs: 1, MaxQueue: -1})
		release := occupy(t, p, CPU)
		var group sync.WaitGroup
		var panics [2]any
		p.mu.Lock()
		for i := range panics {
			w := &sleeper{takes: both(ms, Never)}
			group.Go(func() {
				defer func() { panics[i] = recover() }()
				if err := p.Do(t.Context(), w.job(), w); err != nil {
					t.Error(err)
				}
			})
			synctest.Wait()
		}
		p.s.expired = append(p.s.expired, nil) // the next dispatch panics
		p.inbox.passOn()
		synctest.Wait()
		checkUnlocked(t, p)
		if n := p.Stats().Places[CPU].Queued; n != 1 || panics[0] != nil || panics[1] == nil {
			t.Errorf("%d jobs wait, want the first; panics %v", n, panics)
		}
		release()
		time.Sleep(time.Second)
		checkIdle(t, p)
		group.Wait()
	})
}

// Many goroutines submit at the same time; each job runs once.
func TestPoolInboxUnderContention(t *testing.T) {
	for _, turn := range []int{admitsInTurn, 1} {
		t.Run(fmt.Sprint("turn=", turn), func(t *testing.T) { contend(t, turn) })
	}
}

func contend(t *testing.T, turn int) {
	p := newPool(t, Options{CPUs: 2, Lanes: 2, MaxQueue: -1, Deadline: time.Minute})
	p.inbox.turn = turn
	var group sync.WaitGroup
	var ran atomic.Int64
	const clients, each = 64, 200
	for range clients {
		group.Go(func() {
			w := &counter{ran: &ran}
			j := &Job{}
			for i := range each {
				j.Cost, j.Batched = both(20*time.Microsecond, 10*time.Microsecond), time.Microsecond
				if i%8 == 0 {
					j.Cost[GPU] = Never
				}
				if err := p.Do(t.Context(), j, w); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if n := ran.Load(); n != clients*each {
		t.Errorf("%d runs of %d jobs", n, clients*each)
	}
	checkIdle(t, p)
}

type counter struct{ ran *atomic.Int64 }

func (c *counter) Run(context.Context, Place) error {
	c.ran.Add(1)
	return nil
}

func (c *counter) RunBatch(_ context.Context, all []Work, _ []error) { c.ran.Add(int64(len(all))) }

// BenchmarkDoTogether is of goroutines that submit one job after another to a GPU with one lane.
func BenchmarkDoTogether(b *testing.B) {
	p := newPool(b, Options{CPUs: 16, Lanes: 4, MaxQueue: -1, Beside: 32})
	var ran atomic.Int64
	b.SetParallelism(64)
	b.RunParallel(func(pb *testing.PB) {
		w := &counter{ran: &ran}
		j := &Job{}
		for pb.Next() {
			j.Cost, j.Batched = both(100*ms, 50*time.Microsecond), 4*time.Microsecond
			if err := p.Do(b.Context(), j, w); err != nil {
				b.Error(err)
			}
		}
	})
}
