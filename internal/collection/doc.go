// Package collection makes large collections out of a small one: indexes of
// millions of documents whose terms co-occur as they do in the documents of a
// real index, with the published statistics of collections that cannot be had.
//
// A generated document is composed of some consecutive documents of the source,
// seen as sets of terms: their terms together, some dropped, frequencies altered.
// Only the terms of a query log are kept, since no other list is ever read. Or it
// is a vector of weights, as learned sparse models make of a passage: terms of the
// passage and, with less weight, terms of others that are near; then the
// vocabulary, all of which is kept, is the source's words, rare ones in pieces.
// Which source documents are used where gives the collection its order: sites
// that keep to one topic (Crawl), the same documents by a rank (Rank), or
// shuffled (Random). How much is dropped is found by composing a sample, so that
// the queries get the postings that they should; docs/lab/collections.md has the
// method and what it reaches.
//
// Generate streams into an ordinary index of one segment: it holds the source's
// postings of the terms (5 bytes each), 12 bytes a document (8 more for a while
// with Rank) and the new postings, packed to between 1 and 2 bytes each, or 3 with
// weights.
// The result depends on the source, the log and the options, not on threads.
//
// The package is for experiments. It makes no text: hits have ids only.
package collection
