package codec

// Partitions are a shortest path in a graph of the positions between DocIDs; the edge from i to
// j costs the partition of DocIDs i to j-1.
const (
	// The time to find a value is proportional to the partition's length.
	mostPartition = 1 << 12
	// DocIDs partitioned at a time, which bounds memory.
	stretch = 1 << 16
	// Edges that cost more than entry/partitionEps1 are omitted. Of edges from one node whose
	// costs differ by less than 1+partitionEps2, only the longest is tried. The path costs at
	// most (1+eps1)(1+eps2) times the shortest; the paper uses the same values.
	partitionEps1, partitionEps2 = 0.03, 0.3
	// A table entry for dense DocIDs: three Elias-Fano codes with 2 bits each, plus low bits
	// for a typical partition of 64 DocIDs and 400 bits.
	entryBits = 3*2 + 6 + 6 + 9
)

type partitioner struct {
	entry  int // bits of a table entry
	limits []int
	edges  []int   // for each limit, the target of the edge of at least that cost
	cost   []int   // of the shortest path to each position
	from   []int32 // previous position on that path
}

func newPartitioner(docIDs []uint32) *partitioner {
	p := &partitioner{entry: entryBits + int(lowWidth(uint64(docIDs[len(docIDs)-1]), len(docIDs)))}
	for limit := float64(p.entry); ; limit *= 1 + partitionEps2 {
		p.limits = append(p.limits, int(limit))
		if limit > float64(p.entry)/partitionEps1 {
			break
		}
	}
	p.edges = make([]int, len(p.limits))
	n := min(len(docIDs), stretch)
	p.cost, p.from = make([]int, n+1), make([]int32, n+1)
	return p
}

// split returns the ends of the partitions of docIDs, at most stretch values after base
// (Ottaviano and Venturini, §4.2).
func (p *partitioner) split(docIDs []uint32, base uint32) (ends []int) {
	n := len(docIDs)
	for i := range n + 1 {
		p.cost[i] = int(^uint(0) >> 1)
	}
	p.cost[0] = 0
	clear(p.edges)
	for i := range n {
		before := base
		if i > 0 {
			before = docIDs[i-1]
		}
		// Each limit's edge starts from its target at the previous position and is never
		// shorter than the edge of the limit before.
		to := i + 1
		for w, limit := range p.limits {
			to = max(to, p.edges[w])
			for {
				cost := p.entry + partitionBits(docIDs[i:to], before)
				if total := p.cost[i] + cost; total < p.cost[to] {
					p.cost[to], p.from[to] = total, int32(i)
				}
				if to == n || cost >= limit || to-i == mostPartition {
					break
				}
				to++
			}
			p.edges[w] = to
		}
	}
	for i := n; i > 0; i = int(p.from[i]) {
		ends = append(ends, i)
	}
	for i, j := 0, len(ends)-1; i < j; i, j = i+1, j-1 {
		ends[i], ends[j] = ends[j], ends[i]
	}
	return ends
}

// partitionBits returns the bits of a partition without its table entry.
func partitionBits(docIDs []uint32, base uint32) int {
	n := len(docIDs) - 1 // the last is in the table
	left := docIDs[n] - base - uint32(n+1)
	if n == 0 || left == 0 {
		return 0
	}
	return efBits(n, docIDs[n-1]-base-uint32(n), lowWidth(uint64(left)+1, n))
}
