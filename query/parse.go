package query

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// Parse parses query text; fields are the searchable names. The error is an *Error, the first
// fault.
//
// Text without any clause is a *Boolean without clauses, not an error.
func Parse(text string, fields []string) (Node, error) {
	node, remarks := ParseLenient(text, fields)
	if len(remarks) > 0 {
		return nil, remarks[0]
	}
	return node, nil
}

// ParseChecked is ParseLenient that calls check with each word, phrase, pattern, range and vector. An error is a fault of the
// text at its byte, and the leaf is ignored.
func ParseChecked(text string, fields []string, check func(leaf Node) error) (node Node, remarks []*Error) {
	return parse(text, fields, check)
}

// ParseLenient is Parse for a search box: it always returns a tree, with faulty operators as
// text or ignored, and reports faults in order of detection; of syntax faults, the first
// MaxRemarks.
func ParseLenient(text string, fields []string) (node Node, remarks []*Error) {
	return parse(text, fields, nil)
}

func parse(text string, fields []string, check func(leaf Node) error) (node Node, remarks []*Error) {
	p := parser{whole: text, text: text, fields: fields, check: check}
	if len(text) > MaxBytes {
		p.add(ErrTooLong, MaxBytes, "more than %d bytes", MaxBytes)
		p.text = text[:cut(text)]
	}
	return p.sequence(-1), p.remarks
}

// The longest prefix of at most MaxBytes that splits no rune; other bytes may be split.
func cut(text string) int {
	for end := MaxBytes; end > MaxBytes-utf8.UTFMax; end-- {
		if utf8.RuneStart(text[end]) {
			return end
		}
	}
	return MaxBytes
}

type parser struct {
	whole   string // the text that was passed in
	text    string // its first bytes, at most MaxBytes
	pos     int
	fields  []string
	check   func(leaf Node) error // nil: no checks
	field   string                // that applies to the group around pos
	depth   int                   // number of open parentheses
	leaves  int
	stopped bool // a limit was exceeded: pos is at the end
	remarks []*Error
}

func (p *parser) remark(offset int, format string, args ...any) {
	if len(p.remarks) < MaxRemarks {
		p.add(ErrSyntax, offset, format, args...)
	}
}

func (p *parser) add(kind error, offset int, format string, args ...any) {
	if !p.stopped {
		p.remarks = append(p.remarks, &Error{Kind: kind, Text: p.whole, Offset: offset, Reason: fmt.Sprintf(format, args...)})
	}
}

// stop reports an exceeded limit and skips the rest.
func (p *parser) stop(kind error, offset int, format string, args ...any) {
	p.add(kind, offset, format, args...)
	p.stopped = true
	p.pos = len(p.text)
}

// sequence parses clauses up to the end, or to the parenthesis that closes the group opened at
// byte open (-1: no group).
func (p *parser) sequence(open int) Node {
	var clauses clauseList
	for {
		p.skipSpace()
		if p.pos == len(p.text) {
			if open >= 0 {
				p.remark(open, `"(" is not closed (write \( for the character)`)
			}
			break
		}
		if p.text[p.pos] == ')' {
			if open < 0 {
				p.remark(p.pos, `")" closes nothing (write \) for the character)`)
			}
			p.pos++
			if open >= 0 {
				break
			}
			continue
		}
		if c, ok := p.either(); ok {
			clauses.add(c)
		}
	}
	if clauses.n == 1 {
		return group(clauses.one)
	}
	return &Boolean{Clauses: clauses.list, Boost: 1}
}

// A single clause that is not excluded is its node.
func group(c Clause) Node {
	if c.Occur != MustNot {
		return c.Node
	}
	return &Boolean{Clauses: []Clause{c}, Boost: 1}
}

// clauseList takes no memory for a single clause.
type clauseList struct {
	n    int
	one  Clause   // the first
	list []Clause // all, if they are several
}

func (l *clauseList) add(c Clause) {
	switch l.n++; l.n {
	case 1:
		l.one = c
	case 2:
		l.list = []Clause{l.one, c}
	default:
		l.list = append(l.list, c)
	}
}

// ok is false if there is no clause.
func (p *parser) either() (c Clause, ok bool) {
	clauses := p.operands("OR", p.both)
	if clauses.n < 2 {
		return clauses.one, clauses.n == 1
	}
	for i, c := range clauses.list {
		clauses.list[i] = Clause{Occur: Should, Node: group(c)}
	}
	return Clause{Node: &Boolean{Clauses: clauses.list, Boost: 1}}, true
}

func (p *parser) both() (c Clause, ok bool) {
	clauses := p.operands("AND", p.clause)
	if clauses.n < 2 {
		return clauses.one, clauses.n == 1
	}
	for i := range clauses.list {
		if clauses.list[i].Occur == Plain {
			clauses.list[i].Occur = Must
		}
	}
	return Clause{Node: &Boolean{Clauses: clauses.list, Boost: 1}}, true
}

func (p *parser) operands(operator string, operand func() (Clause, bool)) (clauses clauseList) {
	for {
		if c, ok := operand(); ok {
			clauses.add(c)
		}
		p.skipSpace()
		if !p.atKeyword(operator) {
			return clauses
		}
		offset := p.pos
		p.pos += len(operator)
		p.skipSpace()
		if p.pos == len(p.text) || p.text[p.pos] == ')' || p.atKeyword("AND") || p.atKeyword("OR") {
			p.remark(offset, `%s has nothing after it (write \%[1]s for the word)`, operator)
			return clauses
		}
	}
}

// The byte at pos is neither a blank nor a closing parenthesis.
func (p *parser) clause() (c Clause, ok bool) {
	offset := p.pos
	switch {
	case p.atKeyword("NOT"):
		p.pos += len("NOT")
		p.skipSpace()
		c.Occur = MustNot
	case p.text[p.pos] == '+':
		p.pos++
		c.Occur = Must
	case p.text[p.pos] == '-':
		p.pos++
		c.Occur = MustNot
	case p.atKeyword("AND"), p.atKeyword("OR"):
		p.remark(offset, `%s has nothing before it (write \%[1]s for the word)`, p.word())
		p.pos = offset
	}
	if c.Occur != Plain && p.delimited(p.pos, ")") {
		p.remark(offset, `%s has nothing after it (write \%[1]s for the text)`, strings.TrimSpace(p.text[offset:p.pos]))
		p.pos, c.Occur = offset, Plain
	}
	c.Node = p.operand()
	return c, c.Node != nil
}

// operand returns nil for an empty group.
func (p *parser) operand() Node {
	offset := p.pos
	if text := p.plainWord(); text != "" && p.field != idName {
		return p.leaf(offset, &Term{Field: p.field, Text: text, Boost: 1})
	}
	p.pos = offset
	outer := p.field
	defer func() { p.field = outer }()
	if n := p.special(); n != nil {
		return p.leaf(offset, n)
	}
	f := p.fieldPrefix()
	if f != "" {
		p.field = f
		p.pos += len(f) + 1
	}
	return p.fielded(f != "" /* named */)
}

// fielded parses an operand without its field; named: it has one of its own.
func (p *parser) fielded(named bool) Node {
	offset := p.pos
	var node Node
	switch p.text[offset] {
	case '(':
		return p.parentheses()
	case '"':
		text, size := unquote(p.text[offset:])
		if size == 0 {
			p.remark(offset, `quote is not closed (write \" for the character)`)
			p.pos++
			return nil
		}
		p.pos += size
		if p.field == idName {
			return p.leaf(offset, &IDs{IDs: []string{text}, Boost: 1})
		}
		phrase := &Phrase{Field: p.field, Text: text, Boost: 1}
		p.phraseEnd(phrase)
		return p.leaf(offset, phrase)
	case '[', '{':
		node = p.brackets(named)
	case '<', '>':
		if p.field != "" {
			node = p.comparison(named)
		}
	case '/':
		node = p.regexp()
	}
	if node == nil || p.field == idName {
		p.pos = offset
		node = p.wordNode(named)
	}
	return p.leaf(offset, node)
}

func (p *parser) parentheses() Node {
	offset := p.pos
	if p.depth == MaxDepth {
		p.stop(ErrTooDeep, offset, "more than %d levels of parentheses", MaxDepth)
		return nil
	}
	p.depth++
	p.pos++
	node := p.sequence(offset)
	p.depth--
	return p.boosted(p.groupEnd(node))
}

// leaf counts a leaf that began at offset, and parses its boost.
func (p *parser) leaf(offset int, node Node) Node {
	if p.leaves == MaxClauses {
		p.stop(ErrTooManyClauses, offset, "more than %d words and phrases", MaxClauses)
		return nil
	}
	p.leaves++
	if p.check != nil {
		if err := p.check(node); err != nil {
			p.remark(offset, "%s", strings.TrimSuffix(err.Error(), ": "+base.ErrBadInput.Error()))
			p.boosted(node) // the text goes on after its boost
			return nil
		}
	}
	return p.boosted(node)
}

// boosted parses "^2" and, for a constant score, "^=2".
func (p *parser) boosted(node Node) Node {
	offset := p.pos
	if offset == len(p.text) || p.text[offset] != '^' {
		return withBoost(node, 1)
	}
	constant := strings.HasPrefix(p.text[offset:], "^=")
	p.pos++
	if constant {
		p.pos++
	}
	boost, size := scanBoost(p.text[p.pos:])
	p.pos += size
	inner, valid := maxBoost(node), boost >= MinBoost && boost <= MaxBoost
	if constant {
		inner, valid = 1, valid || boost == 0
	}
	switch {
	case size == 0:
		p.remark(offset, `"^" has no number after it (write \^ for the character)`)
		return withBoost(node, 1)
	case !valid:
		p.remark(offset, "boost is not between %g and %d", MinBoost, MaxBoost)
		return withBoost(node, 1)
	case !(boost*inner <= MaxBoost):
		p.remark(offset, "boosts within one another multiply to more than %d", MaxBoost)
		boost = 1
	}
	if !constant {
		return withBoost(node, boost)
	}
	if node = withBoost(node, 1); node == nil {
		return nil
	}
	return &Constant{Node: node, Score: boost}
}

func withBoost(node Node, boost float64) Node {
	if b, ok := node.(*Boolean); ok && len(b.Clauses) == 0 {
		return nil
	}
	if own := node.boost(); own != nil && *own == 1 {
		*own = boost
		return node
	}
	if boost == 1 {
		return node
	}
	return &Boolean{Clauses: []Clause{{Node: node}}, Boost: boost}
}

// The largest product of boosts from node to a leaf.
func maxBoost(node Node) float64 {
	switch n := node.(type) {
	case *Boolean:
		most := 0.0
		for _, c := range n.Clauses {
			most = max(most, maxBoost(c.Node))
		}
		return most * n.Boost
	case *Constant:
		return n.Score
	}
	return *node.boost() // the parser makes no other groups, and no nodes without a boost
}

// The field at pos, followed by a colon and an operand, or "".
func (p *parser) fieldPrefix() string {
	rest := p.text[p.pos:]
	if strings.HasPrefix(rest, idName+":") && !p.delimited(p.pos+len(idName)+1, ")^") {
		return idName
	}
	for _, f := range p.fields {
		if f != "" && len(f) < len(rest) && rest[len(f)] == ':' && rest[:len(f)] == f &&
			!p.delimited(p.pos+len(f)+1, ")^") {
			return f
		}
	}
	return ""
}

func (p *parser) skipSpace() {
	for p.pos < len(p.text) {
		size := spaceAt(p.text[p.pos:])
		if size == 0 {
			return
		}
		p.pos += size
	}
}

func (p *parser) atKeyword(word string) bool {
	return strings.HasPrefix(p.text[p.pos:], word) && p.delimited(p.pos+len(word), `()"`)
}

func (p *parser) delimited(i int, marks string) bool {
	return i == len(p.text) || strings.IndexByte(marks, p.text[i]) >= 0 || spaceAt(p.text[i:]) > 0
}

// The size of the leading blank, or 0. text is not empty.
func spaceAt(text string) int {
	if text[0] < utf8.RuneSelf {
		if isASCIISpace(text[0]) {
			return 1
		}
		return 0
	}
	if r, size := utf8.DecodeRuneInString(text); unicode.IsSpace(r) {
		return size
	}
	return 0
}
