package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// The kinds of Error. Every Error wraps griffin.ErrBadInput too.
var (
	// ErrSyntax: the text does not follow the grammar, or a node is not valid.
	ErrSyntax = errors.New("query syntax")
	// ErrTooLong: the text has more than MaxBytes bytes.
	ErrTooLong = errors.New("query too long")
	// ErrTooDeep: parentheses are nested deeper than MaxDepth.
	ErrTooDeep = errors.New("query nested too deep")
	// ErrTooManyClauses: there are more than MaxClauses words and phrases.
	ErrTooManyClauses = errors.New("query has too many clauses")
)

// Error describes one fault of a query and its position.
type Error struct {
	Kind   error  // ErrSyntax, ErrTooLong, ErrTooDeep or ErrTooManyClauses
	Text   string // the query; "" if the fault has no position
	Offset int    // byte of Text at which the fault begins, 0 to len(Text)
	Reason string // the fault, and the correction if it is known
}

// Error returns the message, without the text of the query.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return fmt.Sprintf("%v: byte %d: %s", e.Kind, e.Offset, e.Reason)
}

// Unwrap returns Kind and griffin.ErrBadInput.
func (e *Error) Unwrap() []error { return []error{e.Kind, base.ErrBadInput} }

// Caret returns two lines for a terminal: Text, with control characters as
// blanks, and a caret under the character where the fault begins. Every
// character counts as one column. It returns "" if there is no Text.
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
