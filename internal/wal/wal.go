package wal

import "time"

// Seq is the number of a record: from 1, rising in the order of the log. Its high bits are a term: no acknowledged record
// has the number of another one, even if that was lost.
type Seq uint64

// Record is what Append writes.
type Record struct {
	Type    byte
	Payload []byte // at most MaxPayloadBytes
}

// MaxPayloadBytes bounds the payload of a record.
const MaxPayloadBytes = 256 << 20

// Entry is a record of the log.
type Entry struct {
	Seq  Seq
	Type byte
	// Payload is valid until the function that receives the Entry returns.
	Payload []byte
}

// Log is a durable sequence of records. It has one implementer, in a local folder; a replicated
// log is the second. All methods are safe for concurrent use.
type Log interface {
	// Append adds records, at least one, with consecutive numbers from first on. It does not keep
	// the payloads. With ModeRequest the records are durable when it returns. Errors wrap
	// ErrFull, ErrReadOnly, ErrDenied, ErrFailed, base.ErrBadInput or base.ErrClosed. If another program removed
	// the log, they wrap ErrFailed and base.ErrRemoved.
	Append(records []Record) (first Seq, err error)
	// Sync waits until all acknowledged records are durable.
	Sync() error
	// Replay calls each for the acknowledged records from number from on, in order; 0 means from
	// the first. It stops at the first error of each, and returns it unchanged. Memory is bounded
	// by the largest record. If records from there on were removed, the error wraps ErrTruncated;
	// if they are damaged, base.ErrCorrupt.
	Replay(from Seq, each func(Entry) error) error
	// TruncateFront permits the log to remove the records before number keep.
	TruncateFront(keep Seq) error
	// Stats is cheap.
	Stats() Stats
	// Close makes all acknowledged records durable and releases the log. Later calls return nil. Errors are as for Append;
	// after ErrFull, ErrReadOnly or ErrDenied, which concern records of a process before, the next Open tries again.
	Close() error
}

// Stats describes a Log.
type Stats struct {
	// First and Last are the lowest and highest number of acknowledged records; First is Last+1
	// if there are none.
	First, Last Seq
	// Durable is the highest number of a record that is known to survive a power failure.
	Durable Seq
	// SizeBytes is the size of the log, Files the number of its files.
	SizeBytes int64
	Files     int
	// Syncs counts syncs of records, for the size of groups.
	Syncs uint64
}

// Mode is when appended records become durable. In every mode they are handed to the operating
// system before Append returns, so that they survive the end of the process.
type Mode uint8

const (
	// ModeRequest syncs before Append returns. Concurrent Appends share a sync.
	ModeRequest Mode = iota
	// ModeAsync syncs in the background, as soon as the previous sync has ended.
	ModeAsync
	// ModeInterval syncs in the background, Options.Interval after the first unsynced Append.
	ModeInterval
)

// Options of Open. The zero value is usable.
type Options struct {
	Mode Mode
	// Interval is for ModeInterval; 0 means a second.
	Interval time.Duration
	// FileBytes is the size at which a new file is begun; 0 means 64 MiB. A file exceeds it by at
	// most what concurrent Appends write at once.
	FileBytes int64
	// After is the last number that the caller has stored elsewhere. New records have higher
	// numbers, even if the log has lost its end or is new.
	After Seq
}

func (o *Options) setDefaults() {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.FileBytes <= 0 {
		o.FileBytes = 64 << 20
	}
}
