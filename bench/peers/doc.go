// Peers compares Griffin with bleve v2.5.7, the Go search library in widest
// use, on the same machine, input and queries in one run: time to index, and
// latency of top-k OR and AND queries on one thread. It prints a table, writes
// JSON, and with -check exits with status 1 unless Griffin is at least 5 times
// faster to index and 20 times faster on OR.
//
//	cd bench/peers
//	go run . -docs 100000 -queries tb05-1000.tsv -json result.json -check wiki-passages-*.jsonl.zst
//
// It is a module of its own so that nobody who uses Griffin downloads bleve.
//
// # What makes the comparison fair
//
// Both engines index one file, plain JSON lines of the first -docs passages,
// with the same tokens (lower case, runs of Unicode letters and digits, none
// above 40 bytes), frequencies and lengths but no positions, and title and text
// stored. Both score with BM25 (k1 = 0.9, b = 0.4).
//
// Where there was a choice, bleve got the better side:
//
//   - bleve indexes in the fastest way that its documentation describes: scorch,
//     batches of -batch documents given by as many goroutines as there are
//     threads, unsafe_batch (do not wait for the disk).
//   - The tokenizer given to bleve is written for this program and faster than
//     those that come with it, so the comparison is of indexing, not of Unicode
//     tables.
//   - bleve does not index titles as a field of their own; Griffin does.
//   - bleve's query objects are built before its clock starts. Griffin's clock
//     is that of griffin bench.
//   - Latencies are, for each query, the least of -runs runs after a warm-up
//     run, which hides bleve's garbage collection.
//
// Indexing is timed twice: until every document is on disk, and until the index
// is one segment, on which bleve's queries are fastest and which are then timed.
// The promise of -check is for the second, the state that both end in; Griffin's
// command always ends in it, synced to disk.
//
// The engines take turns, and the least of -builds build times counts, so that
// whatever else the machine does favours neither.
//
// Both engines report how many queries had no result. The program fails if they
// differ, since then the engines did not do the same work.
package main
