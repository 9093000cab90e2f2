package cost

// Features determine the time of work, summed over the segments of the index.
// Fields that a Kind does not use (see its comment) may be 0. Lengths are
// numbers of postings.
type Features struct {
	Lists int // non-empty lists
	K     int // hits requested
	// Lengths of lists; Second is 0 for a single list, Sum the total.
	Shortest, Second, Longest, Sum int64
	// Total length of the lists that an OR must traverse instead of probe
	// (MaxScore's essential lists), if its threshold starts at the best that the
	// lists' own best scores imply. 0: unknown; Sum is used.
	Essential int64
	// The same for a threshold multiplied by TightFactor, as it rises while the
	// query runs. 0: unknown; Essential is used.
	Tight int64
	// The documents at the start of a step.
	Candidates int64
	// Number of compressed blocks to decode.
	Blocks int64
	// BytesBus are moved between page-locked memory and a GPU, BytesFile read by
	// the CPU from mapped files and then moved.
	BytesBus, BytesFile int64
	// Number of queries answered together, whose features are summed; 0 means 1.
	Batch int
}

// TightFactor is the ratio of the thresholds of Features.Tight and Essential.
// Among 1, 1.2, 1.5 and 2, the pair 1 and 1.2 predicted the time of pruned ORs
// best.
const TightFactor = 1.2
