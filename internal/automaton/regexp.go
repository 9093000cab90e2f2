package automaton

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

// Regexp parses a regular expression in Lucene's syntax (org.apache.lucene.util.automaton.RegExp with
// all flags), which matches whole terms:
//
//	union    = inter { "|" inter }
//	inter    = concat { "&" concat }            both match
//	concat   = { repeat }
//	repeat   = complement { "?" | "*" | "+" | "{n}" | "{n,}" | "{n,m}" }
//	complement = { "~" } simple                 all texts but those
//	simple   = "." | "@" any text | "#" no text | "[" class "]" | "[^" class "]" | `"text"` | "(" [ union ] ")"
//	         | "<n-m>" a number | \d | \D | \s | \S | \w | \W | [ "\" ] character
//
// states is the limit of states. The error wraps base.ErrBadInput and has the byte of the fault.
func Regexp(pattern string, states int) (*Pattern, error) {
	p := regexpParser{b: newBuilder(states), text: pattern}
	root := empty
	if pattern != "" {
		root = p.union()
		if p.err == nil && p.pos < len(p.text) {
			p.fail("%q ends no group", p.text[p.pos:p.pos+1])
		}
	}
	if p.err == nil {
		p.err = p.b.err
	}
	if p.err != nil {
		return nil, p.err
	}
	return &Pattern{builder: p.b, root: root, states: states}, nil
}

// maxGroups bounds groups within one another.
const maxGroups = 200

type regexpParser struct {
	b     *builder
	text  string
	pos   int
	depth int
	err   error
}

func (p *regexpParser) fail(format string, args ...any) {
	if p.err == nil {
		p.err = fmt.Errorf("regular expression /%s/: byte %d: %s: %w", p.text, p.pos, fmt.Sprintf(format, args...), base.ErrBadInput)
	}
}

func (p *regexpParser) more() bool { return p.err == nil && p.pos < len(p.text) }

// next reports whether c is the next byte, and skips it.
func (p *regexpParser) next(c byte) bool {
	if p.more() && p.text[p.pos] == c {
		p.pos++
		return true
	}
	return false
}

func (p *regexpParser) peek(marks string) bool {
	return p.more() && strings.IndexByte(marks, p.text[p.pos]) >= 0
}

func (p *regexpParser) union() expr {
	if p.depth++; p.depth > maxGroups {
		p.fail("more than %d groups within one another", maxGroups)
		return nothing
	}
	defer func() { p.depth-- }()
	all := []expr{p.inter()}
	for p.next('|') {
		all = append(all, p.inter())
	}
	return p.b.or(all)
}

func (p *regexpParser) inter() expr {
	all := []expr{p.concat()}
	for p.next('&') {
		all = append(all, p.concat())
	}
	return p.b.and(all)
}

func (p *regexpParser) concat() expr {
	var parts []expr
	for p.more() && !p.peek(")|&") {
		parts = append(parts, p.repeat())
	}
	if len(parts) == 0 {
		p.fail("an expression is missing (write () for the empty text)")
	}
	return p.b.sequence(parts)
}

func (p *regexpParser) repeat() expr {
	e := p.complement()
	for p.peek("?*+{") {
		switch {
		case p.next('?'):
			e = p.b.or([]expr{e, empty})
		case p.next('*'):
			e = p.b.repeat(e)
		case p.next('+'):
			e = p.b.concat(e, p.b.repeat(e))
		default:
			e = p.times(e)
		}
	}
	return e
}

// times parses {n}, {n,} or {n,m} after e.
func (p *regexpParser) times(e expr) expr {
	p.pos++
	least, ok := p.number()
	most, open := least, false
	if ok && p.next(',') {
		if p.peek("}") {
			open = true
		} else {
			most, ok = p.number()
		}
	}
	if !ok || !p.next('}') || most < least {
		p.fail("no repetition {n}, {n,} or {n,m}")
		return nothing
	}
	rest := empty
	if open {
		rest = p.b.repeat(e)
	}
	for i := least; i < most && p.b.err == nil; i++ {
		rest = p.b.or([]expr{p.b.concat(e, rest), empty})
	}
	for i := 0; i < least && p.b.err == nil; i++ {
		rest = p.b.concat(e, rest)
	}
	return rest
}

func (p *regexpParser) number() (n int, ok bool) {
	begin := p.pos
	for p.peek("0123456789") {
		p.pos++
	}
	n, err := strconv.Atoi(p.text[begin:p.pos])
	return n, err == nil
}

func (p *regexpParser) complement() expr {
	odd := false
	for p.next('~') {
		odd = !odd
	}
	e := p.simple()
	if odd {
		return p.b.not(e)
	}
	return e
}

func (p *regexpParser) simple() expr {
	switch {
	case !p.more():
		p.fail("an expression is missing at the end")
		return nothing
	case p.next('.'):
		return p.b.runes(0, utf8.MaxRune)
	case p.next('#'):
		return nothing
	case p.next('@'):
		return anything
	case p.next('['):
		return p.class()
	case p.next('"'):
		return p.quoted()
	case p.next('('):
		if p.next(')') {
			return empty
		}
		e := p.union()
		if !p.next(')') {
			p.fail("a group is not closed")
		}
		return e
	case p.next('<'):
		return p.interval()
	}
	ranges := p.character()
	return p.ranges(ranges)
}

func (p *regexpParser) quoted() expr {
	end := strings.IndexByte(p.text[p.pos:], '"')
	if end < 0 {
		p.fail("a quote is not closed")
		return nothing
	}
	text := p.text[p.pos : p.pos+end]
	p.pos += end + 1
	return p.b.text(text)
}

// runeRange is both ends of a range.
type runeRange struct{ from, to rune }

func (p *regexpParser) ranges(list []runeRange) expr {
	all := make([]expr, 0, len(list))
	for _, r := range list {
		all = append(all, p.b.runes(r.from, r.to))
	}
	return p.b.or(all)
}

// character parses a character, escaped or not, or a class such as \d.
func (p *regexpParser) character() []runeRange {
	if p.next('\\') {
		if !p.more() {
			p.fail("a backslash at the end escapes nothing")
			return nil
		}
		if r, ok := escapes[p.text[p.pos]]; ok {
			p.pos++
			return r
		}
	}
	r, size := utf8.DecodeRuneInString(p.text[p.pos:])
	if r == utf8.RuneError && size <= 1 {
		p.fail("no UTF-8")
		return nil
	}
	p.pos += size
	return []runeRange{{r, r}}
}

// As in Lucene, \s is blank, tab, newline and carriage return.
var escapes = map[byte][]runeRange{
	'd': digits, 'D': without(digits), 's': spaces, 'S': without(spaces), 'w': wordRunes, 'W': without(wordRunes),
}

// Rising, without overlaps.
var (
	digits    = []runeRange{{'0', '9'}}
	spaces    = []runeRange{{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}}
	wordRunes = []runeRange{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}}
)

// without returns the complement of rising ranges.
func without(list []runeRange) []runeRange {
	var rest []runeRange
	next := rune(0)
	for _, r := range list {
		if r.from > next {
			rest = append(rest, runeRange{next, r.from - 1})
		}
		next = max(next, r.to+1)
	}
	if next <= utf8.MaxRune {
		rest = append(rest, runeRange{next, utf8.MaxRune})
	}
	return rest
}

func (p *regexpParser) class() expr {
	negated := p.next('^')
	var list []runeRange
	for first := true; first || !p.peek("]"); first = false {
		if !p.more() {
			p.fail("a class is not closed")
			return nothing
		}
		from := p.character()
		if len(from) != 1 || from[0].from != from[0].to || !p.next('-') {
			list = append(list, from...)
			continue
		}
		to := p.character()
		if len(to) != 1 || to[0].from != to[0].to || to[0].from < from[0].from {
			p.fail("no range of characters")
			return nothing
		}
		list = append(list, runeRange{from[0].from, to[0].to})
	}
	p.pos++
	if !negated {
		return p.ranges(list)
	}
	return p.ranges(without(sorted(list)))
}
