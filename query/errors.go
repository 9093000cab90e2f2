package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// The kinds of Error, which wraps griffin.ErrBadInput too.
var (
	// ErrSyntax: text against the grammar, or an invalid node.
	ErrSyntax = errors.New("query syntax")
	// ErrTooLong: more than MaxBytes.
	ErrTooLong = errors.New("query too long")
	// ErrTooDeep: parentheses beyond MaxDepth.
	ErrTooDeep = errors.New("query nested too deep")
	// ErrTooManyClauses: more than MaxClauses words and phrases.
	ErrTooManyClauses = errors.New("query has too many clauses")
)

// Error is one fault of a query.
type Error struct {
	Kind   error  // ErrSyntax, ErrTooLong, ErrTooDeep or ErrTooManyClauses
	Text   string // the query; "" if the fault has no position
	Offset int    // byte of Text at which the fault begins, 0 to len(Text)
	Reason string // the fault, and the correction if it is known
}

// Error returns the message, without the query.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return fmt.Sprintf("%v: byte %d: %s", e.Kind, e.Offset, e.Reason)
}

// Unwrap returns Kind and griffin.ErrBadInput.
func (e *Error) Unwrap() []error { return []error{e.Kind, base.ErrBadInput} }

// Caret returns two lines for a terminal, or "" without Text: Text, with control characters as
// blanks, and a caret under the fault's first character. Every character counts as one column.
func (e *Error) Caret() string {
	if e.Text == "" {
		return ""
	}
	line := strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return ' '
		}
		return r
	}, e.Text)
	column := utf8.RuneCountInString(e.Text[:e.Offset])
	return line + "\n" + strings.Repeat(" ", column) + "^"
}
