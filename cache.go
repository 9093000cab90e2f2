package griffin

import "github.com/griffin-search/griffin/internal/exec"

// WithResultCache keeps the answers of searches (which documents, and their scores) in at
// most so many bytes of memory, and gives them again to searches that mean the same, in
// whatever case, forms of words and order they are written. Documents and snippets are
// read for each. A commit makes all of them worthless. Searches of the same meaning at
// the same time are run once. Not cached are searches that say how they are to be run: by
// WithTraversal, WithAccumulators, WithCPU, WithSearchPolicy or a budget, and those with a trace. The
// default, 0, keeps nothing.
func WithResultCache(sizeBytes int64) Option { return func(c *config) { c.resultBytes = sizeBytes } }

// ResultCacheStats tell what the cache of answers did since an Index was opened (Hits, Waits
// for an equal search that ran, Misses, Evictions, Invalidations by commits), and what it
// holds (Entries, SizeBytes of at most LimitBytes).
type ResultCacheStats = exec.ResultCacheStats

// ResultCacheStats returns the counts as of now. used is false if the Index keeps no
// answers.
func (ix *Index) ResultCacheStats() (stats ResultCacheStats, used bool) {
	return ix.results.Stats(), ix.results != nil
}
