package query

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// A node of this file but Fuzzy, DisMax and Boosting has the same score in every document: its Boost,
// as in Lucene.

// MatchAll matches every document.
type MatchAll struct {
	Boost float64
}

// Exists matches the documents that have a value in a field, or in a text field a term.
type Exists struct {
	Field string
	Boost float64
}

// AnyExists matches the documents that have a value in any of the fields, with the score 1.
func AnyExists(fields []string) Node {
	if len(fields) == 1 {
		return &Exists{Field: fields[0], Boost: 1}
	}
	group := &Boolean{Boost: 1}
	for _, f := range fields {
		group.Clauses = append(group.Clauses, Clause{Occur: Should, Node: &Exists{Field: f, Boost: 1}})
	}
	return &Constant{Node: group, Score: 1}
}

// IDs matches the documents with these ids.
type IDs struct {
	IDs   []string
	Boost float64
}

// Prefix matches documents with a term that begins with Text. Unless Exact, Text is brought to the
// letter case of the index's terms.
type Prefix struct {
	Field string
	Text  string
	Boost float64
	Exact bool
}

// Wildcard matches documents with a term of a pattern: "*" is any text, "?" any character, and a
// backslash escapes the next character. Exact is as in Prefix.
type Wildcard struct {
	Field   string
	Pattern string
	Boost   float64
	Exact   bool
}

// Regexp matches documents with a term that a regular expression in Lucene's syntax matches as a whole.
// Exact is as in Prefix. A pattern of more than MaxStates states, once determinised, is an error; 0 is
// DefaultStates.
type Regexp struct {
	Field     string
	Pattern   string
	Boost     float64
	Exact     bool
	MaxStates int
}

// DefaultStates is Lucene's limit of determinised states.
const DefaultStates = 10_000

// Fuzzy matches documents with a term similar to Text. Exact is as in Prefix. Scores are Lucene's: each
// of the most similar terms has its own frequency, the document frequency of the most frequent of them,
// and its similarity 1 - edits/length as a factor.
type Fuzzy struct {
	Field string
	Text  string
	Boost float64
	Exact bool
	Similarity
}

// Similarity determines which terms are similar to another one, by the number of characters to insert,
// delete or change, or of neighbours to swap.
type Similarity struct {
	// Edits is "0", "1" or "2"; "AUTO" or "" is AUTO:3,6; "AUTO:low,high" is 0 for terms shorter
	// than low characters, 1 for those shorter than high, else 2.
	Edits string
	// PrefixLength is the number of first characters that must be equal.
	PrefixLength int
	// MaxExpansions bounds the similar terms, the most similar first; 0: DefaultExpansions.
	MaxExpansions int
	// NoSwaps: swapped neighbours count as two edits.
	NoSwaps bool
}

// Terms matches documents with any of the values, which are not analysed: terms of the index, or values
// of a field of numbers, dates or addresses.
type Terms struct {
	Field  string
	Values []string
	Boost  float64
}

// Range matches documents with a value between From and To: a number, date or address, or a term in
// byte order. "" is no bound.
type Range struct {
	Field                  string
	From, To               string
	ExcludeFrom, ExcludeTo bool
	// Format and Zone are for dates: the format of the bounds, and the time zone of those without.
	Format, Zone string
	Boost        float64
}

// Constant matches as Node, with the score Score times the boosts of enclosing groups. Score may be 0.
type Constant struct {
	Node  Node
	Score float64
}

// DisMax matches documents of any of the nodes. The score is the one of the best node, plus the
// scores of the others times TieBreaker, 0 to 1.
type DisMax struct {
	Nodes      []Node
	TieBreaker float64
	Boost      float64
}

// Boosting matches as Positive. Scores of documents that match Negative are multiplied by NegativeBoost,
// 0 to 1.
type Boosting struct {
	Positive, Negative Node
	NegativeBoost      float64
	Boost              float64
}

func (*MatchAll) node() {}
func (*Exists) node()   {}
func (*IDs) node()      {}
func (*Prefix) node()   {}
func (*Wildcard) node() {}
func (*Regexp) node()   {}
func (*Fuzzy) node()    {}
func (*Terms) node()    {}
func (*Range) node()    {}
func (*Constant) node() {}
func (*DisMax) node()   {}
func (*Boosting) node() {}

func (m *MatchAll) boost() *float64 { return &m.Boost }
func (e *Exists) boost() *float64   { return &e.Boost }
func (i *IDs) boost() *float64      { return &i.Boost }
func (p *Prefix) boost() *float64   { return &p.Boost }
func (w *Wildcard) boost() *float64 { return &w.Boost }
func (r *Regexp) boost() *float64   { return &r.Boost }
func (f *Fuzzy) boost() *float64    { return &f.Boost }
func (t *Terms) boost() *float64    { return &t.Boost }
func (r *Range) boost() *float64    { return &r.Boost }
func (c *Constant) boost() *float64 { return nil }
func (d *DisMax) boost() *float64   { return &d.Boost }
func (b *Boosting) boost() *float64 { return &b.Boost }

// Max returns the greatest number of edits for a term. The error is an *Error.
func (s *Similarity) Max(term string) (int, error) {
	low, high := 3, 6
	switch edits := strings.ToUpper(s.Edits); {
	case edits == "" || edits == "AUTO":
	case strings.HasPrefix(edits, "AUTO:"):
		from, to, ok := strings.Cut(edits[len("AUTO:"):], ",")
		var err1, err2 error
		low, err1 = strconv.Atoi(from)
		high, err2 = strconv.Atoi(to)
		if !ok || err1 != nil || err2 != nil || low < 0 || high < low {
			return 0, invalid(ErrSyntax, "similarity %q is not AUTO:low,high", s.Edits)
		}
	case edits == "0" || edits == "1" || edits == "2":
		return int(edits[0] - '0'), nil
	default:
		return 0, invalid(ErrSyntax, "similarity %q is not 0, 1, 2 or AUTO", s.Edits)
	}
	switch n := utf8.RuneCountInString(term); {
	case n < low:
		return 0, nil
	case n < high:
		return 1, nil
	}
	return 2, nil
}

func (s *Similarity) validate() error {
	if _, err := s.Max(""); err != nil {
		return err
	}
	if s.PrefixLength < 0 || s.MaxExpansions < 0 || s.MaxExpansions > MaxClauses {
		return invalid(ErrSyntax, "a similar term with prefix length %d and %d expansions, not 0 to %d", s.PrefixLength, s.MaxExpansions, MaxClauses)
	}
	return nil
}

// Minimum is a number of clauses in the notation of OpenSearch's minimum_should_match: "3", "-1" (all but
// one), "75%", "-25%", or conditions such as "2<75% 9<-3": with more than 2 clauses 75 %, with more than 9
// all but three, with fewer all. "" is none.
type Minimum string

// Of returns the number of n clauses that must match, 0 to n unless the number is given without sign or
// percent. The error is an *Error.
func (m Minimum) Of(n int) (int, error) {
	if !strings.Contains(string(m), "<") {
		return m.simple(strings.TrimSpace(string(m)), n)
	}
	result := n
	for _, condition := range strings.Fields(string(m)) {
		limit, value, ok := strings.Cut(condition, "<")
		above, err := strconv.Atoi(limit)
		if !ok || err != nil {
			return 0, m.invalid()
		}
		got, bad := m.simple(value, n)
		if bad != nil {
			return 0, bad
		}
		if n <= above {
			return result, nil
		}
		result = got
	}
	return result, nil
}

func (m Minimum) simple(text string, n int) (int, error) {
	digits, percent := strings.CutSuffix(text, "%")
	value, err := strconv.Atoi(digits)
	if err != nil || value < -MaxClauses || value > MaxClauses {
		return 0, m.invalid()
	}
	if percent {
		value = value * n / 100 // rounded towards 0
	}
	if value < 0 || percent && digits[0] == '-' {
		value += n
	}
	return max(value, 0), nil
}

func (m Minimum) invalid() *Error {
	return invalid(ErrSyntax, "%q is no number of clauses such as 2, -1, 75%% or 2<75%%", string(m))
}

func (m Minimum) validate() error {
	if m == "" {
		return nil
	}
	_, err := m.Of(1)
	return err
}

// editsOf converts the similarity of former versions of Lucene, above 0 and below 1, for a term.
func editsOf(similarity float64, term string) string {
	return fmt.Sprint(min(int((1-similarity)*float64(utf8.RuneCountInString(term))), 2))
}
