// Package living takes writes into an index while it is searched.
//
//	Apply ──▶ write-ahead log ──▶ batch in memory ──Refresh──▶ visible segments ──Flush──▶ commit
//	          (durable)           (inverted)                    (not synced)               (durable)
//
// # Life of a write
//
//  1. Concurrent Apply calls form a group; one of them checks the conditions of all operations and
//     appends their records to the log (package wal), which makes them durable.
//  2. The documents go to a batch in the order of the log (pump). Several goroutines invert them
//     (inverter.Crew).
//  3. Refresh, every second by default, makes a segment of the batch and publishes it
//     (index.Live.Publish).
//     Checkpoints name such segments (index.Live.Checkpoint).
//  4. Flush commits the visible documents and removes the records that the commit contains from
//     the log.
//  5. Merges join neighbours in the background (Store.merge). They do not change results. Segments of
//     similar size are merged (choose), so that a document is written again once for each factor of
//     8 in size. Merges of different levels run at the same time.
//
// Open takes over the last checkpoint if its files are intact, and replays the records that neither it
// nor a commit has, so that each acknowledged write is there once after any crash.
//
// # Conditions
//
// Each id has a version: the number of its last write in the log (Seq), and a count of its writes.
// Versions of writes that are not visible yet are in memory (versions), others in the segments. The
// version of a deleted id is kept for a minute after the deletion is visible, so that the count goes
// on and older external versions are refused; at most 32 MiB of them, about 200,000 ids. A new process
// knows the versions of deletions that it replays.
//
// # Fields
//
// An operation can declare fields of the index, in its record. A document has the fields that the
// records up to its own declare, also after a replay: it is inverted with them, in the middle of a
// batch (item.fields). The batch makes the new fields visible (index.Live.Publish).
//
// # Limits
//
// Apply waits while more bytes than Options.MemoryBytes wait to be inverted or published, or more than a
// twelfth of that to be inverted, and while there are too many segments for the merger; after Options.MaxWait the error is ErrBusy.
//
// # Concurrency
//
// A Store is safe for concurrent use. It holds the write lock of the index until Close.
package living
