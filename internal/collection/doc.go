// Package collection generates large collections from a small one: indexes of millions of
// documents whose terms co-occur as in the documents of a real index, with the published
// statistics of collections that are not available.
//
// A generated document is composed of some consecutive documents of the source, seen as
// sets of terms: the union of their terms, some dropped, frequencies altered. Only the
// terms of a query log are kept, because no other list is ever read. Alternatively, it is a
// vector of weights, as learned sparse models produce from a passage: terms of the passage
// and, with lower weights, terms of related passages. The vocabulary, which is kept
// completely, is then the source's words, with rare words split into pieces. The choice of
// source documents gives the collection its order: sites that keep to one topic (Crawl),
// the same documents by a rank (Rank), or shuffled (Random). Composing a sample determines
// the share of postings to drop, so that the queries get the required postings.
// docs/lab/collections.md has the method and the statistics that it reaches.
//
// Generate streams into an ordinary index of one segment. It holds the source's postings of
// the terms (5 bytes each), 12 bytes per document (8 more temporarily with Rank) and the new
// postings, packed to between 1 and 2 bytes each, or 3 with weights. The result depends on
// the source, the log and the options, not on the number of threads.
//
// The package is for experiments. It makes no text: hits have only ids.
package collection
