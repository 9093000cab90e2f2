package rest

import (
	"encoding/binary"
	"hash/maphash"
	"math/bits"
	"slices"
	"sync"
	"unicode/utf8"
)

// validJSON is json.Valid, several times as fast: strings are read eight bytes at a time. It also returns false for text that is
// not UTF-8 and for an object that may have a key twice: two keys can have the same hash.
func validJSON(text []byte) bool {
	v, _ := validators.Get().(*validator)
	*v = validator{text: text, strict: true, keys: v.keys[:0]}
	valid := v.value(0) && !v.twice
	v.space()
	valid = valid && v.at == len(text) && utf8.Valid(text)
	const kept = 1 << 12
	if v.text = nil; cap(v.keys) <= kept {
		validators.Put(v)
	}
	return valid
}

// validators are *validator, for the memory of keys.
var validators = sync.Pool{New: func() any { return new(validator) }}

// validator reads JSON from at on. Its methods report whether a value is valid.
type validator struct {
	text []byte
	at   int

	strict  bool     // look for keys that an object has twice
	keys    []uint64 // hashes of the keys of the objects around at
	twice   bool     // two keys of an object have the same hash
	escaped bool     // the last string has an escape
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
		return depth < maxJSONDepth && v.object(depth)
	case '[':
		return depth < maxJSONDepth && v.list(depth)
	case 't':
		return v.word("true")
	case 'f':
		return v.word("false")
	case 'n':
		return v.word("null")
	}
	return v.number()
}

func (v *validator) object(depth int) bool {
	outer := len(v.keys)
	v.at++
	if v.space(); v.take('}') {
		return true
	}
	for {
		v.space()
		from := v.at
		if !v.quoted() {
			return false
		}
		if v.strict {
			v.keys = append(v.keys, v.hash(v.text[from:v.at]))
		}
		if v.space(); !v.take(':') || !v.value(depth+1) {
			return false
		}
		v.space()
		if v.take('}') {
			break
		}
		if !v.take(',') {
			return false
		}
	}
	if len(v.keys) > outer+1 {
		v.twice = v.twice || hasEqual(v.keys[outer:])
	}
	v.keys = v.keys[:outer]
	return true
}

func (v *validator) list(depth int) bool {
	v.at++
	if v.space(); v.take(']') {
		return true
	}
	for v.value(depth + 1) {
		v.space()
		if v.take(']') {
			return true
		}
		if !v.take(',') {
			return false
		}
	}
	return false
}

var keySeed = maphash.MakeSeed()

// hash returns the hash of the last string, a key.
func (v *validator) hash(quoted []byte) uint64 {
	if v.escaped {
		return maphash.String(keySeed, unquote(string(quoted)))
	}
	return maphash.Bytes(keySeed, quoted[1:len(quoted)-1])
}

// hasEqual reports whether a number is in a list twice. It may sort the list.
func hasEqual(list []uint64) bool {
	const few = 12
	if len(list) > few {
		slices.Sort(list)
		for i := 1; i < len(list); i++ {
			if list[i] == list[i-1] {
				return true
			}
		}
		return false
	}
	for i := 1; i < len(list); i++ {
		for _, earlier := range list[:i] {
			if earlier == list[i] {
				return true
			}
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
	v.escaped = false
	for {
		v.plain()
		switch c := v.peek(); {
		case v.take('"'):
			return true
		case c == '\\':
			v.escaped = true
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

// plain skips bytes before a quote, a backslash or a control character, eight at a time; fewer than eight at the end stay.
func (v *validator) plain() {
	const ones, highs = 0x0101010101010101, 0x8080808080808080
	for v.at+8 <= len(v.text) {
		x := binary.LittleEndian.Uint64(v.text[v.at:])
		quote, backslash := x^'"'*ones, x^'\\'*ones
		// The lowest byte with its high bit set is right; above it there may be more.
		if found := ((quote-ones)&^quote | (backslash-ones)&^backslash | (x-' '*ones)&^x) & highs; found != 0 {
			v.at += bits.TrailingZeros64(found) / 8
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
