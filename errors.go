package griffin

import (
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/query"
)

// The kinds of error that callers may want to tell apart with errors.Is.
var (
	// ErrBadInput says that an argument, an option, a document or a query
	// cannot be used; the message says why.
	ErrBadInput = base.ErrBadInput
	// ErrNotIndex says that the folder holds no Griffin index.
	ErrNotIndex = base.ErrNotIndex
	// ErrExists says that Create found an index in the folder.
	ErrExists = base.ErrExists
	// ErrLocked says that another process is writing to the index.
	ErrLocked = base.ErrLocked
	// ErrCorrupt says that files of the index are damaged.
	ErrCorrupt = base.ErrCorrupt
	// ErrVersion says that the index was written by a newer Griffin.
	ErrVersion = base.ErrVersion
	// ErrClosed says that the Index was closed.
	ErrClosed = base.ErrClosed
)

// QueryError is what is wrong with the text of a query, and where:
//
//	Text   string // the query
//	Offset int    // byte of Text at which the fault begins
//	Reason string // what is wrong, and what to write instead
//
// Search returns a *QueryError, to be had by errors.As; it is an ErrBadInput
// too. Its Caret method shows the place on a terminal.
type QueryError = query.Error
