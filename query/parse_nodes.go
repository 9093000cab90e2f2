package query

import (
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Names before a colon that are no fields.
const (
	existsName = "_exists_"
	idName     = "_id"
)

// special parses "*:*", "*" as the whole query, and "_exists_:field"; nil: there is none at pos.
func (p *parser) special() Node {
	offset, rest := p.pos, p.text[p.pos:]
	switch {
	case strings.HasPrefix(rest, "*:*") && p.delimited(offset+3, `()"^`):
		p.pos += 3
		return &MatchAll{Boost: 1}
	case rest[0] == '*' && strings.Trim(p.text, asciiSpaces) == "*":
		p.pos++
		return &MatchAll{Boost: 1}
	case strings.HasPrefix(rest, existsName+":") && !p.delimited(offset+len(existsName)+1, `()"^`):
		p.pos += len(existsName) + 1
		field := p.word()
		if field == "" || !slices.Contains(p.fields, field) {
			if within := p.within(field); within != nil {
				return AnyExists(within)
			}
			p.remark(offset+len(existsName)+1, "the index has no field %q", field)
			return &Term{Field: p.field, Text: existsName + ":" + field, Boost: 1}
		}
		return &Exists{Field: field, Boost: 1}
	}
	return nil
}

// within returns the fields of an object that can be searched.
func (p *parser) within(object string) (names []string) {
	for _, f := range p.fields {
		if object != "" && strings.HasPrefix(f, object) && f[len(object):] != "" && f[len(object)] == '.' &&
			(p.check == nil || p.check(&Exists{Field: f, Boost: 1}) == nil) {
			names = append(names, f)
		}
	}
	return names
}

const asciiSpaces = " \t\n\v\f\r"

// phraseEnd parses the optional suffix after the closing quote: "~3" or "*".
func (p *parser) phraseEnd(n *Phrase) {
	if p.pos == len(p.text) {
		return
	}
	switch p.text[p.pos] {
	case '*':
		if p.delimited(p.pos+1, `()"^`) {
			p.pos++
			n.Prefix = true
		}
	case '~':
		if slop, ok := p.number(MaxSlop, `"~" after a phrase has no number (write a blank before it for the text)`); ok {
			n.Slop = slop
		}
	}
}

// groupEnd parses "~2" after a group: the number of its clauses that must match.
func (p *parser) groupEnd(node Node) Node {
	if p.pos == len(p.text) || p.text[p.pos] != '~' {
		return node
	}
	offset := p.pos
	n, ok := p.number(MaxClauses, `"~" after a group has no number (write a blank before it for the text)`)
	if !ok {
		return node
	}
	if n == 0 {
		p.remark(offset, "0 clauses of a group: a group needs at least 1")
		return node
	}
	b, ok := node.(*Boolean)
	switch {
	case ok && len(b.Clauses) == 0:
		return node
	case !ok || b.AtLeast != "":
		b = &Boolean{Clauses: []Clause{{Node: node}}, Boost: 1}
	}
	b.AtLeast = Minimum(strconv.Itoa(n))
	return b
}

// number parses the digits after the tilde at pos, which are followed by a blank, a mark or the end.
func (p *parser) number(most int, fault string) (n int, ok bool) {
	offset := p.pos
	end := offset + 1
	for end < len(p.text) && p.text[end] >= '0' && p.text[end] <= '9' {
		end++
	}
	if end == offset+1 || !p.delimited(end, `()"^`) {
		p.remark(offset, "%s", fault)
		if end == offset+1 && p.delimited(end, `()"^`) {
			p.pos = end
		}
		return 0, false
	}
	p.pos = end
	n, err := strconv.Atoi(p.text[offset+1 : end])
	if err != nil || n > most {
		p.remark(offset, "the number after \"~\" is above %d", most)
		return most, true
	}
	return n, true
}

// wordNode parses a word that may have operators for terms: wor*, wr?ld, word~1.
func (p *parser) wordNode(named bool) Node {
	start := p.pos
	text := p.word()
	raw := p.text[start:p.pos]
	if p.field == idName {
		return &IDs{IDs: []string{text}, Boost: 1}
	}
	switch {
	case named && raw == "*":
		return &Exists{Field: p.field, Boost: 1}
	case wildcardAt(raw) >= 0:
		pattern := unescape(raw, `*?\`)
		if text, ok := literalPrefix(pattern); ok {
			return &Prefix{Field: p.field, Text: text, Boost: 1}
		}
		return &Wildcard{Field: p.field, Pattern: pattern, Boost: 1}
	}
	if i := fuzzyAt(raw); i > 0 {
		return p.fuzzy(start+i, unescape(raw[:i], ""), raw[i+1:])
	}
	return &Term{Field: p.field, Text: text, Boost: 1}
}

// literalPrefix returns the text before an asterisk at the end of a pattern without other operators.
func literalPrefix(pattern string) (text string, ok bool) {
	var literal []byte
	for i := 0; i < len(pattern); i++ {
		switch pattern[i] {
		case '\\':
			i++
		case '?':
			return "", false
		case '*':
			return string(literal), i == len(pattern)-1
		}
		literal = append(literal, pattern[i])
	}
	return "", false
}

func (p *parser) fuzzy(offset int, text, edits string) Node {
	f := &Fuzzy{Field: p.field, Text: text, Boost: 1, Similarity: Similarity{Edits: "AUTO"}}
	switch n, err := strconv.ParseFloat(edits, 64); {
	case edits == "":
	case err == nil && n > 0 && n < 1:
		f.Edits = editsOf(n, text)
	case edits == "0" || edits == "1" || edits == "2":
		f.Edits = edits
	default:
		p.remark(offset, `%q is not 0, 1 or 2 edits (write \~ for the character)`, edits)
		f.Edits = "2"
	}
	return f
}

// unescape removes the backslashes before blanks and punctuation marks, but those before a mark of keep.
func unescape(raw, keep string) string {
	if strings.IndexByte(raw, '\\') < 0 {
		return raw
	}
	var text []byte
	for i := 0; i < len(raw); {
		size := 1
		if raw[i] == '\\' {
			if n := escapable(raw[i+1:]); n > 0 {
				if strings.IndexByte(keep, raw[i+1]) >= 0 {
					text = append(text, '\\')
				}
				i++
				size = n
			} else if strings.IndexByte(keep, '\\') >= 0 {
				text = append(text, '\\')
			}
		}
		text = append(text, raw[i:i+size]...)
		i += size
	}
	return string(text)
}

// regexp parses /pattern/; nil: there is none at pos. A slash before a blank begins none.
func (p *parser) regexp() Node {
	if p.pos+1 >= len(p.text) || p.text[p.pos+1] == '/' || spaceAt(p.text[p.pos+1:]) > 0 {
		return nil
	}
	var pattern []byte
	for i := p.pos + 1; i < len(p.text); i++ {
		switch c := p.text[i]; {
		case c == '/':
			if !p.delimited(i+1, `()"^`) {
				return nil
			}
			p.pos = i + 1
			return &Regexp{Field: p.field, Pattern: string(pattern), Boost: 1}
		case c == '\\' && i+1 < len(p.text):
			i++
			if p.text[i] != '/' {
				pattern = append(pattern, '\\')
			}
			pattern = append(pattern, p.text[i])
		default:
			pattern = append(pattern, c)
		}
	}
	return nil
}

// brackets parses [a TO b], with { or } for an excluded bound, or a vector {"a": 1.5}; nil: there is none at pos. After a
// field, that is a fault.
func (p *parser) brackets(named bool) Node {
	offset := p.pos
	r := &Range{Field: p.field, ExcludeFrom: p.text[offset] == '{', Boost: 1}
	i, ok := p.bound(p.blanks(offset+1), &r.From)
	if begin := p.blanks(i); ok && begin > i && strings.HasPrefix(p.text[begin:], "TO") {
		if to := p.blanks(begin + 2); to > begin+2 {
			if i, ok = p.bound(to, &r.To); ok {
				if i = p.blanks(i); i < len(p.text) && (p.text[i] == ']' || p.text[i] == '}') {
					r.ExcludeTo = p.text[i] == '}'
					p.pos = i + 1
					return r
				}
			}
		}
	}
	p.pos = offset
	if inner := p.blanks(offset + 1); r.ExcludeFrom && p.field != "" && inner < len(p.text) && (p.text[inner] == '"' || p.text[inner] == '}') {
		if n := p.vector(); n != nil {
			return n
		}
	}
	if named && !p.stopped {
		p.remark(offset, `no range [from TO to] (write \%c for the character)`, p.text[offset])
	}
	return nil
}

func (p *parser) blanks(i int) int {
	for i < len(p.text) && spaceAt(p.text[i:]) > 0 {
		i += spaceAt(p.text[i:])
	}
	return i
}

// bound sets value to the bound at i, "" for *, and returns the end of it.
func (p *parser) bound(i int, value *string) (end int, ok bool) {
	if i == len(p.text) {
		return i, false
	}
	if p.text[i] == '"' {
		text, size := unquote(p.text[i:])
		*value = text
		return i + size, size > 0
	}
	end = i
	for end < len(p.text) && p.text[end] != ']' && p.text[end] != '}' && spaceAt(p.text[end:]) == 0 {
		if p.text[end] == '\\' && end+1 < len(p.text) {
			end++
			if n := spaceAt(p.text[end:]); n > 0 {
				end += n
				continue
			}
		}
		end++
	}
	if raw := p.text[i:end]; raw != "*" {
		*value = unescape(raw, "")
	}
	return end, end > i
}

// comparison parses >a, >=a, <a or <=a; nil: no bound follows, which after a field is a fault.
func (p *parser) comparison(named bool) Node {
	offset := p.pos
	end := offset + 1
	equal := end < len(p.text) && p.text[end] == '='
	if equal {
		end++
	}
	value := ""
	switch {
	case end < len(p.text) && p.text[end] == '"':
		text, size := unquote(p.text[end:])
		if value = text; size > 0 {
			p.pos = end + size
		}
	case !p.delimited(end, `()"^`):
		p.pos = end
		value = p.word()
	}
	if value == "" {
		p.pos = offset
		if named {
			p.remark(offset, `no bound after %q (write \%c for the character)`, p.text[offset:end], p.text[offset])
		}
		return nil
	}
	r := &Range{Field: p.field, Boost: 1}
	if p.text[offset] == '>' {
		r.From, r.ExcludeFrom = value, !equal
	} else {
		r.To, r.ExcludeTo = value, !equal
	}
	return r
}

// wildcardAt returns the place of an operator that makes a word a pattern, or -1: an asterisk beside a
// letter, or a question mark before one. A final question mark ends a question; one after a slash is in
// an address.
func wildcardAt(word string) int {
	for i := 0; i < len(word); i++ {
		switch word[i] {
		case '\\':
			i++
		case '*':
			before, _ := utf8.DecodeLastRuneInString(word[:i])
			after, _ := utf8.DecodeRuneInString(word[i+1:])
			if isWordRune(before) || isWordRune(after) {
				return i
			}
		case '?':
			if after, _ := utf8.DecodeRuneInString(word[i+1:]); isWordRune(after) && strings.IndexByte(word[:i], '/') < 0 {
				return i
			}
		}
	}
	return -1
}

func isWordRune(r rune) bool {
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}

// fuzzyAt returns the place of a tilde at the end of a word or before its final number, or -1.
func fuzzyAt(word string) int {
	i := len(strings.TrimRight(word, "0123456789.")) - 1
	if i < 1 || word[i] != '~' || word[i-1] == '\\' || word[i-1] == '~' {
		return -1
	}
	return i
}
