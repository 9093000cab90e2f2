// Package index makes an index of a folder of segments: a manifest that names them,
// atomic commits, one writer and any number of readers.
//
// # Life of a build
//
//  1. Package inverter turns a corpus into partial indexes, in bounded memory, on all
//     processors.
//  2. segment.Write merges them into one segment. A document's DocID is its number in the
//     corpus.
//  3. With reordering, inverter.Forward turns the lists of the segment into a forward
//     index, package reorder finds a better order, and the segment is written again in
//     that order.
//  4. A new manifest that names the segment is renamed over the old one
//     (commit.publish). Before that, the index is unchanged.
//
// A Writer does the same with documents that are added one by one: each commit makes one
// segment. If there are too many segments of similar size, a commit merges the last ones
// with its own documents (mergeFrom). Deleted and replaced documents are marked in new
// bitmaps beside their segments. Merge is a commit that adds nothing: it writes adjacent
// segments as one, without deleted documents, and computes impact-ordered lists again.
//
// # Crashes
//
// Files are written once, under names that are never used again, and synced before the
// manifest that names them. So a process that is killed at any moment leaves the former
// commit or the new one. No manifest names its other files: nothing reads them, and the
// next writer removes them.
//
// # Concurrency
//
// An Index is safe for concurrent use. Searches hold a Snapshot, whose files stay mapped
// until it is released, whatever is committed meanwhile. One writer at a time, of all
// processes, holds the lock (Build, Import, Merge, BuildImpacts, or a Writer until Close).
// Readers take no lock. Readers in other processes see a commit after Refresh.
//
// The package does not search: it returns segments, whose content package segment knows.
package index
