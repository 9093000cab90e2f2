package query

import (
	"strconv"
	"strings"
)

// ParseSimple parses text in the language of Lucene's SimpleQueryParser, which has no faults: + (and), |
// (or), - (not), "phrases", "phrases"~2, word*, word~1 and parentheses; a backslash escapes. Operators have
// the same precedence, from left to right: "a + b | c" is (a AND b) OR c. Side by side, words have the
// operator occur, Must or Should.
func ParseSimple(text string, occur Occur) Node {
	p := simpleParser{text: text[:min(len(text), MaxBytes)], occur: occur}
	if node := p.group(0); node != nil {
		return node
	}
	return &Boolean{Boost: 1}
}

type simpleParser struct {
	text   string
	pos    int
	occur  Occur
	leaves int
}

// simpleGroup is a group that is being read.
type simpleGroup struct {
	top           Node
	previous, now Occur // Plain: none
	not           bool
}

// group reads up to the end or a closing parenthesis.
func (p *simpleParser) group(depth int) Node {
	g := simpleGroup{}
	for p.pos < len(p.text) {
		c := p.text[p.pos]
		switch {
		case spaceAt(p.text[p.pos:]) > 0:
			p.pos += spaceAt(p.text[p.pos:])
			g.not = false
		case c == ')':
			p.pos++
			if depth > 0 {
				return g.top
			}
		case c == '(' && depth < MaxDepth:
			p.pos++
			g.add(p.group(depth+1), p.occur)
		case c == '(':
			p.pos++
		case c == '+' || c == '|':
			p.pos++
			if g.top != nil && g.now == Plain {
				g.now = map[byte]Occur{'+': Must, '|': Should}[c]
			}
		case c == '-':
			p.pos++
			g.not = !g.not
		default:
			g.add(p.leaf(), p.occur)
		}
	}
	return g.top
}

// add adds a node, nil for none, with the operator before it.
func (g *simpleGroup) add(node Node, occur Occur) {
	not := g.not
	g.not = false
	if node == nil {
		g.now = Plain
		return
	}
	if not {
		node = &Boolean{Boost: 1, Clauses: []Clause{{MustNot, node}, {Must, &MatchAll{Boost: 1}}}}
	}
	if g.top == nil {
		g.top = node
		return
	}
	if g.now == Plain {
		g.now = occur
	}
	if g.previous != g.now {
		g.top = &Boolean{Boost: 1, Clauses: []Clause{{g.now, g.top}}}
	}
	b := g.top.(*Boolean) // made above, or by the same operator before
	b.Clauses = append(b.Clauses, Clause{g.now, node})
	g.previous, g.now = g.now, Plain
}

// leaf reads a word or a phrase.
func (p *simpleParser) leaf() Node {
	if p.leaves == MaxClauses {
		p.pos = len(p.text)
		return nil
	}
	p.leaves++
	if p.text[p.pos] == '"' {
		if text, size := unquote(p.text[p.pos:]); size > 0 {
			p.pos += size
			phrase := &Phrase{Text: text, Boost: 1}
			if n, ok := p.number(); ok {
				phrase.Slop = min(n, MaxSlop)
			}
			return phrase
		}
		p.pos++
		return nil
	}
	start, prefix := p.pos, false
	for p.pos < len(p.text) && spaceAt(p.text[p.pos:]) == 0 && strings.IndexByte(`"+|()`, p.text[p.pos]) < 0 {
		switch c := p.text[p.pos]; {
		case c == '\\' && p.pos+1 < len(p.text):
			p.pos++
		case c == '*' && p.pos > start && p.ends(p.pos+1):
			prefix = true
		case c == '~' && p.pos > start:
			word := unescape(p.text[start:p.pos], "")
			if n, ok := p.number(); ok {
				f := &Fuzzy{Text: word, Boost: 1}
				f.Edits = strconv.Itoa(min(n, 2))
				return f
			}
		}
		p.pos++
	}
	if prefix {
		return &Prefix{Text: unescape(p.text[start:p.pos-1], ""), Boost: 1}
	}
	return &Term{Text: unescape(p.text[start:p.pos], ""), Boost: 1}
}

func (p *simpleParser) ends(i int) bool {
	return i == len(p.text) || spaceAt(p.text[i:]) > 0 || strings.IndexByte(`"+|()`, p.text[i]) >= 0
}

// number reads a tilde and a number at the end of a word or phrase.
func (p *simpleParser) number() (n int, ok bool) {
	if p.pos == len(p.text) || p.text[p.pos] != '~' {
		return 0, false
	}
	end := p.pos + 1
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if !p.ends(end) {
		return 0, false
	}
	n, err := strconv.Atoi(p.text[p.pos+1 : end])
	if end == p.pos+1 {
		n, err = 2, nil
	}
	p.pos = end
	return n, err == nil
}
