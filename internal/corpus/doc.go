// Package corpus reads documents from outside, in the formats in which
// collections come: folders of text, Markdown, HTML and source files, JSON
// Lines, TREC text and TREC web, MS MARCO tab-separated values, WARC and WET.
// Compressed input (gzip, zstd, bzip2) is recognised by its first bytes and
// read through; "-" is standard input.
//
// It does not analyse text and knows nothing of indexes. CIFF files hold
// posting lists, not documents: package ciff reads them.
//
// Open returns a Reader, whose Next does no more than decompress and cut the
// input into Batches of whole records; Batch.Parse does the rest. So one
// goroutine calls Next and any number of goroutines parse.
//
// Nothing is lost silently. What cannot be used is reported as a RecordError
// with file and line or offset: a malformed record, an unreadable file, a
// compressed stream that is cut off. Files that hold no text, and records that
// hold no document, are counted by Skipped.
package corpus
