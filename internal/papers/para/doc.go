// Package para answers batches of conjunctive queries on a GPU: PARA. It
// collects queries until the elements of their shortest lists reach a
// computational threshold. One launch intersects all of them, a second one
// compacts the results.
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
// intersection and index compression algorithms using graphics processing
// units", PVLDB 4(8), 2011, §4.1, and Algorithm 1 for compressed lists. We
// differ: a thread has 4 elements in flight instead of one; a warp packs its
// remaining elements after each list, so that lanes do not idle; and lists with
// more than a given share of all documents may have a bitmap instead of hash
// buckets.
//
// [Kernels] is safe for concurrent use. A [Batch] belongs to one goroutine at a
// time; two batches on two streams overlap gathering, copying and computing.
//
// Kernels, in para.cu:
//
//	para_search_<search>           256 threads; a warp per tile of 128 elements of a shortest list
//	para_search_lr_local           the same, with local safe search ranges
//	para_search_<search>_elements  the same, without the list H of Algorithm 1
//	para_gather                    256 threads; a warp per block of para_search
//
// Results are sorted and reproducible.
package para
