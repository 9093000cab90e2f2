package automaton

import "unicode/utf8"

// Wildcard parses a pattern in which "*" is any text, "?" any character, and a backslash escapes the next
// character. states is the limit of states. The error wraps base.ErrBadInput.
func Wildcard(pattern string, states int) (*Pattern, error) {
	p := &Pattern{builder: newBuilder(states), states: states}
	b := p.builder
	var parts []expr
	literal := true
	for i := 0; i < len(pattern); {
		_, size := utf8.DecodeRuneInString(pattern[i:])
		switch c := pattern[i]; c {
		case '*':
			parts = append(parts, anything)
			literal = false
		case '?':
			parts = append(parts, b.runes(0, utf8.MaxRune))
			literal = false
		default:
			if c == '\\' && i+1 < len(pattern) {
				i++
				_, size = utf8.DecodeRuneInString(pattern[i:])
			}
			parts = append(parts, b.text(pattern[i:i+size]))
			if literal {
				p.prefix += pattern[i : i+size]
			}
		}
		i += size
	}
	p.root = b.sequence(parts)
	return p, b.err
}

// sequence concatenates from the end, so that no part is visited twice.
func (b *builder) sequence(parts []expr) expr {
	e := empty
	for i := range parts {
		e = b.concat(parts[len(parts)-1-i], e)
	}
	return e
}
