package imagesearch

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// probeShare is the minimum share of the documents in lists whose And is found by ranges. All of them have bounds of ranges.
const probeShare = 128

// Work that gets its own block, if the launch has spare blocks.
const (
	rangesBlock = 30_000  // postings, for search by ranges
	probeBlock  = 16_384  // lookups, for search by the shortest list
	countBlock  = 100_000 // bitmap words
)

// spareFactor is the number of blocks of a launch beyond one per query, relative to the blocks that run at the same
// time: enough for all multiprocessors to end at about the same time, and few, because a block starts without a
// threshold of its own.
const spareFactor = 2

// spareBlocks returns the maximum number of blocks of a launch beyond one per query.
func (k *Kernels) spareBlocks() int { return spareFactor * k.resident }

// Limits of the keys of the blocks of a launch that share queries: up to 128 MiB, allocated from 512 KiB on.
const (
	MaxKeys   = 1 << 24
	LeastKeys = 1 << 16
)

// hasKeys reports whether the blocks of a job that share a query need keys for their hits.
func hasKeys(kind int) bool { return kind < jobCount }

// cost returns a query's cost in units of a block's work.
func cost(kind int, p *queryParams, terms []termParams) uint64 {
	if kind == jobProbe {
		return uint64(terms[0].docFreq)*uint64(p.numTerms)/probeBlock + 1
	}
	sum := uint64(0)
	for i := range terms {
		sum += uint64(terms[i].docFreq)
	}
	return sum/rangesBlock + 1
}

// countCost returns the cost of counting, in units of a block's work.
func (b *Batch) countCost(kind int, p *queryParams, terms []termParams) uint64 {
	if kind == jobProbe {
		return cost(jobProbe, p, terms)
	}
	return uint64(numSupers(b.segment.NumDocs))*superRanges*uint64(p.numTerms)/countBlock + 1
}

// plan sets the number of blocks of each query and returns the maximum number of superblocks of
// a block. In a large batch, only costly queries get more than one block.
func (b *Batch) plan() (most int) {
	supers := numSupers(b.segment.NumDocs)
	least, keys := uint32(supers), 0
	kinds := 0
	for kind, jobs := range b.jobs {
		if hasKeys(kind) && len(jobs) > 0 {
			kinds++
		}
	}
	for kind, jobs := range b.jobs {
		spare := b.kernels.spareBlocks()
		if hasKeys(kind) { // spare blocks share fewer queries than they are, and each of these has one block more
			spare = max(min(spare, b.limits.Keys/2/max(b.maxK*kinds, 1)), 1)
		}
		total := uint64(0)
		for i := range jobs {
			total += jobs[i].cost
		}
		unit := total/uint64(spare) + 1
		for i := range jobs {
			j := &jobs[i]
			q := &b.memory.queries.Data()[j.query]
			j.splits = uint32(min((j.cost+unit-1)/unit, uint64(b.maxSplits())))
			keys = b.split(kind, q, j.splits, keys)
			least = min(least, j.splits)
		}
	}
	return (supers + int(least) - 1) / int(max(least, 1))
}

// maxSplits returns the maximum number of blocks of a query.
func (b *Batch) maxSplits() int {
	return (numSupers(b.segment.NumDocs) + 3) / 4
}

// split assigns blocks and keys from firstKey on; it returns the end of these keys.
func (b *Batch) split(kind int, q *queryParams, splits uint32, firstKey int) int {
	q.splits, q.firstKey = splits, uint32(firstKey)
	if splits > 1 && hasKeys(kind) {
		firstKey += int(splits * q.k)
	}
	b.numKeys = firstKey
	return firstKey
}

// reserve makes room for the keys that the blocks of a query share.
func (b *Batch) reserve() (err error) {
	n := b.numKeys
	if n <= b.memory.keys.Len() {
		return nil
	}
	n = max(n, min(8*b.memory.keys.Len(), b.limits.Keys)) // the driver can wait for all kernels
	if err := b.memory.keys.Free(); err != nil {
		return err
	}
	b.memory.keys, err = cuda.Alloc[uint64](b.kernels.device, n)
	return err
}
