// Package spelling finds the words of an index that resemble a mistyped one, corrects texts word by word,
// and completes values.
//
// A Dictionary reads the terms of one field in a snapshot. Similar returns the terms within a few edits, by
// similarity and document frequency; Written turns a term, which may be a stem, back into a word as
// documents have it. Correct combines candidates for several words into texts, with a language model.
// Complete finds the values of a field that begin with a text.
//
// Everything is computed from live documents, in an order that does not depend on segments: the answer equals a new index's of the live documents.
//
// The package parses no queries and runs no searches. A Dictionary is for one goroutine.
package spelling
