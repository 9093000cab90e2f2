// Package segment writes, opens, checks and merges the immutable parts of an
// index. A segment holds some documents, numbered from 0, and everything that
// a search needs of them: the terms dictionary, posting lists with their
// bounds, document lengths, external ids and stored text.
//
// A segment is a folder of write-once files in the container of package
// sealed. Write makes one from Sources: inverted batches, spilled runs, other
// segments, a CIFF file; so flush, merge and import are one operation. Open
// maps the files and reads little more than the metadata; what a search
// touches is checked when it is first touched; Verify checks everything.
//
// It does not know about deletions after the fact, generations or several
// segments: that is package index. It does not score: that is package traverse.
//
// A Segment, StoredReader and Bitmap that is not being set are safe for
// concurrent use. Sources, iterators and writers are for one goroutine.
//
// docs/formats/segment.md describes the files byte by byte.
package segment
