package query

// Node is a part of a parsed query. Exactly these types implement it: *Term,
// *Phrase, *Boolean, and *Words and *Weights, which Parse does not make. The text is still
// raw: analysis turns it into index terms when the query is planned, since that
// depends on the index.
type Node interface {
	node()
	// String returns the canonical text of the node: see format.go.
	String() string
}

// Occur says how a clause takes part in its Boolean.
type Occur uint8

const (
	// Plain clauses follow the mode: required in mode and, optional in mode or.
	Plain Occur = iota
	// Must clauses (+, AND) are required in every mode.
	Must
	// MustNot clauses (-, NOT) exclude the documents that match them.
	MustNot
	// Should clauses (OR) are optional in every mode: where a Boolean has
	// nothing required, one of its optional clauses has to match. In trees of
	// Parse either all clauses of a Boolean are Should or none is.
	Should
)

// Term is a word. Analysis may turn it into no term (a stop word), one, or
// several (then they are a phrase if the index has positions, else all are
// required together).
type Term struct {
	Field string // "" is the default field
	Text  string
	Boost float64 // 1 unless ^boost was given; MinBoost to MaxBoost
}

// Phrase is a quoted text: its terms must stand in this order and distance.
type Phrase struct {
	Field string
	Text  string
	Boost float64
}

// Words is a text without syntax: each term that analysis makes of it is a
// Plain clause on its own. It is how the topics of test collections are asked.
type Words struct {
	Field string
	Text  string
	Boost float64
}

// Boolean is a group of clauses. One without any matches nothing, and so does
// one that has only MustNot clauses.
type Boolean struct {
	Clauses []Clause
	Boost   float64
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

// Bounds of a query. What goes beyond them is an error of its own kind (see
// errors.go), so that a server can tell it from a slip of the pen.
const (
	// MaxBoost is the largest ^boost of a query, over all nested groups multiplied.
	MaxBoost = 1000
	// MinBoost is the smallest ^boost that can be written.
	MinBoost = 0.001
	// MaxBytes is the longest query text.
	MaxBytes = 16 << 10
	// MaxDepth is how deep parentheses may be nested.
	MaxDepth = 32
	// MaxClauses is how many words and phrases a query may have.
	MaxClauses = 1024
	// MaxRemarks is how many faults of syntax are told of: a text may have one in
	// every byte, and nobody reads thousands.
	MaxRemarks = 32
)
