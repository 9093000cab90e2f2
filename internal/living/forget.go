package living

import (
	"sync/atomic"

	"github.com/griffin-search/griffin/internal/segment"
)

// forgetting decides which files of merges leave the page cache as soon as they are on the disk. The system keeps the pages
// that were written last. A third of them are stored documents, of which a search reads few. If the index takes much of the
// memory, they displace the lists of older segments, and the next searches read these from the disk. Measured with an index
// of 20.7 GB and 24 GB of memory: the 99th percentile of queries was 116 ms, and 20 to 22 ms with forgetting
// (docs/benchmarks/living.md).
type forgetting struct {
	room       int64 // memory for files; 0: unlimited
	indexBytes atomic.Int64
}

// forgettingPart of the memory may be taken by the index before merges forget files. The rest is for the log, for the
// sources of merges, and for the segments that they replace.
const forgettingPart = 4

// update sets the size of the index.
func (f *forgetting) update(bytes int64) { f.indexBytes.Store(bytes) }

func (f *forgetting) file(name string) bool {
	return f.room > 0 && f.indexBytes.Load() > f.room/forgettingPart && segment.IsRarelyRead(name)
}
