package query

import (
	"strconv"
	"strings"
)

var keywords = [...]string{"AND", "OR", "NOT"}

// plainWord reads a word of small letters and digits without operators around it, as most are, and returns "" if there is
// none.
func (p *parser) plainWord() string {
	start, i := p.pos, p.pos
	for ; i < len(p.text); i++ {
		if c := p.text[i]; (c < 'a' || c > 'z') && (c < '0' || c > '9') {
			break
		}
	}
	if i < len(p.text) && p.text[i] != ' ' && p.text[i] != ')' {
		return ""
	}
	p.pos = i
	return p.text[start:i]
}

// word reads at least one byte up to a blank, quote, parenthesis or boost, and returns its text
// unescaped.
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
		size := 1
		if c == '\\' {
			if n := escapable(p.text[p.pos+1:]); n > 0 {
				if !escaped {
					escaped = true
					text = append(text, p.text[start:p.pos]...)
				}
				p.pos++
				size = n
			}
		}
		if escaped {
			text = append(text, p.text[p.pos:p.pos+size]...)
		}
		p.pos += size
	}
	if escaped {
		return string(text)
	}
	return p.text[start:p.pos]
}

func (p *parser) boostAt(i int) bool {
	i++
	if i < len(p.text) && p.text[i] == '=' {
		i++
	}
	_, size := scanBoost(p.text[i:])
	return size > 0 && p.delimited(i+size, `()"`)
}

// scanBoost returns the decimal number at the start of text, +Inf if too large for a float64,
// and its size, or 0.
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

// unquote returns the text within the leading quotes, and its size with them; 0 if they are not
// closed.
func unquote(text string) (inner string, size int) {
	var unescaped []byte
	start := 1 // of the bytes not yet copied to unescaped
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

// The size of the leading blank or ASCII punctuation mark, which a backslash escapes; else 0.
func escapable(text string) int {
	if text == "" {
		return 0
	}
	if c := text[0]; c >= '!' && c <= '/' || c >= ':' && c <= '@' || c >= '[' && c <= '`' || c >= '{' && c <= '~' {
		return 1
	}
	return spaceAt(text)
}

func isASCIISpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
