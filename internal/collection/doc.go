// Package collection generates large collections from a small one for experiments: millions of
// documents whose terms co-occur as in a real index, with the published statistics of
// unavailable collections.
//
// A generated document combines consecutive source documents: the union of their terms, some
// dropped, frequencies altered; only a query log's terms are kept. Alternatively, it is a
// vector of weights, as learned sparse models produce: a passage's terms and, with lower
// weights, related passages'. The vocabulary, kept completely, is then the source's words, with
// rare ones split into pieces. Collections are ordered by sites that keep to one topic (Crawl),
// by a rank (Rank), or shuffled (Random). A sample determines the postings to drop, so that
// queries get the required number (docs/lab/collections.md).
//
// Generate streams into an index of one segment. It holds the source's postings (5 bytes each),
// 12 bytes per document (8 more temporarily with Rank) and the new postings, packed to 1 to 2
// bytes, or 3 with weights. The result depends on source, log and options, not on threads.
//
// Hits have only ids.
package collection
