package living

import (
	"errors"
	"runtime"
	"time"

	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/wal"
)

// Options of Open. Zero values mean the defaults.
type Options struct {
	// Sync is when a write is durable: before Apply returns, or in the background.
	Sync wal.Mode
	// SyncInterval is for wal.ModeInterval; 0: a second.
	SyncInterval time.Duration
	// RefreshInterval is the longest time until a write is visible; 0: a second. Negative: only
	// Refresh, and batches that are full, make writes visible.
	RefreshInterval time.Duration
	// MemoryBytes bounds the documents that are not visible yet; 0: 48 MiB. A batch is made visible
	// at half of it. Under full load, a twelfth waits to be inverted, and all together is what becomes
	// visible in about half of RefreshInterval, but at least 8 MiB.
	MemoryBytes int64
	// FlushBytes is the size of the log at which Flush runs in the background; 0: DefaultFlushBytes. After a loss of
	// power, all of the log, so about this size, is indexed again. Less means more bytes written.
	FlushBytes int64
	// CheckpointBytes is the size of the documents that become visible between two checkpoints; 0:
	// 32 MiB. After a crash of the process, about this size is indexed again.
	CheckpointBytes int64
	// MaxSegments is the number of segments above which Apply waits for merges; 0: 100. From three quarters of it on, a pause
	// follows each batch.
	MaxSegments int
	// MaxWait is how long Apply waits for memory or merges; 0: 10 s.
	MaxWait time.Duration
	// MergeBytesPerSecond limits the writing of merges; 0: no limit. It doubles up to 8 times between half and three quarters of MaxSegments.
	MergeBytesPerSecond int64
	// Processors bounds the goroutines that invert documents, and the goroutines that make the segment of a batch.
	// Merges get half of them, at least one, unless they are behind. 0: GOMAXPROCS.
	Processors int
	// Gate is passed by all of them, and by the encoding of writes. nil: none.
	Gate *turns.Gate
	// Neighbours, if not nil, replaces the policy of merges: it returns a range of up to limit segments, none of them busy,
	// or an empty one. It is called by one goroutine at a time. Tests merge any neighbours.
	Neighbours func(sizes []index.SegmentSize, limit int) (from, to int)
	// OnError, if not nil, receives errors of background work, which is repeated.
	OnError func(error)
}

// DefaultFlushBytes is Options.FlushBytes by default. With less, less is indexed again after a loss of power, but with half of it
// a write took more than a second to be visible in one of four runs (docs/benchmarks/living.md).
const DefaultFlushBytes = 256 << 20

func (o Options) withDefaults() Options {
	setDefault(&o.RefreshInterval, time.Second)
	setDefault(&o.MemoryBytes, 48<<20)
	setDefault(&o.FlushBytes, DefaultFlushBytes)
	setDefault(&o.CheckpointBytes, 32<<20)
	setDefault(&o.MaxSegments, 100)
	setDefault(&o.MaxWait, 10*time.Second)
	setDefault(&o.Processors, runtime.GOMAXPROCS(0))
	if o.OnError == nil {
		o.OnError = func(error) {}
	}
	return o
}

func setDefault[T comparable](value *T, to T) {
	var zero T
	if *value == zero {
		*value = to
	}
}

var (
	// ErrConflict means that the condition of an operation does not hold.
	ErrConflict = errors.New("version conflict")
	// ErrBusy means that a write was refused because earlier ones wait for memory or merges. It is
	// not in the index; try again later.
	ErrBusy = errors.New("too many writes")
	// ErrFull means that a write found no room. Searches go on.
	ErrFull = errors.New("the disk is full: free space on it, and writes go on by themselves")
	// ErrReadOnly means that the file system takes no writes. Searches go on.
	ErrReadOnly = errors.New("the file system is read-only: make it writable, and writes go on by themselves")
	// ErrDenied means that the process may not write to a file or folder of the index. Searches go on.
	ErrDenied = errors.New("no permission to write: change the owner or mode of the file or folder, and writes go on by themselves")
)
