// Package analysis turns text into terms. An Analyzer is chosen by name with
// New; the index stores the name, so that documents and queries always pass
// through the same chain.
//
// The default, "english", is the chain of Lucene's EnglishAnalyzer (UAX #29
// words, possessive 's removed, lower case, 33 stop words, Porter stemmer), so
// that published BM25 figures can be reproduced. "simple" and "whitespace" do
// less; the other names are languages with a Snowball stemmer. Names lists
// them all and Describe says what each does.
//
// The package is not for query syntax (internal/query), HTML or other markup
// (internal/corpus), nor for Unicode normalisation: composed and decomposed
// forms of a letter are different terms, as in Lucene's chain.
//
// How it is built: a segmenter cuts the text into words (segment.go: a byte
// table for ASCII, github.com/clipperhouse/uax29 where other characters take
// part; both yield the same words), and a termCache maps the surface form of a
// word to its term, so that stemming runs once for each distinct word and a
// token that was seen before costs one hash probe and no allocation.
//
// Concurrency: an Analyzer belongs to one goroutine at a time. New, Names and
// Describe are safe for concurrent use.
package analysis
