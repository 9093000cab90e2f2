// Package segment writes, opens, verifies and merges immutable segments of an index: documents,
// numbered from 0, with terms, posting lists and score bounds, lengths, external ids, stored
// text and columns of values (package column).
//
// A segment is a folder of write-once files in sealed containers. Flush, merge and import share
// Write, which merges Sources: documents in memory, partial indexes, segments or a CIFF file.
// Open maps the files and reads only metadata; other bytes are checked at first use, or by
// Verify.
//
// Package index manages deletions, generations and several segments; traverse scores.
//
// A Segment, a StoredReader, and an unmodified Bitmap are safe for concurrent use; Sources,
// iterators and writers are not.
//
// Formats: docs/formats/segment.md.
package segment
