package query

import "strconv"

// Combined searches a text in several fields as if they were one, without syntax: each term that analysis makes is
// a clause, which a document matches in any of the fields. Scores are BM25F: the frequencies and lengths of
// a document, and the mean length, are sums over the fields, multiplied by their weights; the document
// frequency is the number of documents with the term in any of the fields.
//
// The fields are texts. A term with parts or synonyms of several words needs these words in any place.
type Combined struct {
	Fields []FieldWeight
	Text   string
	Boost  float64 // as in Term
	// Occur is the role of each term: Plain, Must or Should.
	Occur Occur
	// AtLeast is the number of terms that must match, of those that are not Must.
	AtLeast Minimum
	// ByAnalyzer: fields of each analyzer, and each keyword, are searched on their own, and the best counts.
	// Otherwise all fields need the same analyzer.
	ByAnalyzer bool
}

func (*Combined) node() {}

func (c *Combined) boost() *float64 { return &c.Boost }

// String returns the fields and the text, as in {title^2 body}:"black holes".
func (c *Combined) String() string { return string(c.append(nil)) }

func (c *Combined) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i, f := range c.Fields {
		if i > 0 {
			dst = append(dst, ' ')
		}
		if f.Name == "" {
			dst = append(dst, '*')
		}
		dst = appendWord(dst, f.Name)
		dst = appendBoost(dst, f.Weight)
	}
	dst = append(dst, "}:"...)
	return appendBoost(strconv.AppendQuote(dst, c.Text), c.Boost)
}

func (v *validator) combined(c *Combined, outer float64) error {
	if c.Occur != Plain && c.Occur != Must && c.Occur != Should {
		return invalid(ErrSyntax, "a Combined has the Occur %d", c.Occur)
	}
	if len(c.Fields) == 0 || len(c.Fields) > MaxClauses {
		return invalid(ErrSyntax, "a Combined of %d fields, not 1 to %d", len(c.Fields), MaxClauses)
	}
	for _, f := range c.Fields {
		if err := checkBoost(1, f.Weight); err != nil {
			return err
		}
	}
	if err := c.AtLeast.validate(); err != nil {
		return err
	}
	return v.leaf(c.Text, outer, c.Boost)
}

// Across searches the words of a tree that have no field in several fields as if they were one: each Term and
// Words becomes a Combined, whose terms must all match if they are one word of the text. Other leaves without a
// field become a DisMax of one leaf a field, as in InFields. It changes the tree.
func Across(node Node, fields []FieldWeight) Node {
	combined := func(text string, boost float64) *Combined {
		return &Combined{Fields: fields, Text: text, Boost: boost, ByAnalyzer: true}
	}
	switch n := node.(type) {
	case *Term:
		if n.Field == "" && !n.Exact {
			c := combined(n.Text, n.Boost)
			c.Occur = Must
			return c
		}
	case *Words:
		if n.Field == "" && n.Similar == nil && !n.Prefix {
			c := combined(n.Text, n.Boost)
			c.Occur, c.AtLeast = n.Occur, n.AtLeast
			return c
		}
	case *Boolean:
		for i := range n.Clauses {
			n.Clauses[i].Node = Across(n.Clauses[i].Node, fields)
		}
		return n
	}
	if fieldOf(node) != nil {
		return InFields(node, fields, 0)
	}
	eachPart(node, func(part *Node) { *part = Across(*part, fields) })
	return node
}
