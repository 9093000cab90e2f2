package query

import (
	"strconv"
	"strings"
)

// keywords are the words that are operators.
var keywords = [...]string{"AND", "OR", "NOT"}

// word reads a word up to a blank, quote, parenthesis or boost, and returns
// its text without the backslashes that escape. It reads at least one byte.
func (p *parser) word() string {
	start := p.pos
	if p.text[p.pos] == '\\' {
		p.pos++
		for _, k := range keywords {
			if strings.HasPrefix(p.text[p.pos:], k) && p.delimited(p.pos+len(k), `()"^`) {
				p.pos += len(k)
				return k
			}
		}
		p.pos = start
	}
	var text []byte // not used while no backslash was found
	escaped := false
	for !p.delimited(p.pos, `()"`) {
		c := p.text[p.pos]
		if c == '^' {
			if p.pos > start && p.boostAt(p.pos) {
				break
			}
			p.remark(p.pos, `"^" is not between an operand and a number (write \^ for the character)`)
		}
		if c == '\\' && p.pos+1 < len(p.text) && isEscapable(p.text[p.pos+1]) {
			if !escaped {
				escaped = true
				text = append(text, p.text[start:p.pos]...)
			}
			p.pos++
			c = p.text[p.pos]
		}
		if escaped {
			text = append(text, c)
		}
		p.pos++
	}
	if escaped {
		return string(text)
	}
	return p.text[start:p.pos]
}

// boostAt reports whether "^", a number and the end of an operand are at byte i.
func (p *parser) boostAt(i int) bool {
	_, size := scanBoost(p.text[i+1:])
	return size > 0 && p.delimited(i+1+size, `()"`)
}

// scanBoost returns the decimal number that text begins with and its size, 0
// if there is none. A number too large for a float64 is +Inf.
func scanBoost(text string) (boost float64, size int) {
	digits := 0
	for dots := 0; size < len(text); size++ {
		if c := text[size]; c >= '0' && c <= '9' {
			digits++
		} else if c == '.' && dots == 0 {
			dots++
		} else {
			break
		}
	}
	if digits == 0 {
		return 1, 0
	}
	boost, _ = strconv.ParseFloat(text[:size], 64) // the only error left is ErrRange, with +Inf
	return boost, size
}

// unquote returns the text within the quotes that text begins with, and how
// many bytes it and the quotes take; 0 if they are not closed.
func unquote(text string) (inner string, size int) {
	var unescaped []byte
	start := 1 // of what is not yet in unescaped
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '"':
			if unescaped == nil {
				return text[1:i], i + 1
			}
			return string(append(unescaped, text[start:i]...)), i + 1
		case '\\':
			if i+1 < len(text) && (text[i+1] == '"' || text[i+1] == '\\') {
				unescaped = append(unescaped, text[start:i]...)
				i++
				start = i
				if unescaped == nil {
					unescaped = []byte{}
				}
			}
		}
	}
	return "", 0
}

// isEscapable reports whether a backslash before c escapes it.
func isEscapable(c byte) bool {
	return isASCIISpace(c) ||
		c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~'
}

func isASCIISpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
