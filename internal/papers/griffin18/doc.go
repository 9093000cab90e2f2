// Package griffin18 is the engine griffin18: conjunctions that begin on a GPU and can move to the CPU
// after each list.
//
// Liu, Wang and Swanson, "Griffin: Uniting CPU and GPU in Information Retrieval Systems for Intra-Query
// Parallelism", PPoPP 2018. docs/divergence.md lists the decisions where the paper says nothing.
//
// A query intersects its lists pairwise, the shortest first (SvS, §2.1.2). The GPU does this while the
// length of the next list is less than ratio times the size of the intermediate result. Then the
// intermediate result moves to the CPU, which completes the query (§3.2).
//
// On the GPU, lists have the Elias-Fano code of §3.1.1, codec.EF with Plain, and are copied to the
// device for each query. They are decoded by Para-EF and merged by MergePath. From a ratio of crossing
// on, a parallel binary search over the skip pointers determines the blocks that can contain a
// candidate, and only these are copied and decoded (§3.1.2). On the CPU, lists have the code PForDelta,
// codec.PForDelta with Plain, and are merged, or searched by their skip pointers (§2.2). Candidates are
// scored by BM25 on the processor where the intersection ends. The best k are selected on the CPU, or on
// the GPU by option (§3.1.3).
//
// # Kernels
//
// They are in griffin18.cu.
//
//	kernel             block  work                                      reference
//	griffin18_decode     128  a warp decodes a block of postings        codec.EF{Plain: true}
//	griffin18_follow     256  positions of candidates after an intersection
//	griffin18_compact    256  positions in a list to positions in its selected blocks
//
// An Engine is safe for concurrent use. Each running query has a workspace of its own, which a pool keeps for
// later queries, within bounds.
package griffin18
