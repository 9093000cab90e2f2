// Package analysis turns text into terms, by an Analyzer that New returns by name. The index
// stores the name, so that documents and queries pass through the same chain.
//
// The default, "english", is Lucene's EnglishAnalyzer (UAX #29 words, possessive 's removed,
// lower case, 33 stop words, Porter stemmer), so that published BM25 figures can be reproduced;
// "simple" and "whitespace" do less; "english-full" also indexes stop words; "code" and "cjk" are for
// source code and East Asian text; other names are languages with a Snowball stemmer. Settings define
// further analyzers of character filters, a tokenizer and token filters, in the JSON of OpenSearch. A Scheme
// assigns analyzers to the fields of an index, for documents and for queries.
//
// Query syntax is handled by package query. The chains of Lucene do not normalise Unicode: composed and decomposed
// forms of a letter are different terms. Analyzers of Settings do, to NFC, unless they say otherwise.
//
// A segmenter cuts text into words: a byte table for ASCII, github.com/clipperhouse/uax29 for
// words with other characters, with equal results. A termCache maps words to terms with one
// hash probe and no allocation, so that each distinct word is stemmed once.
//
// An Analyzer belongs to one goroutine at a time; New, Names and Describe are safe for
// concurrent use.
package analysis
