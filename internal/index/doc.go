// Package index makes an index of a folder of segments: a manifest, atomic commits, one writer
// and any number of readers.
//
// # Life of a build
//
//  1. Package inverter turns a corpus into partial indexes, in bounded memory.
//  2. segment.Write merges them into a segment, with DocIDs in corpus order.
//  3. For reordering, inverter.Forward makes a forward index of the segment's lists, package
//     reorder finds a better order, and the segment is written again.
//  4. A manifest that names the segment is renamed over the old one (commit.publish).
//
// A Writer does the same with single documents: each commit makes one segment, merging the last
// ones if too many are of similar size (mergeFrom). Bitmaps beside the segments mark deleted
// and replaced documents. Merge is a commit that adds nothing: it joins adjacent segments,
// without deleted documents, and computes impact-ordered lists again.
//
// # Crashes
//
// Files are written once, under new names, and synced before the manifest that names them, so a
// killed process leaves the former commit or the new one. The next writer removes other files.
//
// # Concurrency
//
// An Index is safe for concurrent use. A Snapshot's files stay mapped until it is released. One
// writer at a time, of all processes, holds the lock (Build, Import, Merge, BuildImpacts, or a
// Writer until Close); readers take none, and see other processes' commits after Refresh.
//
// The package does not search.
package index
