package segment

import (
	"runtime"
	"sync"

	"github.com/klauspost/compress/huff0"
	"github.com/klauspost/compress/zstd"
)

// A freeList has GOMAXPROCS encoders or decoders. It is safe for concurrent use.
//
// It returns the one that was used last. An encoder searches a table of 256 KiB for each block of 8 KiB: with one
// zstd.Encoder for all goroutines, which takes turns with GOMAXPROCS tables, no table was in a processor's cache, and a
// server's compression took twice the time.
type freeList[T any] struct {
	make func() T
	once sync.Once
	mu   sync.Mutex
	free []T
}

// get returns false if all are in use, with a new one that is not to be put back.
func (l *freeList[T]) get() (_ T, kept bool) {
	l.once.Do(func() {
		for range runtime.GOMAXPROCS(0) {
			l.free = append(l.free, l.make())
		}
	})
	l.mu.Lock()
	defer l.mu.Unlock()
	n := len(l.free)
	if n == 0 {
		return l.make(), false
	}
	last := l.free[n-1]
	l.free = l.free[:n-1]
	return last, true
}

func (l *freeList[T]) put(used T, kept bool) {
	if !kept {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.free = append(l.free, used)
}

// storedEncoder compresses blocks. It is not safe for concurrent use.
type storedEncoder struct {
	zstd    *zstd.Encoder
	huffman huff0.Scratch
}

var (
	encoders = freeList[*storedEncoder]{make: func() *storedEncoder {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderLevel(zstd.SpeedFastest),
			zstd.WithEncoderConcurrency(1),
			zstd.WithEncoderCRC(false),              // sealed has its own checksums
			zstd.WithAllLitEntropyCompression(true), // for bytes that do not repeat: numbers, keys
			zstd.WithSingleSegment(true))
		if err != nil {
			panic(err) // the options above are valid
		}
		e.EncodeAll(nil, nil) // makes its channel
		return &storedEncoder{zstd: e}
	}}
	decoders = freeList[*zstd.Decoder]{make: func() *zstd.Decoder {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			panic(err) // the options above are valid
		}
		return d
	}}
)

// decompress appends the bytes of a frame to dst, up to its capacity.
func decompress(dst, frame []byte) ([]byte, error) {
	d, kept := decoders.get()
	defer decoders.put(d, kept)
	return d.DecodeAll(frame, dst)
}
