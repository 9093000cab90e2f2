package fastpath

import "github.com/griffin-search/griffin/internal/gpu/cuda"

// What is worth a block of its own, if the device has blocks to spare.
const (
	rangesBlock = 300_000 // postings, of queries that are answered by ranges
	probeBlock  = 16_384  // lookups, of those that are answered by the shortest list
	countBlock  = 100_000 // words of bitmaps
)

// spareFactor is how many times the blocks that run at a time a launch may have beyond
// one a query: so many that all multiprocessors end at about the same time.
const spareFactor = 8

// spareBlocks is how many blocks a launch has at most beyond one a query.
func (k *Kernels) spareBlocks() int { return spareFactor * k.resident }

// cost is what a query costs, in what is worth a block.
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

// countCost is what counting costs.
func (b *Batch) countCost(p *queryParams, terms []termParams) uint64 {
	if p.flags&flagAll != 0 && p.numDense < p.numTerms {
		return cost(jobProbe, p, terms)
	}
	return uint64(numSupers(b.segment.NumDocs))*superRanges*uint64(p.numTerms)/countBlock + 1
}

// plan decides how many blocks each query gets, and returns the most superblocks that
// one of them has. Where there are many queries, most get one, and only those that
// would hold up the others get more.
func (b *Batch) plan() (most int) {
	supers := numSupers(b.segment.NumDocs)
	least, keys := uint32(supers), 0
	for _, jobs := range b.jobs {
		total := uint64(0)
		for i := range jobs {
			total += jobs[i].cost
		}
		unit := total/uint64(b.kernels.spareBlocks()) + 1
		for i := range jobs {
			j := &jobs[i]
			q := &b.queries.Data()[j.query]
			j.splits = uint32(min((j.cost+unit-1)/unit, uint64(b.maxSplits(q))))
			keys = b.split(q, j.splits, keys)
			least = min(least, j.splits)
		}
	}
	return (supers + int(least) - 1) / int(max(least, 1))
}

// maxSplits is how many blocks a query may have.
func (b *Batch) maxSplits(q *queryParams) int {
	if q.flags&flagEmit != 0 { // one block writes DocIDs, in order
		return 1
	}
	return (numSupers(b.segment.NumDocs) + 3) / 4
}

// split gives a query its blocks, and room for what they find from firstKey on; it
// returns where that ends.
func (b *Batch) split(q *queryParams, splits uint32, firstKey int) int {
	q.splits, q.firstKey = splits, uint32(firstKey)
	if splits > 1 {
		firstKey += int(splits * q.k)
	}
	b.numKeys = firstKey
	return firstKey
}

// reserve makes room for the keys that blocks give each other. It allocates when more
// are needed than ever before.
func (b *Batch) reserve() (err error) {
	n := b.numKeys
	if n <= b.keys.Len() {
		return nil
	}
	n = max(n, 2*b.keys.Len(), 1<<16)
	if err := b.keys.Free(); err != nil {
		return err
	}
	b.keys, err = cuda.Alloc[uint64](b.kernels.device, n)
	return err
}
