package griffin

import (
	"fmt"

	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/vfs"
)

// Options apply to one open Index. The zero value has the defaults.
type Options struct {
	// Runtime runs the searches; indexes that share one share its GPUs, processors, caches and
	// limits. nil: the Index gets its own, without a GPU, and Index.Close closes it.
	Runtime *Runtime
	// BM25, if not nil, replaces the parameters of the index; searches then skip fewer
	// postings.
	BM25 *BM25
	// IndexMemory bounds the memory of Add and IndexFiles in bytes; 0 is 1 GiB.
	IndexMemory int64
	// IndexThreads is the number of processors that indexing uses; 0 is all.
	IndexThreads int
	// ResultCache is the memory in bytes for answers (DocIDs and scores) that later searches of
	// the same meaning reuse, regardless of case, word forms and order; 0 keeps none. Each
	// Index has its own cache. When an answer is asked for again, its titles, fields and snippets are
	// kept with it, for the options of the last such search. A commit invalidates all answers; equal searches at the same time run once. Searches with a
	// Traversal, Accumulators, Policy, Budget or Trace bypass the cache; SearchBatch only reads
	// it.
	ResultCache int64

	files vfs.FS // nil: vfs.OS; tests set others
}

func (o *Options) fileSystem() vfs.FS {
	if o.files == nil {
		return vfs.OS
	}
	return o.files
}

func (o *Options) check() error {
	if o.IndexMemory < 0 || o.IndexThreads < 0 || o.ResultCache < 0 {
		return fmt.Errorf("index memory of %d bytes, %d threads, result cache of %d bytes: none can be negative: %w",
			o.IndexMemory, o.IndexThreads, o.ResultCache, ErrBadInput)
	}
	return o.BM25.check()
}

// bm25 returns nil for the parameters of the index.
func (o *Options) bm25() *score.BM25 { return o.BM25.override() }
