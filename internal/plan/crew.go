package plan

import (
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/traverse"
)

// Crew counts the goroutines that run queries on the processors. A long query gets helpers while there are
// fewer of them than processors. It is safe for concurrent use; the queries of a process share one.
type Crew struct {
	processors, perQuery int32
	busy                 atomic.Int32 // queries and helpers
	shared, helpers      atomic.Int64

	worth    time.Duration // predicted time from which sharing pays
	least    int           // documents of a range
	perRange time.Duration
}

const (
	// shareFrom is a predicted time of which half, about, is saved by a helper, which takes some 5 µs to begin.
	shareFrom = 400 * time.Microsecond
	// rangeTime is the time of a range: short, so that all workers end at about the same time and idle
	// processors are found soon; long, so that the 1 to 3 µs of beginning a range count little. Traversals that
	// take longer to begin are not shared (traverse.Splits).
	rangeTime = 100 * time.Microsecond
	// maxSharedHits bounds the hits that each task copies while the others wait. With 100,000, the workers mostly
	// wait for each other.
	maxSharedHits = 10_000
)

// NewCrew returns a Crew of n processors, of which a query may use at most perQuery; 0: all, 1: it gets no helpers.
func NewCrew(n, perQuery int) *Crew {
	if perQuery == 0 {
		perQuery = n
	}
	return &Crew{
		processors: int32(n), perQuery: int32(min(perQuery, n)), worth: shareFrom, least: traverse.RangeDocs, perRange: rangeTime,
	}
}

// CrewStats count what a Crew has done.
type CrewStats struct {
	Shared  int64 // parts of queries that several goroutines ran
	Helpers int64 // goroutines that helped
}

// Stats returns the counts as of now.
func (c *Crew) Stats() (s CrewStats) {
	if c != nil {
		s = CrewStats{c.shared.Load(), c.helpers.Load()}
	}
	return s
}

// enter and leave surround the run of a query.
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

// hasIdle reports whether a query may get a helper now.
func (c *Crew) hasIdle() bool { return c != nil && c.perQuery > 1 && c.busy.Load() < c.processors }

// hire takes an idle processor for a helper, which leaves it.
func (c *Crew) hire() bool {
	for {
		n := c.busy.Load()
		if n >= c.processors {
			return false
		}
		if c.busy.CompareAndSwap(n, n+1) {
			c.helpers.Add(1)
			return true
		}
	}
}

// release is leave for a helper whose processor another query needs; it reports whether one does.
func (c *Crew) release() bool {
	for {
		n := c.busy.Load()
		if n <= c.processors {
			return false
		}
		if c.busy.CompareAndSwap(n, n-1) {
			return true
		}
	}
}
