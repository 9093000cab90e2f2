package simulation

import (
	"time"

	"github.com/griffin-search/griffin/internal/sched"
)

// ends is a heap of runs, by their end, then by their start.
type ends struct {
	heap  []end
	seq   uint64
	spare [][]*sched.Job
}

type end struct {
	at    time.Duration
	seq   uint64
	place sched.Place
	jobs  []*sched.Job
}

func (e *end) before(f *end) bool { return e.at < f.at || e.at == f.at && e.seq < f.seq }

// first returns the time of the first end, or sched.Never if nothing runs.
func (h *ends) first() time.Duration {
	if len(h.heap) == 0 {
		return sched.Never
	}
	return h.heap[0].at
}

// push adds a run and copies jobs.
func (h *ends) push(at time.Duration, place sched.Place, jobs []*sched.Job) {
	var own []*sched.Job
	if last := len(h.spare) - 1; last >= 0 {
		own, h.spare = h.spare[last], h.spare[:last]
	}
	h.seq++
	e := end{at: at, seq: h.seq, place: place, jobs: append(own, jobs...)}
	h.heap = append(h.heap, e)
	i := len(h.heap) - 1
	for i > 0 && e.before(&h.heap[(i-1)/2]) {
		h.heap[i] = h.heap[(i-1)/2]
		i = (i - 1) / 2
	}
	h.heap[i] = e
}

// pop removes the run that ends first. The caller returns its jobs by giveBack.
func (h *ends) pop() (sched.Place, []*sched.Job) {
	top := h.heap[0]
	last := len(h.heap) - 1
	e := h.heap[last]
	h.heap[last] = end{}
	h.heap = h.heap[:last]
	i := 0
	for child := 1; child < last; child = 2*i + 1 {
		if child+1 < last && h.heap[child+1].before(&h.heap[child]) {
			child++
		}
		if !h.heap[child].before(&e) {
			break
		}
		h.heap[i] = h.heap[child]
		i = child
	}
	if last > 0 {
		h.heap[i] = e
	}
	return top.place, top.jobs
}

func (h *ends) giveBack(jobs []*sched.Job) {
	clear(jobs)
	h.spare = append(h.spare, jobs[:0])
}
