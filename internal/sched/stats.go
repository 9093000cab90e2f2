package sched

import (
	"math/bits"
	"time"
)

// Stats are a scheduler's counters and current state.
type Stats struct {
	Places [NumPlaces]PlaceStats `json:"places"`
	// PolicyQuery: jobs that wait for either place.
	Open int `json:"open"`
	// Number of arrived jobs that a place can run. Each was shed at once
	// (QueueFull, TooLate), waits, runs, or is in Ended, Cancelled or
	// Shed[Expired].
	Arrived   int64             `json:"arrived"`
	Ended     int64             `json:"ended"`
	Cancelled int64             `json:"cancelled"`
	Shed      [numReasons]int64 `json:"shed"`
	// Stolen counts jobs that ran at another place than planned, Moved changes of
	// place within jobs, Failed jobs whose run failed.
	Stolen int64 `json:"stolen"`
	Moved  int64 `json:"moved"`
	Failed int64 `json:"failed"`
	// The thresholds of the groups, by place (PolicyQuery).
	Thresholds [NumPlaces]float64 `json:"thresholds"`
}

// PlaceStats is one place of Stats.
type PlaceStats struct {
	Lost        bool          `json:"lost"`
	Servers     int           `json:"servers"`
	Running     int           `json:"running"` // busy servers
	Queued      int           `json:"queued"`  // jobs
	Wait        time.Duration `json:"wait_ns"`
	Busy        time.Duration `json:"busy_ns"` // sum over servers, of ended runs
	Runs        int64         `json:"runs"`
	Batches     int64         `json:"batches"` // of more than one job
	Jobs        int64         `json:"jobs"`
	QueueTime   time.Duration `json:"queue_time_ns"` // sum over jobs
	LongestWait time.Duration `json:"longest_wait_ns"`
	// Waits[i] is the number of waits before a run that are below WaitBound(i) but
	// not below WaitBound(i-1).
	Waits    [NumWaits]int64 `json:"waits"`
	Slowdown float64         `json:"slowdown"` // measured/predicted time of runs, moving mean
}

type counts struct {
	arrived, ended, cancelled int64
	shed                      [numReasons]int64
	stolen, moved, failed     int64
	busy                      [NumPlaces]time.Duration
	runs, batches, jobs       [NumPlaces]int64
	queued, longest           [NumPlaces]time.Duration
	waits                     [NumPlaces][NumWaits]int64
}

// NumWaits is the number of classes of waits.
const NumWaits = 26

// WaitBound returns the upper bound of a class of waits: 1 µs, 2 µs, 4 µs up to
// 16.8 s, then Never.
func WaitBound(class int) time.Duration {
	if class >= NumWaits-1 {
		return Never
	}
	return time.Microsecond << class
}

// waitClass: 0 µs is in class 0, 3 µs (2 bits) in class 2.
func waitClass(d time.Duration) int {
	return min(bits.Len64(uint64(max(d, 0)/time.Microsecond)), NumWaits-1)
}

func (c *counts) began(p Place, batch []*Job) {
	c.runs[p]++
	c.jobs[p] += int64(len(batch))
	if len(batch) > 1 {
		c.batches[p]++
	}
	for _, j := range batch {
		c.queued[p] += j.Began - j.entry.since
		c.longest[p] = max(c.longest[p], j.Began-j.entry.since)
		c.waits[p][waitClass(j.Began-j.entry.since)]++
	}
}

// Stats returns the statistics at time now.
func (s *Scheduler) Stats(now time.Duration) Stats {
	c := &s.counts
	stats := Stats{
		Open: s.queues.open.len(), Arrived: c.arrived, Ended: c.ended, Cancelled: c.cancelled, Shed: c.shed,
		Stolen: c.stolen, Moved: c.moved, Failed: c.failed, Thresholds: s.groups.at,
	}
	s.closing.count(&stats)
	for p := range s.queues.places {
		st := &s.queues.places[p]
		stats.Places[p] = PlaceStats{
			Lost: st.lost, Servers: len(st.runs), Running: len(st.runs) - len(st.idle), Queued: st.queued(),
			Wait: s.Wait(now, Place(p)), Busy: c.busy[p], Runs: c.runs[p], Batches: c.batches[p], Jobs: c.jobs[p],
			QueueTime: c.queued[p], LongestWait: c.longest[p], Waits: c.waits[p], Slowdown: st.slowdown,
		}
	}
	return stats
}
