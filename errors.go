package griffin

import (
	"errors"

	"github.com/griffin-search/griffin/internal/aggregate"
	"github.com/griffin-search/griffin/internal/base"
)

// The kinds of error, for errors.Is. Other errors are *query.Error, *Overload, and the errors
// of contexts and of the file system.
var (
	// ErrBadInput: an argument, an option, a document or a query is not valid.
	ErrBadInput = base.ErrBadInput
	// ErrTooManyFields, which wraps ErrBadInput: an index would have more than 1,000 fields.
	ErrTooManyFields = base.ErrTooManyFields
	// ErrTooManyBuckets, which wraps ErrBadInput: Query.Aggregations would have more than 65,536 buckets.
	ErrTooManyBuckets = aggregate.ErrTooManyBuckets
	// ErrNotFound: the index has no document with the given ID.
	ErrNotFound = errors.New("no such document")
	// ErrNotIndex: the folder holds no Griffin index.
	ErrNotIndex = base.ErrNotIndex
	// ErrRemoved, which wraps ErrNotIndex: another program removed, moved or replaced the folder of the index, or the lock
	// file in it, while a Writer had it open.
	ErrRemoved = base.ErrRemoved
	// ErrExists: Create found an index in the folder, or another index has replaced this one.
	ErrExists = base.ErrExists
	// ErrLocked: another process is writing to the index.
	ErrLocked = base.ErrLocked
	// ErrCorrupt: files of the index are damaged.
	ErrCorrupt = base.ErrCorrupt
	// ErrVersion: a newer version of Griffin wrote the index.
	ErrVersion = base.ErrVersion
	// ErrClosed: the Index or the Runtime was closed.
	ErrClosed = base.ErrClosed
)
