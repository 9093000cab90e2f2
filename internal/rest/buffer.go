package rest

import "sync"

// buffer is memory for an answer, which is used again after the answer is sent.
type buffer struct{ bytes []byte }

// Larger and smaller buffers than these are not kept.
const (
	maxKept = 1 << 20
	minKept = 512
)

var buffers = sync.Pool{New: func() any { return &buffer{make([]byte, 0, 4<<10)} }}

func newBuffer() *buffer {
	b, _ := buffers.Get().(*buffer)
	b.bytes = b.bytes[:0]
	return b
}

// release gives the memory back. Nothing may read it any more. b may be nil.
func (b *buffer) release() {
	if b != nil && cap(b.bytes) >= minKept && cap(b.bytes) <= maxKept {
		buffers.Put(b)
	}
}
