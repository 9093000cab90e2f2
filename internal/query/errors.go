package query

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// The kinds of Error. Every Error is a base.ErrBadInput too.
var (
	// ErrSyntax says that the text does not follow the grammar.
	ErrSyntax = errors.New("query syntax")
	// ErrTooLong says that the text has more than MaxBytes bytes.
	ErrTooLong = errors.New("query too long")
	// ErrTooDeep says that parentheses are nested deeper than MaxDepth.
	ErrTooDeep = errors.New("query nested too deep")
	// ErrTooManyClauses says that there are more than MaxClauses words and phrases.
	ErrTooManyClauses = errors.New("query has too many clauses")
)

// Error is one thing that is wrong with a query, and where.
type Error struct {
	Kind   error  // ErrSyntax, ErrTooLong, ErrTooDeep or ErrTooManyClauses
	Text   string // the query; "" if the fault is of no certain place
	Offset int    // byte of the text at which the fault begins, 0 to its length
	Reason string // what is wrong, and what to write instead if that is known
}

// Error returns the message, without the text of the query.
func (e *Error) Error() string {
	if e.Text == "" {
		return fmt.Sprintf("%v: %s", e.Kind, e.Reason)
	}
	return fmt.Sprintf("%v: byte %d: %s", e.Kind, e.Offset, e.Reason)
}

// Unwrap returns the kind and base.ErrBadInput.
func (e *Error) Unwrap() []error { return []error{e.Kind, base.ErrBadInput} }

// Caret returns two lines for a terminal: the text (control characters as
// blanks) and a caret under the character where the fault begins. Every
// character counts as one column. "" if there is no Text.
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
