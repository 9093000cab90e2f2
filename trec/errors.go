package trec

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
)

// ErrNoQueries means that run and qrels have no common query: most often, their topics differ.
var ErrNoQueries = errors.New("run and qrels have no query in common")

// ErrUnknownMeasure means an unknown name.
var ErrUnknownMeasure = errors.New("unknown measure")

// ErrNotMean means that a measure's value over all queries is a count or a geometric mean, so
// it cannot be compared by query.
var ErrNotMean = errors.New("measure is not a mean over queries")

// SyntaxError reports an invalid line. It unwraps to base.ErrBadInput.
type SyntaxError struct {
	Line int    // 1-based; the line where the offending record begins
	Msg  string // the reason
}

// Error formats line and message; the caller adds the file's name.
func (e *SyntaxError) Error() string { return fmt.Sprintf("line %d: %s", e.Line, e.Msg) }

// Unwrap returns base.ErrBadInput.
func (e *SyntaxError) Unwrap() error { return base.ErrBadInput }

func syntaxErrorf(line int, format string, args ...any) error {
	return &SyntaxError{Line: line, Msg: fmt.Sprintf(format, args...)}
}
