package living

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/segment"
)

// forgetting decides which files of merges leave the system's memory as soon as they are on the disk. The system keeps the
// files that were written last, of which stored documents are a third, and a search reads few of them. In an index that
// takes much of the memory, they would displace the lists of older segments, which the next searches then read from the disk:
// with an index of 20.7 GB and 24 GB of memory, the 99th percentile of queries was 116 ms instead of 20 (docs/benchmarks/living.md).
type forgetting struct {
	room  int64 // memory for files; 0: unlimited
	index atomic.Int64
}

// forgettingPart of the memory may be taken by the index before merges forget files. The rest is for the log, for the
// sources of merges, and for the segments that they replace.
const forgettingPart = 4

// update sets the size of the index.
func (f *forgetting) update(bytes int64) { f.index.Store(bytes) }

func (f *forgetting) file(name string) bool {
	return f.room > 0 && f.index.Load() > f.room/forgettingPart && segment.IsRarelyRead(name)
}
