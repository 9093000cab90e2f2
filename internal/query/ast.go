package query

// Node is a part of a parsed query. Exactly these types implement it: *Term,
// *Phrase, *Boolean. The text is still raw: analysis turns it into index terms
// when the query is planned, since that depends on the index.
type Node interface{ node() }

// Occur says how a clause takes part in its Boolean.
type Occur uint8

const (
	// Plain clauses follow the mode: required in mode and, optional in mode or.
	Plain Occur = iota
	// Must clauses (+) are required in every mode.
	Must
	// MustNot clauses (-) exclude the documents that match them.
	MustNot
)

// Term is a word. Analysis may turn it into no term (a stop word), one, or
// several (then they are a phrase if the index has positions, else all are
// required together).
type Term struct {
	Field string // "" is the default field
	Text  string
	Boost float64 // 1 unless ^boost was given; > 0, finite, at most MaxBoost
}

// Phrase is a quoted text: its terms must stand in this order and distance.
type Phrase struct {
	Field string
	Text  string
	Boost float64
}

// Boolean is a group of clauses.
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
func (*Boolean) node() {}

// MaxBoost is the largest ^boost of a query, over all nested groups multiplied.
const MaxBoost = 1000
