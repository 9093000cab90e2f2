package query

import "fmt"

// TermsSet matches documents with at least the number of values of a keyword, or terms of a text, that a field of numbers of the document
// says: its least value, and at least one. A document without a number does not match. The score is the sum over the values.
type TermsSet struct {
	Field  string
	Values []string // terms of the index, in the normal form of a keyword
	// AtLeast is the field of numbers.
	AtLeast string
	Boost   float64
}

func (*TermsSet) node() {}

func (s *TermsSet) boost() *float64 { return &s.Boost }

// String returns a description; there is no notation in query text.
func (s *TermsSet) String() string { return string(s.append(nil)) }

func (s *TermsSet) append(dst []byte) []byte {
	return appendBoost(fmt.Appendf(appendAlternatives(dst, s.Field, s.Values), "~{%s}", s.AtLeast), s.Boost)
}
