package query

// Node is a *Term, *Phrase or *Boolean, or a *Words or *Weights, which Parse does not make.
type Node interface {
	// String returns the node as query text: see format.go.
	String() string
	node()
}

// Occur is a clause's role in its Boolean.
type Occur uint8

const (
	// Plain clauses are required in mode "and" and optional in mode "or".
	Plain Occur = iota
	// Must clauses (+, AND) are required in every mode.
	Must
	// MustNot clauses (-, NOT) exclude matching documents.
	MustNot
	// Should clauses (OR) are optional in every mode. Without required clauses, at least one
	// optional clause must match. In a tree of Parse, all clauses of a Boolean are Should or
	// none is.
	Should
)

// Term is a word. Analysis may make several terms of it, or none (a stop word); several are a
// phrase if the index has positions, otherwise all are required.
type Term struct {
	Field string // "" is the default field
	Text  string
	Boost float64 // factor of the score, MinBoost to MaxBoost; 0 is 1
}

// Phrase is a text whose terms must occur in order and at the same distances. Several terms
// need positions.
type Phrase struct {
	Field string
	Text  string
	Boost float64 // as in Term
}

// Words is a text without syntax: each term that analysis makes is a Plain clause. Use it for
// test collections' topics and text that people type.
type Words struct {
	Field string
	Text  string
	Boost float64 // as in Term
}

// Boolean is a group of clauses. Without clauses, or with MustNot only, it matches nothing.
type Boolean struct {
	Clauses []Clause
	Boost   float64 // as in Term; it multiplies the boosts of the clauses
}

// Clause is one part of a Boolean.
type Clause struct {
	Occur Occur
	Node  Node
}

func (*Term) node()    {}
func (*Phrase) node()  {}
func (*Words) node()   {}
func (*Boolean) node() {}

// Limits of a query, each with its own kind of error (see errors.go).
const (
	// MaxBoost bounds boosts, multiplied over nested groups.
	MaxBoost = 1000
	// MinBoost is the smallest boost.
	MinBoost = 0.001
	// MaxBytes bounds the query text.
	MaxBytes = 16 << 10
	// MaxDepth bounds nested parentheses.
	MaxDepth = 32
	// MaxClauses bounds words and phrases.
	MaxClauses = 1024
	// MaxRemarks bounds the syntax faults that ParseLenient reports.
	MaxRemarks = 32
)
