// Package para answers batches of conjunctive queries on a GPU: PARA. Queries are
// gathered until the elements of their shortest lists reach a computational
// threshold; then all of them are intersected in one launch, and a second one puts
// the results together.
//
//	b, err := kernels.NewBatch(para.Options{})
//	for query := range queries {
//		b.Add(query...)          // views of lists in device memory
//		if b.Full() {
//			err = b.Run(stream)  // or Start, other work, Wait
//			… b.DocIDs(i) …
//			b.Reset()
//		}
//	}
//
// Ao, Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists
// intersection and index compression algorithms using graphics processing units",
// PVLDB 4(8), 2011, §4.1, and Algorithm 1 for compressed lists. We differ: a thread
// has 4 elements in flight instead of one, a warp packs what is left of its elements
// after each list, so that lanes do not idle, and lists that have more than a share
// of all documents may have a bitmap in place of hash buckets.
//
// [Kernels] is safe for concurrent use. A [Batch] belongs to one goroutine at a time;
// two of them, each on its stream, overlap gathering, copying and computing.
//
// Kernels, in para.cu:
//
//	para_search_<search>  256 threads; a warp a tile of 128 elements of a shortest list
//	para_gather           256 threads; a warp the matches of one block of para_search
//
// Results are sorted, and the same in every run: matches are put together by sums over
// blocks, not in the order in which blocks end. Which lists lie in device memory, and
// for how long, is the caller's business: see package pipeline.
package para
