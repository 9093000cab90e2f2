package query

// Node is a pointer to one of the types of this package: in this file Term, Phrase, Words and Boolean,
// in nodes.go those that match more than words, MoreLikeThis, Combined, FunctionScore and Weights. Parse makes
// no Words, Terms, DisMax, Boosting, MoreLikeThis, Combined and FunctionScore.
type Node interface {
	// String returns the node as query text: see format.go.
	String() string
	node()
	// boost returns the Boost field; nil: there is none.
	boost() *float64
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
	// Filter clauses are required in every mode and do not change scores. Parse makes none: a
	// Must clause of a Constant with the score 0 is the same.
	Filter
)

// Term is a word. Analysis may make several terms of it, or none (a stop word); several are a
// phrase if the index has positions, otherwise all are required.
type Term struct {
	Field string // "" is the default field
	Text  string
	Boost float64 // factor of the score, MinBoost to MaxBoost; 0 is 1
	// Exact: Text is a term of the index, and is not analysed.
	Exact bool
}

// Phrase is a text whose terms must occur in order and at the same distances. Several terms
// need positions.
type Phrase struct {
	Field string
	Text  string
	Boost float64 // as in Term
	// Slop is the number of positions by which the terms may be moved in all, 0 to MaxSlop; two
	// terms in reverse order need 2. It is Lucene's: a match counts 1/(1+distance) times.
	Slop int
	// Prefix: the last term is the beginning of a term, as in "quick br"*. The phrase matches with
	// each of the first MaxExpansions terms, in byte order; 0: DefaultExpansions.
	Prefix        bool
	MaxExpansions int
}

// Words is a text without syntax: each term that analysis makes is a clause. Use it for test
// collections' topics and text that people type.
type Words struct {
	Field string
	Text  string
	Boost float64 // as in Term
	// Occur is the role of each term: Plain, Must or Should.
	Occur Occur
	// AtLeast is the number of terms that must match, of those that are not Must.
	AtLeast Minimum
	// Similar also finds terms similar to each term; nil: only the terms.
	Similar *Similarity
	// Prefix: the last term is the beginning of a term.
	Prefix bool
}

// Boolean is a group of clauses. Without clauses, or with MustNot only, it matches nothing.
type Boolean struct {
	Clauses []Clause
	Boost   float64 // as in Term; it multiplies the boosts of the clauses
	// AtLeast is the number of optional clauses that must match; with it, Plain clauses are
	// optional in every mode.
	AtLeast Minimum
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

func (t *Term) boost() *float64    { return &t.Boost }
func (p *Phrase) boost() *float64  { return &p.Boost }
func (w *Words) boost() *float64   { return &w.Boost }
func (b *Boolean) boost() *float64 { return &b.Boost }

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
	// MaxClauses bounds words, phrases and other leaves.
	MaxClauses = 1024
	// MaxSlop bounds Phrase.Slop.
	MaxSlop = 1 << 20
	// MaxValues bounds the values of Terms and IDs.
	MaxValues = 65536
	// DefaultExpansions bounds the terms that replace a similar or unfinished one, if the node
	// gives no other number, of at most MaxClauses.
	DefaultExpansions = 50
	// MaxRemarks bounds the syntax faults that ParseLenient reports.
	MaxRemarks = 32
)
