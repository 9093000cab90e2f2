// Peers compares Griffin with bleve v2.5.7, the most widely used search library
// in Go: indexing time, and latency of top-k OR and AND queries on one thread.
// It prints a table, writes JSON, and with -check exits with status 1 unless
// Griffin is at least 5 times as fast at indexing and 20 times as fast on OR.
//
//	cd bench/peers
//	go run . -docs 100000 -queries tb05-1000.tsv -json result.json -check wiki-passages-*.jsonl.zst
//
// It is a separate module, so that users of Griffin do not download bleve.
//
// # Fairness
//
// Both engines index one file, plain JSON lines of the first -docs passages,
// with the same tokens (lower case, runs of Unicode letters and digits, at most
// 40 bytes), frequencies and lengths but no positions, and store title and
// text. Both score with BM25 (k1 = 0.9, b = 0.4).
//
// Choices favour bleve:
//
//   - bleve indexes in the fastest documented way: scorch, batches of -batch documents
//     from one goroutine per thread, unsafe_batch (do not wait for the disk).
//   - bleve's tokenizer is written for this program and is faster than bleve's own, so
//     the comparison is of indexing, not of Unicode tables.
//   - bleve does not index titles as a separate field; Griffin does.
//   - bleve's query objects are built before its clock starts.
//   - The latency of a query is the minimum of -runs runs after a warm-up run, which
//     hides bleve's garbage collection.
//
// Indexing has two times: until every document is on disk, and until the index
// is one segment, which gives bleve's fastest queries and is used for them.
// -check uses the second time, because both engines end in this state;
// Griffin's command always does, synced to disk.
//
// The engines run alternately, and the minimum of -builds build times counts,
// so that other load on the machine favours neither.
//
// The program fails if the engines differ in the number of queries without
// results.
//
// # Filters, sorts and facets
//
// With -tasks, both engines run the tasks of luceneutil's nightly benchmark with filters, sorts, facets, prefixes,
// wildcards and fuzzy terms, over the passages with further fields:
//
//	go run . -tasks luceneutil-wikinightly.tasks -docs 100000 -runs 10 -json tasks.json -check wiki-passages-*.jsonl.zst
//
// The comparison is as fair as this:
//
//   - Both run in this process, on one goroutine, by turns, after a run as a warm-up, which is when Griffin and
//     bleve fill their caches.
//   - Both index contents with positions and store it. bleve's numbers and keywords are indexed and have doc
//     values.
//   - The filter of 5 % is a clause of the kind filter in both.
//   - bleve counts all matches in every search. Griffin counts them only if the task asks for the count, a sort or
//     a facet.
//   - The program fails if the engines differ in the number of matches, the values of the first hits of a
//     sort, or the counts of a facet.
//
// -check fails unless Griffin is 20 times as fast as bleve in the geometric mean of the categories.
//
// With -lucene, Lucene runs the tasks, too: 9.10 and 9.12 were tried, and 9.9 and 9.11 have the codec of 9.10. Debian has it as the package liblucene9-java (9.10 in Debian 13, 9.12 in
// a newer suite), and Java 21, for which it is compiled, as openjdk-21-jdk-headless:
//
//	go run . -tasks luceneutil-wikinightly.tasks -lucene /usr/share/java/lucene9.jar:/usr/share/java/hppc.jar wiki-passages-*.jsonl.zst
//
// It is compared so:
//
//   - It runs in a process of its own, on one thread, by turns with the others, and measures itself, after 0.3 s of each
//     task as a warm-up. Its index has one segment, and positions, points, doc values and inverted keywords.
//   - Its defaults hold: the cache of filters, and that the count of a search stops at 1,000 matches. Byte buffers map
//     the index, because Debian's file lacks the classes for memory segments.
//   - Facets are counted by doc values (StringValueFacetCounts), and fuzzy queries have up to 1,024 terms, as in
//     Griffin.
//
// # search-benchmark-game
//
// With -game, the engines run the commands TOP_10, TOP_100, TOP_1000, TOP_100_COUNT and COUNT of search-benchmark-game with
// its 962 queries: terms, intersections, unions, phrases, and mixtures of these. With -lucene, Lucene is
// Griffin's peer, without it bleve:
//
//	go run . -game search-benchmark-game.jsonl -docs 300000 -runs 10 -json game.json -check -lucene /usr/share/java/lucene9.jar:/usr/share/java/hppc.jar wiki-passages-*.jsonl.zst
//
// The comparison is as fair as this:
//
//   - The engines index the same tokens, in the order of the passages, with positions. The index has one segment.
//   - A query's time begins with its text, which each engine parses, and ends with the DocIDs and scores of the hits, or
//     with the count. No stored documents are read.
//   - One thread. An engine is warmed up with each command for -warm-up, and until a round of all queries is no longer
//     faster than earlier ones. Then the engines' rounds alternate. Of each query the least of the rounds counts.
//     A round begins with a query whose time does not count.
//   - Lucene measures itself, scores with Griffin's BM25, has no cache of queries, and may stop counting after K
//     matches if no count is asked for. TOP_100_COUNT takes the faster of two ways: a search that visits all
//     matches, or a search for the hits and IndexSearcher.count.
//   - The program fails if the engines differ in a count. It reports the share of common hits among the best 10.
//     Lucene stores lengths above 40 tokens with a precision of 1 in 8, and bleve scores phrases by the sum of their
//     words, so that the orders differ.
//
// -check fails unless Griffin is twice as fast in the mean of each kind of query and command.
//
// With -pisa and a folder of PISA's commands (compress_inverted_index, create_wand_data, lexicon, queries and
// evaluate_queries; for -bp also reorder-docids), PISA runs what it can: TOP_10, TOP_100, TOP_1000 and COUNT of queries whose words are all required
// or all optional. The table names the reason for each kind and command without a result. Without -lucene, bleve is
// then left out:
//
//	go run . -game search-benchmark-game.jsonl -docs 300000 -runs 10 -json game-pisa.json -pisa pisa/build/bin wiki-passages-*.jsonl.zst
//
// The comparison is as fair as this:
//
//   - PISA reads the same tokens, as its binary collection and numbers of terms: its tokenizer has no part. The index is
//     block_simdbp, with bounds of blocks of 64 postings, in the order of the passages. BM25 has Griffin's k1 and b, but
//     PISA's weight of a word in n of N documents is ln((N-n+0.5)/(n+0.5)), at least 1e-6; Griffin's adds 1 to the
//     fraction. So the best hits differ where words are frequent.
//   - The engines run the queries of an algorithm by turns, in the same order, on one thread: Griffin, and then PISA's
//     command once for all algorithms. Both pass over the queries once without and five times with the clock. Of each
//     query the least of these times in -runs turns counts.
//   - PISA's clock begins after it has parsed the query and found its terms, and has whole microseconds, rounded down.
//   - Several of PISA's algorithms run: for unions maxscore, block_max_maxscore, wand, block_max_wand and ranked_or, for
//     intersections ranked_and and block_max_ranked_and, for a single word all of these. The one with the least mean of
//     a kind and command counts.
//   - COUNT is PISA's "and" or "or", which visit all matches. It has no other count of a single word, either.
//   - A query that PISA cannot run because words do not occur is left out of both engines' times.
//   - The program fails if PISA's ranked_and or ranked_or finds another number of matches than Griffin. It reports
//     the share of common hits among the best 10.
//
// -check does not apply to PISA.
//
// With -bp, both engines run in two orders of the documents: that of the passages (natural), and BP order, by recursive
// graph bisection:
//
//	go run . -game search-benchmark-game.jsonl -docs 300000 -runs 10 -json game-pisa-bp.json -bp -pisa pisa/build/bin wiki-passages-*.jsonl.zst
//
// The orders are compared so:
//
//   - Each engine computes its own order. Griffin merges its index with ReorderBP, as griffin index --reorder bp does. PISA's
//     reorder-docids reorders its collection and the names of its documents, with its defaults. Both start from the
//     order of the passages and take up to 20 rounds a node. Griffin leaves out words of fewer than 16 documents and
//     stops at nodes of 16 documents; PISA takes all words and stops at 32 to 64. The time of reordering is not measured.
//   - All four take turns: Griffin in both orders, and then PISA in both, each as above. Every second turn begins with BP
//     order. So times of different orders may be compared, too.
//   - The record has a report for each order, pisa and pisa_bp, which names it. Kinds and commands without a result are
//     only in the first.
//   - The program fails if a number of matches depends on the order. Hits are compared as numbers of passages. Griffin
//     breaks ties by the order of the passages, PISA by that of its index.
//
// # Writes beside queries
//
// With -living, both engines take batches of new passages from -clients
// goroutines and are searched at the same time:
//
//	go run . -living -docs 250000 -queries tb05-1000.tsv -json living.json -check wiki-passages-*.jsonl.zst
//
// A round makes an index with -base documents, writes for -duration at the highest rate, and then
// for -duration at half of this rate, beside top-10 OR queries from one goroutine at -query-rate.
// The rounds of both engines alternate, and the highest rate and the lowest 99th percentile of each engine count.
//
//   - Both engines run in this process, without JSON and HTTP: the passages are
//     parsed before the clock starts.
//   - Both make a batch durable before the call returns: bleve with its default,
//     unsafe_batch off, and Griffin with its log. bleve's documents are then visible as well,
//     Griffin's within a second.
//   - Both index contents (title and text) and the title, with positions, in English
//     (bleve's analyzer "en"), and store title and text. bleve's doc values and _all
//     are off.
//   - bleve's options for persisting and merging are its defaults. Its documents have the
//     contents as a field of their own, which costs it no analysis more than Griffin's.
package main
