package ding09

import "sync"

// pause keeps queries from the GPU after faults, which predictions do not include: 2 queries after a fault, and
// double the number after each further fault in a row.
type pause struct {
	mu     sync.Mutex
	faults int // in a row
	left   int // queries
}

const maxPauseShift = 10

// skips reports whether the next query avoids the GPU.
func (p *pause) skips() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.left == 0 {
		return false
	}
	p.left--
	return true
}

func (p *pause) failed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = min(p.faults+1, maxPauseShift)
	p.left = 1 << p.faults
}

func (p *pause) worked() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults, p.left = 0, 0
}
