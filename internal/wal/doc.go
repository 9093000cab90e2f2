// Package wal is a write-ahead log: records are appended, become durable by group commit, and are
// replayed in order after a restart.
//
// Log is the interface; Open opens a Log in a local folder of numbered files. A record is a type
// byte and an opaque payload; records are numbered by Seq, from 1, without gaps between the
// records of one Append. All records of one Append are in the log after a crash, or none.
//
// Each record's checksum covers the previous record's checksum, over files, too
// (docs/formats/wal.md). A torn end, left by a crash, is cut off and reported by Torn. Damage of
// data that was durable is an error that wraps base.ErrCorrupt and names file and byte.
//
// A failed sync stops a log: ErrFailed. The system may have dropped the data and report success
// to the next sync, so nothing is written to that file again. The caller closes the log and opens
// it again; Open copies what no later write confirms as durable into a new file. A full disk
// (ErrFull), a read-only file system (ErrReadOnly) or a lack of permission (ErrDenied) fails appends until it is writable again.
//
// The package knows nothing of documents. A Log is safe for concurrent use.
package wal
