package segment

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// A freeList has encoders or decoders between their uses. It is safe for concurrent use.
//
// It returns the one that was used last. An encoder searches a table of 256 KiB for each block of 8 KiB: with one
// zstd.Encoder for all goroutines, which takes turns with GOMAXPROCS tables, no table was in a processor's cache.
type freeList[T any] struct {
	make func() T
	mu   sync.Mutex
	free []T
}

func (l *freeList[T]) get() T {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return l.make()
	}
	last := l.free[n-1]
	l.free = l.free[:n-1]
	return last
}

func (l *freeList[T]) put(used T) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.free) < runtime.GOMAXPROCS(0) {
		l.free = append(l.free, used)
	}
}

var (
	encoders = freeList[*zstd.Encoder]{make: func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false), // sealed has its own checksums
			zstd.WithSingleSegment(true))
		if err != nil {
			panic(err) // the options above are valid
		}
		return e
	}}
	decoders = freeList[*zstd.Decoder]{make: func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // the options above are valid
		}
		return d
	}}
)

// compress appends a frame to dst.
func compress(dst, raw []byte) []byte {
	e := encoders.get()
	defer encoders.put(e)
	return e.EncodeAll(raw, dst)
}

// decompress appends the bytes of a frame to dst, up to its capacity.
func decompress(dst, frame []byte) ([]byte, error) {
	d := decoders.get()
	defer decoders.put(d)
	return d.DecodeAll(frame, dst)
}
