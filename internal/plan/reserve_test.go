package plan

import (
	"os"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// reserveTest runs shared queries with a reserve of its own.
type reserveTest struct {
	*testing.T
	reserve *reserve
	plan    *Plan

	mu    sync.Mutex
	files []*os.File // two for each helper that waited
}

func newReserveTest(t *testing.T, stay time.Duration) *reserveTest {
	s := segmentsOf(t, docsOf(1, "w0"))
	r := &reserveTest{T: t, plan: prepare(t, s, testScratch(t, "whitespace"), "w0", Options{K: 10})}
	r.reserve = &reserve{most: 4, stay: stay, pipe: r.pipe}
	t.Cleanup(func() { // all leave
		r.reserve.mu.Lock()
		r.reserve.most = 0
		for _, h := range r.reserve.idle {
			h.ready.SetReadDeadline(time.Now())
		}
		r.reserve.mu.Unlock()
		r.awaitLeft()
	})
	return r
}

func (r *reserveTest) pipe() (ready, wake *os.File, err error) {
	ready, wake, err = os.Pipe()
	r.note(ready, wake)
	return ready, wake, err
}

func (r *reserveTest) note(files ...*os.File) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.files = append(r.files, files...)
}

func (r *reserveTest) pipes() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.files) / 2
}

// share runs a query of three tasks with at most n helpers and returns how often one began.
func (r *reserveTest) share(n int) int64 {
	debug.SetPanicOnFault(true) // as in helpers
	sc := testScratch(r.T, "whitespace")
	r.plan.ResetHits(sc)
	run := sc.stage(r.plan, &r.plan.stages[0], r.Context())
	run.crew = eagerCrew(n+1, 0)
	run.crew.start = r.reserve.start
	run.crew.enter()
	of := newTeam(run.crew, 3, 0)
	of.each = true
	var ran atomic.Int64
	var work Work
	if err := run.share(of, &work, func(*worker, int, int) (from, to base.DocID, err error) {
		if !debug.SetPanicOnFault(true) {
			r.Error("a fault ends the process")
		}
		ran.Add(1)
		return 0, 0, nil
	}); err != nil || ran.Load() != 3 {
		r.Errorf("error %v, %d of 3 tasks", err, ran.Load())
	}
	run.crew.leave()
	return run.crew.Stats().Helpers
}

// await waits until n helpers wait.
func (r *reserveTest) await(n int) {
	for r.waiting() != n {
		time.Sleep(time.Millisecond)
	}
}

func (r *reserveTest) waiting() int {
	r.reserve.mu.Lock()
	defer r.reserve.mu.Unlock()
	return len(r.reserve.idle)
}

// awaitLeft waits until all pipes are closed.
func (r *reserveTest) awaitLeft() {
	r.mu.Lock()
	files := r.files
	r.mu.Unlock()
	for _, f := range files {
		for _, err := f.Stat(); err == nil; _, err = f.Stat() {
			time.Sleep(time.Millisecond)
		}
	}
}

func TestReserveStartsAgain(t *testing.T) {
	r := newReserveTest(t, time.Hour)
	for range 50 {
		if n := r.share(1); n != 1 {
			t.Fatalf("%d helpers", n)
		}
		r.await(1)
	}
	if n := r.pipes(); n != 1 {
		t.Errorf("%d helpers waited between queries of one helper", n)
	}
}

// The helper that came last is started first, and the number of those that wait is bounded.
func TestReserveTakesLast(t *testing.T) {
	r := &reserve{most: 2, stay: time.Hour, pipe: os.Pipe}
	var waiting [3]helper
	for i := range waiting {
		if may := r.enter(&waiting[i]); may != (i < r.most) {
			t.Errorf("helper %d may wait: %v", i, may)
		}
		defer waiting[i].ready.Close()
		defer waiting[i].wake.Close()
	}
	of := new(team)
	for _, want := range []*helper{&waiting[1], &waiting[0], nil} {
		got := r.take(of)
		if got != want || got != nil && got.team.Load() != of {
			t.Fatalf("took %p, want %p", got, want)
		}
	}
}

func TestReserveLeaves(t *testing.T) {
	r := newReserveTest(t, time.Millisecond)
	r.share(1)
	for r.pipes() == 0 {
		time.Sleep(time.Millisecond)
	}
	r.awaitLeft()
	if n := r.waiting(); n != 0 {
		t.Errorf("%d helpers wait though their pipes are closed", n)
	}
}

// A team is served once, even if its helper leaves at the same time, has no pipe, or cannot be woken.
func TestReserveKeepsTeams(t *testing.T) {
	for _, stay := range []time.Duration{0, 20 * time.Microsecond} {
		for _, c := range []struct {
			name            string
			noPipe, noWrite int // of four helpers
		}{{name: "pipes"}, {"no pipes", 4, 0}, {"no writes", 0, 4}, {"some", 1, 1}} {
			t.Run(c.name+" "+stay.String(), func(t *testing.T) {
				r := newReserveTest(t, stay)
				var made atomic.Int64
				r.reserve.pipe = func() (ready, wake *os.File, err error) {
					switch n := int(made.Add(1) % 4); {
					case n < c.noPipe:
						return nil, nil, os.ErrPermission
					case n < c.noPipe+c.noWrite:
						if ready, _, err = os.Pipe(); err == nil {
							wake, err = os.Open(os.DevNull) // for reading
							r.note(ready, wake)
						}
						return ready, wake, err
					}
					return r.pipe()
				}
				var group sync.WaitGroup
				for range 4 {
					group.Go(func() {
						for range sampletest.UnderRace(300, 100) {
							r.share(2)
						}
					})
				}
				group.Wait()
				if n := r.waiting(); c.noPipe == 4 && n > 0 {
					t.Errorf("%d helpers wait without a pipe", n)
				}
			})
		}
	}
}
