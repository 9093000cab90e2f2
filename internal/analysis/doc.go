// Package analysis turns text into terms. An Analyzer is chosen by name with
// New. The index stores the name, so that documents and queries pass through the
// same chain.
//
// The default, "english", is the chain of Lucene's EnglishAnalyzer (UAX #29
// words, possessive 's removed, lower case, 33 stop words, Porter stemmer), so
// that published BM25 figures can be reproduced. "simple" and "whitespace" do
// less. The other names are languages with a Snowball stemmer. Names lists all of
// them, and Describe describes each.
//
// The package does not handle query syntax (package query), markup
// (internal/corpus) or Unicode normalisation: composed and decomposed forms of a
// letter are different terms, as in Lucene's chain.
//
// A segmenter cuts the text into words (segment.go: a byte table for ASCII,
// github.com/clipperhouse/uax29 for words with other characters; both yield the
// same words). A termCache maps each word to its term, so that stemming runs once
// for each distinct word. A cached word costs one hash probe and no allocation.
//
// Concurrency: an Analyzer belongs to one goroutine at a time. New, Names and
// Describe are safe for concurrent use.
package analysis
