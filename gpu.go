package griffin

import (
	"context"

	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/vfs"
)

// ResultCacheStats describe the result cache of an Index.
type ResultCacheStats struct {
	// Hits counts searches with a cached answer, Waits the ones that waited for an equal
	// running search, Misses the ones that ran. HitRate is the share of hits and waits.
	Hits    int64   `json:"hits"`
	Waits   int64   `json:"waits"`
	Misses  int64   `json:"misses"`
	HitRate float64 `json:"hit_rate"`
	// Evictions counts answers dropped to make room, Invalidations answers that a commit made
	// obsolete.
	Evictions     int64 `json:"evictions"`
	Invalidations int64 `json:"invalidations"`
	// Entries and SizeBytes are the present contents, of at most LimitBytes.
	Entries    int64 `json:"entries"`
	SizeBytes  int64 `json:"size_bytes"`
	LimitBytes int64 `json:"limit_bytes"`
}

// Runtime returns the Runtime that the Index uses.
func (ix *Index) Runtime() *Runtime { return ix.runtime }

// ResultCacheStats returns the counts; used is false without a cache (Options.ResultCache).
func (ix *Index) ResultCacheStats() (stats ResultCacheStats, used bool) {
	return ResultCacheStats(ix.results.Stats()), ix.results != nil
}

// WarmOptions select the posting lists that Warm loads.
type WarmOptions struct {
	// MinDocFreq excludes lists with fewer documents in a segment; 0: none.
	MinDocFreq uint32
	// Impacts loads impact-ordered lists instead of the segments' lists.
	Impacts bool
	// Progress, if not nil, is called a few times a second with postings.
	Progress func(done, total int64)
}

// WarmReport is the result of Warm.
type WarmReport struct {
	Lists int64 `json:"lists"` // that are resident now
	Total int64 `json:"total"` // that were selected
}

// Warm loads posting lists to the GPUs, the longest first, until all are resident or memory is
// full, so that no search waits for them. Without a GPU it does nothing.
func (ix *Index) Warm(ctx context.Context, o WarmOptions) (_ WarmReport, err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	g := ix.runtime.dispatcher.GPU()
	if g == nil {
		return WarmReport{}, nil
	}
	snapshot, err := ix.ix.Snapshot()
	if err != nil {
		return WarmReport{}, err
	}
	defer snapshot.Release()
	lists, total, err := g.Warm(ctx, snapshot, dispatch.WarmOptions(o))
	return WarmReport{Lists: lists, Total: total}, err
}
