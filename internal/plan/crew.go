package plan

import (
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/traverse"
)

// Crew lends idle processors to long queries. A query has one processor from its beginning to its end. It takes
// helpers whenever processors are idle, also late: an idle processor goes to the query whose workers have the longest
// rest before them. A helper leaves its query between two tasks if a new query needs the processor, or if
// another query needs it more. Crew is safe for concurrent use; the queries of a process share one.
type Crew struct {
	perQuery        int32
	lendable        int32        // helpers begin only while fewer processors are busy
	busy            atomic.Int32 // queries and helpers
	waiting         atomic.Int32 // helpers in await
	shared, helpers atomic.Int64

	mu    sync.Mutex
	teams []*team
	open  atomic.Int32 // the length of teams

	times crewTimes
	least int         // documents of a range
	start func(*team) // starts a helper
}

// crewTimes are the times by which a Crew decides.
type crewTimes struct {
	gate  time.Duration // predicted time of a flat stage from which its first ranges are measured
	trial time.Duration // of these ranges, which predict the rest
	worth time.Duration // predicted rest from which sharing pays
	large time.Duration // predicted time from which other stages are shared, most of them without a measurement
	pays  time.Duration // rest of each worker from which a further helper pays
	// Times of a range: with helpers, and at least; alone.
	perRange, leastRange, alone time.Duration
	warm                        time.Duration // a helper without a query waits as long as it has worked, at most this
}

// The times were chosen for Linux in a virtual machine with 16 processors, where it takes 60 to 400 µs until a helper
// of the reserve runs.
var defaultTimes = crewTimes{
	gate:  200 * time.Microsecond,
	trial: 25 * time.Microsecond,
	worth: 200 * time.Microsecond,
	large: 200 * time.Microsecond,
	pays:  50 * time.Microsecond,
	// Short, so that all workers end at about the same time, and helpers come and go soon; long, so that the 1 to
	// 3 µs of beginning a range count little. Traversals that take longer to begin are not shared (traverse.Splits).
	perRange:   100 * time.Microsecond,
	leastRange: 50 * time.Microsecond,
	alone:      200 * time.Microsecond,
	warm:       200 * time.Microsecond,
}

// fewTimes are the times with few processors, chosen with two of a Zen 3, on which predictions are half of the times (docs/benchmarks/cores.md).
// A helper does not wait actively: other goroutines need the processor.
var fewTimes = crewTimes{
	gate:       100 * time.Microsecond,
	trial:      10 * time.Microsecond,
	worth:      200 * time.Microsecond,
	large:      400 * time.Microsecond,
	pays:       50 * time.Microsecond,
	perRange:   200 * time.Microsecond,
	leastRange: 100 * time.Microsecond,
	alone:      200 * time.Microsecond,
}

const (
	// One in keepFree processors, rounded, gets no helper. There, an arriving query begins at once, and helpers do not stop
	// because the system has another thread to run.
	keepFree = 16
	// maxSharedHits bounds the hits that each task copies while the others wait. With 100,000, the workers mostly
	// wait for each other.
	maxSharedHits = 10_000
)

// NewCrew returns a Crew of n processors, of which a query may use at most perQuery; 0: all, 1: it gets no helpers.
func NewCrew(n, perQuery int) *Crew {
	if perQuery == 0 {
		perQuery = n
	}
	c := &Crew{perQuery: int32(min(perQuery, n)), lendable: int32(n - (n+keepFree/2)/keepFree), times: defaultTimes, least: traverse.RangeDocs}
	c.start = helpers.start
	if c.lendable == int32(n) {
		c.times = fewTimes
		c.start = func(t *team) { go c.serve(t) } // one helper does not come sooner by a pipe
	}
	return c
}

// CrewStats count the work of a Crew.
type CrewStats struct {
	Shared  int64 // parts of queries that several goroutines ran
	Helpers int64 // times that a goroutine began to help a query
}

// Stats returns the counts as of now.
func (c *Crew) Stats() (s CrewStats) {
	if c != nil {
		s = CrewStats{c.shared.Load(), c.helpers.Load()}
	}
	return s
}

// enter and leave surround the run of a query. The processor is lent when a worker begins its next range: often another
// query comes first.
func (c *Crew) enter() {
	if c != nil {
		c.busy.Add(1)
	}
}

func (c *Crew) leave() {
	if c != nil {
		c.busy.Add(-1)
	}
}

// shares reports whether queries may get helpers.
func (c *Crew) shares() bool { return c != nil && c.perQuery > 1 }

func (c *Crew) hasIdle() bool { return c.busy.Load() < c.lendable }

// enroll lets a team take helpers until dismiss.
func (c *Crew) enroll(t *team) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.teams = append(c.teams, t)
	c.open.Store(int32(len(c.teams)))
}

func (c *Crew) dismiss(t *team) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.teams {
		if c.teams[i] == t {
			last := len(c.teams) - 1
			c.teams[i], c.teams[last] = c.teams[last], nil
			c.teams = c.teams[:last]
			break
		}
	}
	c.open.Store(int32(len(c.teams)))
}

// neediest returns the team whose workers, with one more, have the longest rest, if that is at least some time; else
// nil. The lock is held.
func (c *Crew) neediest(least time.Duration) (most *team) {
	for _, t := range c.teams {
		workers := t.workers.Load()
		if workers >= c.perQuery || t.left.Load() == 0 || t.ended.Load() {
			continue
		}
		if rest := time.Duration(t.rest.Load()) / time.Duration(workers+1); rest >= least {
			most, least = t, rest+1
		}
	}
	return most
}

// lend takes an idle processor for a helper of the neediest team, which is nil if there is none. The
// helper must come. lend does not wait for another goroutine that lends.
func (c *Crew) lend() *team {
	if c.open.Load() == 0 || !c.hasIdle() || !c.mu.TryLock() {
		return nil
	}
	defer c.mu.Unlock()
	t := c.neediest(c.times.pays)
	if t == nil || !c.occupy() {
		return nil
	}
	t.join()
	return t
}

func (c *Crew) occupy() bool {
	for {
		n := c.busy.Load()
		if n >= c.lendable {
			return false
		}
		if c.busy.CompareAndSwap(n, n+1) {
			return true
		}
	}
}

// moves reports whether a helper of a team should end it: a query needs the processor, or another team's workers will
// have a longer rest even with the helper than its own without it.
func (c *Crew) moves(t *team) bool {
	if c.busy.Load() > c.lendable {
		return true
	}
	if c.open.Load() < 2 || !c.mu.TryLock() {
		return false
	}
	defer c.mu.Unlock()
	rest := time.Duration(t.rest.Load()) / time.Duration(max(t.workers.Load()-1, 1))
	other := c.neediest(max(rest, c.times.pays))
	return other != nil && other != t
}

// reassign ends a helper's part in a team and returns its next one, nil if its processor is not busy any more.
func (c *Crew) reassign(t *team) (next *team) {
	c.mu.Lock()
	defer c.mu.Unlock()
	t.workers.Add(-1)
	if c.busy.Load() <= c.lendable {
		next = c.neediest(c.times.pays)
	}
	if next == nil {
		c.busy.Add(-1)
		return nil
	}
	next.join()
	return next
}

// staff starts helpers while processors are idle and teams need them. Helpers that wait come by themselves.
func (c *Crew) staff() {
	if c.open.Load() == 0 {
		return
	}
	for c.busy.Load()+c.waiting.Load() < c.lendable {
		t := c.lend()
		if t == nil {
			return
		}
		c.start(t)
	}
}

// serve helps a team, and then others.
func (c *Crew) serve(t *team) {
	debug.SetPanicOnFault(true) // the caller of a query decides about faults of mapped files: vfs.RecoverFault
	for t != nil {
		began := time.Now()
		for t != nil {
			t = t.help()
		}
		t = c.await(min(time.Since(began), c.times.warm))
	}
}

// await waits actively for a team: waking a thread would take longer than many waits.
func (c *Crew) await(most time.Duration) *team {
	const yield, retry = 10 * time.Microsecond, 2 * time.Microsecond
	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	began := time.Now()
	var yielded, asked time.Duration
	for {
		at := time.Since(began)
		switch {
		case at >= most || c.busy.Load()+c.waiting.Load() > c.lendable:
			return nil
		case c.open.Load() > 0 && at >= asked:
			if t := c.lend(); t != nil {
				return t
			}
			asked = at + retry
		case at >= yielded+yield:
			runtime.Gosched()
			yielded = at
		}
	}
}
