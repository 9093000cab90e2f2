package base

import "errors"

// The kinds of error that cross package borders. Wrap them with the place:
// fmt.Errorf("segment %s: term %q: %w", name, term, base.ErrCorrupt).
var (
	// ErrCorrupt says that stored bytes are not what was written: a checksum,
	// a bound or the structure is wrong. The index must be restored or rebuilt.
	ErrCorrupt = errors.New("corrupt data")
	// ErrNotIndex says that a path holds no Griffin index.
	ErrNotIndex = errors.New("not a Griffin index")
	// ErrExists says that a new index was asked for where one already is.
	ErrExists = errors.New("index already exists")
	// ErrLocked says that another process or writer holds the index's write lock.
	ErrLocked = errors.New("index is locked by another writer")
	// ErrVersion says that a file was written by a newer Griffin.
	ErrVersion = errors.New("unsupported format version")
	// ErrBadInput says that what the caller gave (a query, an option, a
	// record) cannot be used; the message says where and why.
	ErrBadInput = errors.New("bad input")
	// ErrClosed says that the index, segment or file was closed.
	ErrClosed = errors.New("closed")
)
