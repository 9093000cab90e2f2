package cost

// Features are the quantities that the time of work depends on, summed over the
// segments of the index. What a Kind does not use (its comment tells what it does)
// may stay 0. Lengths are numbers of postings.
type Features struct {
	Lists int // that are not empty
	K     int // hits wanted
	// Shortest, Second and Longest are lengths of lists; Second is 0 of one list. Sum
	// is the length of all.
	Shortest, Second, Longest, Sum int64
	// Essential is the length of the lists that an OR cannot leave to be probed, if its
	// threshold began where the lists' own best scores put it (MaxScore's essential
	// lists). 0: not known, which counts as Sum.
	Essential int64
	// Tight is the same at a threshold that is TightFactor times as high, since it rises
	// while the query runs. 0: not known, which counts as Essential.
	Tight int64
	// Candidates are documents that a step begins with.
	Candidates int64
	// Blocks of compressed lists that are decoded.
	Blocks int64
	// BytesBus are moved between page-locked memory and a GPU, BytesFile are read by the
	// CPU from mapped files and moved from there.
	BytesBus, BytesFile int64
	// Batch is how many queries are answered together, of which these are the sums; 0
	// counts as 1.
	Batch int
}

// TightFactor is what the threshold of Features.Tight is times that of Essential. Of 1,
// 1.2, 1.5 and 2, the first two together predicted the time of pruned ORs best.
const TightFactor = 1.2
