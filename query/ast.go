package query

// Node is a part of a query. Exactly these types implement it: *Term, *Phrase,
// *Words, *Weights and *Boolean. Parse makes *Term, *Phrase and *Boolean only.
type Node interface {
	// String returns the node as text of the query language: see format.go.
	String() string
	node()
}

// Occur is the role of a clause in its Boolean.
type Occur uint8

const (
	// Plain clauses are required in mode "and" and optional in mode "or".
	Plain Occur = iota
	// Must clauses (+, AND) are required in every mode.
	Must
	// MustNot clauses (-, NOT) exclude the documents that match them.
	MustNot
	// Should clauses (OR) are optional in every mode. If a Boolean has no
	// required clause, at least one optional clause must match. In a tree that
	// Parse returns, either all clauses of a Boolean are Should or none is.
	Should
)

// Term is a word. Analysis may turn it into no term (a stop word), one, or
// several. Several are a phrase if the index has positions; otherwise all are
// required.
type Term struct {
	Field string // "" is the default field
	Text  string
	Boost float64 // factor of the score, MinBoost to MaxBoost; 0 is 1
}

// Phrase is a text whose terms must occur in the same order and at the same
// distances. Several terms need an index with positions.
type Phrase struct {
	Field string
	Text  string
	Boost float64 // as in Term
}

// Words is a text without syntax. Each term that analysis makes of it is a
// Plain clause of its own. Use it for the topics of test collections and for
// text that people type.
type Words struct {
	Field string
	Text  string
	Boost float64 // as in Term
}

// Boolean is a group of clauses. A group without clauses, or with MustNot
// clauses only, matches nothing.
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

// Limits of a query. Each has its own kind of error (see errors.go), so that a
// server can tell it from a syntax error.
const (
	// MaxBoost is the largest boost, over all nested groups multiplied.
	MaxBoost = 1000
	// MinBoost is the smallest boost.
	MinBoost = 0.001
	// MaxBytes is the length of the longest query text.
	MaxBytes = 16 << 10
	// MaxDepth is the maximum nesting depth of parentheses.
	MaxDepth = 32
	// MaxClauses is the maximum number of words and phrases in a query.
	MaxClauses = 1024
	// MaxRemarks is the maximum number of syntax faults that ParseLenient
	// reports.
	MaxRemarks = 32
)
