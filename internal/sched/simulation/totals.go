package simulation

import (
	"time"

	"github.com/griffin-search/griffin/internal/latency"
	"github.com/griffin-search/griffin/internal/sched"
)

type totals struct {
	started        time.Duration // end of the warm-up
	latencies      []time.Duration
	waited, last   time.Duration
	missed, shed   int
	stolen         int
	ran            [sched.NumPlaces]int
	runs, together [sched.NumPlaces]int // number of runs, and of their queries
	busy           [sched.NumPlaces]time.Duration
	inTime         int
	numCounted     int
}

func (t *totals) tally(now time.Duration, out *Outcome) {
	t.numCounted++
	t.last = now
	if out.Shed != nil {
		t.shed++
		return
	}
	t.latencies = append(t.latencies, out.Ended-out.Arrived)
	t.waited += out.Began - out.Arrived
	t.ran[out.Place]++
	if out.Stolen {
		t.stolen++
	}
	if out.Missed {
		t.missed++
	} else {
		t.inTime++
	}
}

func (m *machine) result() *Result {
	r := &Result{
		Rate: Rate(m.arrivals[m.o.Warmup:]), Arrivals: m.totals.numCounted, Latency: latency.Summarize(m.totals.latencies),
		Missed: m.totals.missed, Shed: m.totals.shed, Stolen: m.totals.stolen, Last: m.totals.last,
	}
	if n := len(m.totals.latencies); n > 0 {
		r.MeanWait = m.totals.waited / time.Duration(n)
		for p := range r.Share {
			r.Share[p] = float64(m.totals.ran[p]) / float64(n)
		}
	}
	if span := m.totals.last - m.totals.started; span > 0 {
		r.Goodput = float64(m.totals.inTime) / span.Seconds()
		for p := range r.Busy {
			if m.servers[p] > 0 {
				r.Busy[p] = float64(m.totals.busy[p]) / float64(span) / float64(m.servers[p])
			}
		}
	}
	if runs := m.totals.runs[sched.GPU]; runs > 0 {
		r.Batch = float64(m.totals.together[sched.GPU]) / float64(runs)
	}
	return r
}
