package pipeline

import (
	"slices"
	"sync"
)

// freeLanes are a device's lanes without a run. A single query takes the lane that was used last, whose memory is in caches
// and whose stream the GPU need not change. Batches take turns, so that all lanes have grown before the load is high.
type freeLanes struct {
	tokens chan struct{} // one for each lane in lanes

	mu    sync.Mutex
	lanes []*lane // used last: at the end
}

func newFreeLanes(most int) *freeLanes {
	return &freeLanes{tokens: make(chan struct{}, most), lanes: make([]*lane, 0, most)}
}

// take waits for a lane for queries, nil if done is closed first.
func (f *freeLanes) take(done <-chan struct{}, queries int) *lane {
	select {
	case <-f.tokens:
	case <-done:
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	at := 0
	if queries == 1 {
		at = len(f.lanes) - 1
	}
	l := f.lanes[at]
	f.lanes = slices.Delete(f.lanes, at, at+1)
	return l
}

func (f *freeLanes) put(l *lane) {
	f.mu.Lock()
	f.lanes = append(f.lanes, l)
	f.mu.Unlock()
	f.tokens <- struct{}{}
}

func (f *freeLanes) count() int { return len(f.tokens) }
