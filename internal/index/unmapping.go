package index

import (
	"cmp"
	"sync"
)

// From closeBeside bytes on, a segment is closed in the background: the system takes a tenth of a second for a
// mapped GB, and more if the files were removed, whose blocks it frees then. The last reference can be a search's.
const closeBeside = 32 << 20

// unmapping closes the segments of an index. It is safe for concurrent use.
type unmapping struct {
	least int64 // instead of closeBeside, in tests; 0: closeBeside

	mu      sync.Mutex
	running int
	ended   bool
	none    chan struct{} // closed when none runs after the end; nil before the end
}

// run calls f, which closes a segment, in the background if the segment is large and the index is not closed.
func (u *unmapping) run(sizeBytes int64, f func()) {
	u.mu.Lock()
	if u.ended || sizeBytes < cmp.Or(u.least, closeBeside) {
		u.mu.Unlock()
		f()
		return
	}
	u.running++
	u.mu.Unlock()
	go func() {
		f()
		u.mu.Lock()
		defer u.mu.Unlock()
		if u.running--; u.running == 0 && u.none != nil {
			close(u.none)
		}
	}()
}

// end waits for the segments that are being closed. Later ones are closed by whoever releases them.
func (u *unmapping) end() {
	u.mu.Lock()
	u.ended = true
	if u.none == nil {
		u.none = make(chan struct{})
		if u.running == 0 {
			close(u.none)
		}
	}
	none := u.none
	u.mu.Unlock()
	<-none
}
