package trec

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// ErrNoQueries means that a run and the qrels have no query in common, so there is nothing
// to average. Most often they belong to different topics.
var ErrNoQueries = errors.New("run and qrels have no query in common")

// ErrUnknownMeasure means that a measure's name is unknown.
var ErrUnknownMeasure = errors.New("unknown measure")

// ErrNotMean means that a measure cannot be compared query by query, because its value over
// all queries is a count or a geometric mean.
var ErrNotMean = errors.New("measure is not a mean over queries")

// SyntaxError reports an invalid line of an input. It unwraps to base.ErrBadInput, the kind
// of error that the caller can correct.
type SyntaxError struct {
	Line int    // 1-based; the line where the offending record begins
	Msg  string // the reason
}

// Error formats the line and the message; the caller adds the file's name.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Unwrap returns base.ErrBadInput.
func (e *SyntaxError) Unwrap() error { return base.ErrBadInput }

func syntaxErrorf(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}
