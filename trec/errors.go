package trec

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// ErrNoQueries says that a run and the qrels have no query in common, so there
// is nothing to average: most often they belong to different topics.
var ErrNoQueries = errors.New("run and qrels have no query in common")

// ErrUnknownMeasure says that a measure's name is not one of this package.
var ErrUnknownMeasure = errors.New("unknown measure")

// ErrNotMean says that a measure cannot be compared query by query, because its
// value over all queries is a count or a geometric mean.
var ErrNotMean = errors.New("measure is not a mean over queries")

// SyntaxError says which line of an input cannot be used, and why. It unwraps
// to base.ErrBadInput, the error kind of everything a caller can mend.
type SyntaxError struct {
	Line int    // 1-based; the line where the offending record begins
	Msg  string // what is wrong with it
}

// Error formats the line and the message; the caller adds the file's name.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Unwrap returns base.ErrBadInput.
func (e *SyntaxError) Unwrap() error { return base.ErrBadInput }

func syntaxErrorf(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}
