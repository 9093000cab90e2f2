package sched

import "time"

const (
	inQueue = 0 // jobs to run, by priority
	inWatch = 1 // jobs to reconsider, by time
)

// jobHeap orders jobs by their key of a kind, then by arrival. Jobs store their
// index, so any can be removed.
type jobHeap struct {
	kind int
	jobs []*Job
}

func (h *jobHeap) len() int { return len(h.jobs) }

// first returns the least job, or nil if there is none.
func (h *jobHeap) first() *Job {
	if len(h.jobs) == 0 {
		return nil
	}
	return h.jobs[0]
}

func (h *jobHeap) less(a, b *Job) bool {
	if a.entry.key[h.kind] != b.entry.key[h.kind] {
		return a.entry.key[h.kind] < b.entry.key[h.kind]
	}
	return a.entry.seq < b.entry.seq
}

func (h *jobHeap) push(j *Job, key time.Duration) {
	j.entry.key[h.kind] = key
	h.jobs = append(h.jobs, j)
	h.up(len(h.jobs)-1, j)
}

func (h *jobHeap) remove(j *Job) {
	i := int(j.entry.index[h.kind])
	j.entry.index[h.kind] = -1
	last := len(h.jobs) - 1
	moved := h.jobs[last]
	h.jobs[last] = nil
	h.jobs = h.jobs[:last]
	if i == last {
		return
	}
	if i > 0 && h.less(moved, h.jobs[(i-1)/2]) {
		h.up(i, moved)
		return
	}
	h.down(i, moved)
}

// up places j at i or nearer to the top.
func (h *jobHeap) up(i int, j *Job) {
	for i > 0 {
		parent := (i - 1) / 2
		if !h.less(j, h.jobs[parent]) {
			break
		}
		h.set(i, h.jobs[parent])
		i = parent
	}
	h.set(i, j)
}

// down places j at i or below.
func (h *jobHeap) down(i int, j *Job) {
	for {
		child := 2*i + 1
		if child >= len(h.jobs) {
			break
		}
		if child+1 < len(h.jobs) && h.less(h.jobs[child+1], h.jobs[child]) {
			child++
		}
		if !h.less(h.jobs[child], j) {
			break
		}
		h.set(i, h.jobs[child])
		i = child
	}
	h.set(i, j)
}

func (h *jobHeap) set(i int, j *Job) {
	h.jobs[i] = j
	j.entry.index[h.kind] = int32(i)
}
