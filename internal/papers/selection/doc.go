// Package selection finds the best k of an array of scores in device memory, in
// the one order of results: score descending, then DocID ascending. All methods
// give the same list as package topk, including ties.
//
// # Methods
//
// Here the papers' methods compare keys instead of scores, so that there are no
// ties. A key is the score above the inverted DocID (device/hit_key.cuh);
// scores of 2^32 and more, in wide sums, have keys of 128 bits (Wide).
//
//	method   launches            shared bytes  paper
//	Heap     1 to 4              0             ding09 §8.2: heap of degree 512
//	Bucket   10                  8*k           griffin18 §3.1.3: bucketSelect (JEA 2012, §3.1)
//	Radix    2 + 3 a digit       0             griffin18 §3.1.3: radixSort
//	CPU      copy to the host    -             griffin18 §3.1.3: partial_sort
//	Top      2, 1 if short       32768         ours
//
// Heap removes k maxima one by one from a tree of maxima of 512, and updates
// the maxima on the path. Bucket counts the undecided keys in each of 1024
// buckets, until the k-th is known. Radix sorts all keys. CPU copies the scores
// to the host, for package topk. Top needs little more than one pass: the k-th
// best of the maxima of some thousand groups is a lower bound of the k-th best
// key, and one block collects the keys that reach it. Arrays uses one block for
// each of many arrays.
//
// We differ: bucketSelect's buckets divide the range evenly, ours have widths
// that are powers of two. bucketSelect searches the k-th greatest value, ours a
// bound that exactly k keys reach.
//
// # Kernels
//
//	kernel                   grid                              block  reference: package topk
//	selection_heap_level     groups/8                          256
//	selection_heap_extract   1                                 512
//	selection_bucket_*       4 a multiprocessor; sort: 1       256
//	selection_radix_*        4 a multiprocessor; first: 1      256
//	selection_radix_scan     1                                 1024
//	selection_top_*          2 a multiprocessor                512
//	selection_one            1                                 512
//	selection_arrays         the arrays                        512
//	selection_count*         8 a multiprocessor                256
//
// # Concurrency
//
// A Selector is safe for concurrent use. Calls enqueue work and allocate
// nothing; only CPU waits. A Scratch serves one stream at a time.
package selection
