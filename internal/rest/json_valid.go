package rest

import "encoding/binary"

// validJSON is json.Valid, several times as fast: strings are read eight bytes at a time.
func validJSON(text []byte) bool {
	v := validator{text: text}
	if !v.value(0) {
		return false
	}
	v.space()
	return v.at == len(text)
}

// validator reads JSON from at on. Its methods report whether a value is valid.
type validator struct {
	text []byte
	at   int
}

// maxJSONDepth is the limit of encoding/json.
const maxJSONDepth = 10000

// peek is the next byte; 0, which begins nothing, at the end.
func (v *validator) peek() byte {
	if v.at < len(v.text) {
		return v.text[v.at]
	}
	return 0
}

func (v *validator) space() {
	for v.at < len(v.text) && (v.text[v.at] == ' ' || v.text[v.at] == '\n' || v.text[v.at] == '\t' || v.text[v.at] == '\r') {
		v.at++
	}
}

func (v *validator) value(depth int) bool {
	v.space()
	switch v.peek() {
	case '"':
		return v.quoted()
	case '{':
		return depth < maxJSONDepth && v.items('}', func() bool {
			if v.space(); !v.quoted() {
				return false
			}
			v.space()
			return v.take(':') && v.value(depth+1)
		})
	case '[':
		return depth < maxJSONDepth && v.items(']', func() bool { return v.value(depth + 1) })
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

// items reads an opening bracket, items that are separated by commas, and the closing one.
func (v *validator) items(end byte, item func() bool) bool {
	v.at++
	if v.space(); v.take(end) {
		return true
	}
	for item() {
		v.space()
		if v.take(end) {
			return true
		}
		if !v.take(',') {
			return false
		}
	}
	return false
}

func (v *validator) take(c byte) bool {
	if v.peek() != c {
		return false
	}
	v.at++
	return true
}

func (v *validator) word(word string) bool {
	for i := range len(word) {
		if !v.take(word[i]) {
			return false
		}
	}
	return true
}

func (v *validator) number() bool {
	v.take('-')
	if !v.take('0') && !v.digits() {
		return false
	}
	if v.take('.') && !v.digits() {
		return false
	}
	if v.take('e') || v.take('E') {
		if !v.take('+') {
			v.take('-')
		}
		return v.digits()
	}
	return true
}

// digits reads one at least.
func (v *validator) digits() bool {
	from := v.at
	for c := v.peek(); c >= '0' && c <= '9'; c = v.peek() {
		v.at++
	}
	return v.at > from
}

func (v *validator) quoted() bool {
	if !v.take('"') {
		return false
	}
	for {
		v.plain()
		switch c := v.peek(); {
		case v.take('"'):
			return true
		case c == '\\':
			v.at++
			if !v.escape() {
				return false
			}
		case c < ' ': // also at the end
			return false
		default:
			v.at++
		}
	}
}

// plain skips eight bytes at a time while none of them is a quote, a backslash or a control character.
func (v *validator) plain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for v.at+8 <= len(v.text) {
		x := binary.LittleEndian.Uint64(v.text[v.at:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		// The lowest byte with its high bit set is right; above it there may be more.
		if ((quote-ones)&^quote|(backslash-ones)&^backslash|(x-' '*ones)&^x)&highs != 0 {
			return
		}
		v.at += 8
	}
}

func (v *validator) escape() bool {
	c := v.peek()
	v.at++
	if c != 'u' {
		return escapes[c] != 0
	}
	for range 4 {
		switch c := v.peek() | 0x20; {
		case v.peek() >= '0' && v.peek() <= '9', c >= 'a' && c <= 'f':
			v.at++
		default:
			return false
		}
	}
	return true
}
