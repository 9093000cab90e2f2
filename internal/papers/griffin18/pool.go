package griffin18

import (
	"errors"
	"slices"
	"sync"
)

const (
	// maxIdle bounds the workspaces that a pool keeps.
	maxIdle = 256
	// maxBytesOnCPU bounds their memory if there is no GPU.
	maxBytesOnCPU = 4 << 30
)

// pool keeps the workspaces of no query, the last used at the end. It is safe for concurrent use.
type pool struct {
	maxBytes int64 // bounds the memory of all workspaces, on the device and in the host

	mu   sync.Mutex
	idle []*workspace // guarded by mu
}

// take returns a workspace for one goroutine, until put.
func (p *pool) take() *workspace {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return &workspace{}
	}
	w := p.idle[n-1]
	p.idle[n-1] = nil
	p.idle = p.idle[:n-1]
	return w
}

// put keeps a workspace, and frees those idle for longest that exceed the bounds.
func (p *pool) put(w *workspace) {
	w.forget()
	w.idleBytes = w.candidates.sizeBytes()
	if w.memory != nil {
		w.idleBytes += w.memory.sizeBytes()
	}
	p.mu.Lock()
	p.idle = append(p.idle, w)
	surplus := p.cut()
	p.mu.Unlock()
	for _, w := range surplus {
		if w.memory != nil {
			_ = w.memory.close() // an error is of a failed device
		}
	}
}

// cut removes the workspaces that exceed the bounds. mu is held.
func (p *pool) cut() []*workspace {
	from, sizeBytes := len(p.idle), int64(0)
	for from > 0 && len(p.idle)-from < maxIdle {
		if sizeBytes += p.idle[from-1].idleBytes; sizeBytes > p.maxBytes {
			break
		}
		from--
	}
	if from == 0 {
		return nil
	}
	surplus := slices.Clone(p.idle[:from])
	p.idle = slices.Delete(p.idle, 0, from)
	return surplus
}

// freeMemory frees the memory of idle workspaces.
func (p *pool) freeMemory() error {
	var idle []*memory
	p.mu.Lock()
	for _, w := range p.idle {
		if w.memory != nil {
			idle = append(idle, w.memory)
			w.memory, w.idleBytes = nil, w.candidates.sizeBytes()
		}
	}
	p.mu.Unlock()
	var errs []error
	for _, m := range idle {
		errs = append(errs, m.close())
	}
	return errors.Join(errs...)
}
