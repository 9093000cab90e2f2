package ding09

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/cost"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/sched"
	"github.com/griffin-search/griffin/query"
)

// usedLists is the number of loaded lists that queries use.
func usedLists(c *cache) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for k, it := range c.items {
		select {
		case <-it.ready:
			if k.kind == listItem && it.users > 0 {
				n++
			}
		default:
		}
	}
	return n
}

func waitFor(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !done(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal(what)
		}
	}
}

// settled gives queries that must not proceed the time to do so.
func settled() { time.Sleep(30 * time.Millisecond) }

func oneWord(t *testing.T, snapshot *index.Snapshot, i int) *prepared {
	t.Helper()
	q := prepare(t, snapshot, &query.Words{Text: fmt.Sprint("w", i), Boost: 1}, plan.Options{Mode: plan.ModeOr, K: 5})
	return &q
}

func random(t *testing.T) *index.Snapshot {
	t.Helper()
	return indextest.Snapshot(t, plantest.RandomIndex(t, rng(), 300, 1, false))
}

// Queries that wait for the GPU do not use its memory, except one.
func TestQueriesOnGPUAreLimited(t *testing.T) {
	snapshot := random(t)
	e := openEngine(t, gputest.Open(t), with(onGPU, func(o *options) { o.cacheBytes = 0 }))
	e.gpu.mu.Lock()
	var group sync.WaitGroup
	for i := range 6 {
		q := oneWord(t, snapshot, i)
		group.Go(func() { search(t, e, q) })
	}
	waitFor(t, "no lists", func() bool { return usedLists(e.gpu.cache) == queriesOnGPU })
	settled()
	if n := usedLists(e.gpu.cache); n != queriesOnGPU {
		t.Errorf("lists of %d queries are in use, want %d", n, queriesOnGPU)
	}
	e.gpu.mu.Unlock()
	group.Wait()
	if s := e.Stats(); s.OnGPU != 6 {
		t.Errorf("%+v", s)
	}
}

// learned sets the times of queries in mode or.
func learned(e *Engine, cpu, gpu time.Duration) {
	for i := range int64(firstTraining) {
		x := cost.TreeFeatures(&cost.Features{Lists: 1, Shortest: 10 * i, Sum: 10 * i})
		e.schedule.costs.observe(sched.CPU, plan.ModeOr, x, cpu)
		e.schedule.costs.observe(sched.GPU, plan.ModeOr, x, gpu)
	}
}

// While a query computes, the lists of one other are transferred.
func TestFetch(t *testing.T) {
	snapshot := random(t)
	e := openEngine(t, gputest.Open(t), with(onBoth, func(o *options) { o.cacheBytes = 0 }))
	learned(e, time.Hour, time.Minute)
	e.gpu.mu.Lock()
	var group sync.WaitGroup
	for i := range 3 {
		q := oneWord(t, snapshot, i)
		group.Go(func() { search(t, e, q) })
		waitFor(t, "no lists", func() bool { return usedLists(e.gpu.cache) == min(i+1, 2) })
	}
	waitFor(t, "nothing waits", func() bool { return e.schedule.pool.Stats().Places[sched.GPU].Queued == 2 })
	settled()
	if n := usedLists(e.gpu.cache); n != 2 {
		t.Errorf("lists of %d queries are in use, want 2", n)
	}
	e.gpu.mu.Unlock()
	group.Wait()
	if s := e.Stats(); s.OnGPU != 3 || s.ListMisses != 3 || s.ListHits != 0 || e.gpu.cache.size != 0 || e.schedule.fetching.Load() {
		t.Errorf("%+v, %d bytes in the cache", s, e.gpu.cache.size)
	}
}

// The lists of a query that the CPU takes are released.
func TestFetchIsGivenUp(t *testing.T) {
	snapshot := random(t)
	e := openEngine(t, gputest.Open(t), with(onBoth, func(o *options) { o.cacheBytes = 0 }))
	learned(e, 4*time.Minute, time.Minute)
	e.gpu.mu.Lock()
	var group sync.WaitGroup
	first, second := oneWord(t, snapshot, 0), oneWord(t, snapshot, 1)
	group.Go(func() { search(t, e, first) })
	waitFor(t, "no lists", func() bool { return usedLists(e.gpu.cache) == 1 })
	group.Go(func() { search(t, e, second) })
	waitFor(t, "nothing is fetched", func() bool { return usedLists(e.gpu.cache) == 2 })
	e.schedule.pool.Lose(sched.GPU)
	waitFor(t, "the CPU does not answer", func() bool { return e.Stats().OnCPU == 1 })
	if n := usedLists(e.gpu.cache); n != 1 || e.schedule.fetching.Load() {
		t.Errorf("%d lists are in use, want 1", n)
	}
	e.gpu.mu.Unlock()
	group.Wait()
}

// The CPU does not delay the release to the end of its query.
func TestCPUCancelsFetch(t *testing.T) {
	snapshot := random(t)
	e := openEngine(t, gputest.Open(t), defaults(onBoth))
	q := oneWord(t, snapshot, 0)
	stages, err := stagesOf(q.Plan)
	if err != nil {
		t.Fatal(err)
	}
	w := &work{schedule: e.schedule, query: q.Query, stages: stages, fetch: e.schedule.startFetch(t.Context(), q.Query, stages)}
	if e.schedule.startFetch(t.Context(), q.Query, stages) != nil {
		t.Fatal("two queries are fetched")
	}
	defer w.fetch.end()
	if err := w.onCPU(t.Context()); err != nil {
		t.Fatal(err)
	}
	q.check(t)
	waitFor(t, "the lists are in use", func() bool { return !e.schedule.fetching.Load() && usedLists(e.gpu.cache) == 0 })
}

// A GPU that fails without being lost gets fewer and fewer queries, and all again when it works.
func TestFaultsAreLearned(t *testing.T) {
	snapshot := random(t)
	d := gputest.Open(t)
	e := openEngine(t, d, defaults(onBoth))
	gputest.Fail(t, d, "cuLaunchKernel", 0, cuda.OutOfMemory)
	for range 40 {
		search(t, e, oneWord(t, snapshot, 1))
	}
	if s := e.Stats(); s.Faults != 5 || s.OnCPU != 40 { // queries 1, 4, 9, 18 and 35
		t.Errorf("%+v", s)
	}
	d.InjectFaults(nil)
	for range 70 {
		search(t, e, oneWord(t, snapshot, 1))
	}
	if s := e.Stats(); s.Faults != 5 || s.OnGPU < firstTraining || e.schedule.pause.faults != 0 {
		t.Errorf("%+v, %d faults in a row", s, e.schedule.pause.faults)
	}
}

func TestPauseIsBounded(t *testing.T) {
	var p pause
	for range 100 {
		p.failed()
	}
	n := 0
	for p.skips() {
		n++
	}
	if n != 1<<maxPauseShift {
		t.Errorf("%d queries avoid the GPU", n)
	}
	if p.failed(); !p.skips() {
		t.Error("a further fault does nothing")
	}
	if p.worked(); p.skips() {
		t.Error("a processor that works is avoided")
	}
}
