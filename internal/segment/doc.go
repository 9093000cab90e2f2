// Package segment writes, opens, verifies and merges the immutable segments of
// an index. A segment holds documents, numbered from 0, with their terms
// dictionary, posting lists and score bounds, lengths, external ids and stored
// text.
//
// A segment is a folder of write-once files in the container of package sealed.
// Write merges Sources into one: documents in memory, partial indexes, segments
// or a CIFF file. Flush, merge and import therefore share one code path. Open
// maps the files and reads only metadata. Other bytes are checked at their
// first use; Verify checks everything.
//
// Package index manages deletions, generations and several segments. Package
// traverse scores.
//
// A Segment, a StoredReader, and a Bitmap that nobody modifies are safe for
// concurrent use. Sources, iterators and writers are not.
//
// docs/formats/segment.md describes the files byte by byte.
package segment
