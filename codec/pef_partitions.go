package codec

// The partitions of a list are found as the shortest path in a graph whose nodes are
// the places between DocIDs, and in which an edge from i to j costs what the
// partition of DocIDs i to j-1 takes.
const (
	// mostPartition is the greatest length of a partition: finding a value in one
	// takes time in proportion to it.
	mostPartition = 1 << 12
	// stretch is how many DocIDs are partitioned at a time, which bounds the memory.
	stretch = 1 << 16
	// Edges of cost above entry/partitionEps1 are left out, and of several edges from
	// one place whose costs differ by less than a factor of 1+partitionEps2 only the
	// longest is tried. Then the path costs at most (1+eps1)(1+eps2) times the
	// shortest. The values are those of the paper's experiments.
	partitionEps1, partitionEps2 = 0.03, 0.3
	// entryBits is what a partition takes in the table, for DocIDs that are dense: of
	// three Elias-Fano codes 2 bits each, and the low bits for a partition of 64
	// DocIDs and 400 bits, a usual one.
	entryBits = 3*2 + 6 + 6 + 9
)

// partitioner finds the partitions of a stretch.
type partitioner struct {
	entry  int // what a partition takes in the table
	limits []int
	edges  []int   // for each limit the place to which the edge of at least that cost leads
	cost   []int   // of the shortest path to each place
	from   []int32 // the place before it on that path
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

// split returns where the partitions of docIDs end, at most stretch of them. base
// is the DocID before.
//
// Ottaviano and Venturini, "Partitioned Elias-Fano indexes", SIGIR 2014, §4.2.
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
		// The edge of each limit moves on from where it led from the place before, and is
		// no shorter than that of the limit before.
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

// partitionBits is how many bits a partition takes beside its entry in the table.
func partitionBits(docIDs []uint32, base uint32) int {
	n := len(docIDs) - 1 // the last is in the table
	left := docIDs[n] - base - uint32(n+1)
	if n == 0 || left == 0 {
		return 0
	}
	return efBits(n, docIDs[n-1]-base-uint32(n), lowWidth(uint64(left)+1, n))
}
