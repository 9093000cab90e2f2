// Package index makes a folder of segments an index: a manifest that names
// them, commits that are all or nothing, one writer and any number of readers.
//
// # Life of a build
//
// Build turns a corpus into one segment, in bounded memory, on all processors:
//
//		corpus ──cut──▶ chunks ──▶ workers: parse, analyse, invert ──▶ runs ──merge──▶ segment ──▶ manifest
//		        (1 goroutine)      (one chunk each, whole)        (memory or files)
//
//	 1. One goroutine reads raw batches and groups them into chunks of some
//	    megabytes (pipeline.cut). It neither parses nor looks at records.
//	 2. Each worker takes a whole chunk, parses its records, analyses their text
//	    and adds them to an inverter: per field a hash table of terms (termTable)
//	    and for each term a chain of bytes in a slab (chains), in which postings
//	    lie compressed, as they will stay. Stored documents are compressed into a
//	    temporary file on the way.
//	 3. At the end of the chunk the terms are sorted and the chains strung
//	    together: a run, which is kept in memory while the budget lasts and
//	    appended to the worker's spill file after that (runStore).
//	 4. When the corpus has ended, the runs stand in the order of their chunks,
//	    which is corpus order. Documents whose id comes again are dropped
//	    (dropDuplicates), and segment.Write merges the runs' lists term by term,
//	    each in one sequential pass, into a segment. A document's DocID is its
//	    place in the corpus, so neither threads nor memory nor the size of batches
//	    change the result.
//	 5. With reordering, the segment's lists are turned round into a forward index
//	    (forwardIndex), package reorder finds a better order, and the segment is
//	    written once more in it.
//	 6. A new manifest that names the segment is renamed over the old one
//	    (commit.publish). Only now is the index changed.
//
// A Writer does the same with documents that come one by one: one inverter, one
// segment a commit. A commit merges the last segments with its own documents
// when there are too many of similar size (mergeFrom), and marks documents that
// were deleted or replaced in new bitmaps beside their segments.
//
// # Crashes
//
// Files are written once, under names that are not used again, and synced
// before the manifest that names them is. So a process that is killed at any
// moment leaves the former commit or the new one; what it wrote otherwise is
// named by nothing, is never read, and is removed by the next writer.
//
// # Concurrency
//
// An Index is safe for concurrent use. Searches hold a Snapshot, whose files
// stay mapped until it is released, whatever is committed meanwhile. One writer
// at a time, of all processes, holds the lock (Build, Import, or a Writer until
// Close); readers take no lock. Readers in other processes see a commit after
// Refresh.
//
// The package does not search: it hands out segments. It does not know how
// segments look inside.
package index
