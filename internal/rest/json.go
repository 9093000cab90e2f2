package rest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf16"

	"github.com/griffin-search/griffin/internal/jsonout"
)

// A scanner walks over JSON that json.Valid has accepted.
type scanner struct {
	text string
	at   int
}

func (s *scanner) space() {
	for s.at < len(s.text) && (s.text[s.at] == ' ' || s.text[s.at] == '\n' || s.text[s.at] == '\t' || s.text[s.at] == '\r') {
		s.at++
	}
}

// next skips space and returns the first byte after it.
func (s *scanner) next() byte {
	s.space()
	return s.text[s.at]
}

// rawString skips a string and returns it with its quotes.
func (s *scanner) rawString() string {
	start := s.at
	s.at++
	for {
		i := strings.IndexByte(s.text[s.at:], '"')
		escape := strings.IndexByte(s.text[s.at:s.at+i], '\\')
		if escape < 0 {
			s.at += i + 1
			return s.text[start:s.at]
		}
		s.at += escape + 2
	}
}

// unquote shares the memory of raw if it has no escapes.
func unquote(raw string) string {
	inner := raw[1 : len(raw)-1]
	at := strings.IndexByte(inner, '\\')
	if at < 0 {
		return inner
	}
	var out strings.Builder
	out.Grow(len(inner))
	for ; at >= 0; at = strings.IndexByte(inner, '\\') {
		out.WriteString(inner[:at])
		c := inner[at+1]
		inner = inner[at+2:]
		if c != 'u' {
			out.WriteByte(escapes[c])
			continue
		}
		r := hexRune(inner)
		inner = inner[4:]
		if utf16.IsSurrogate(r) {
			low := rune(unicode.ReplacementChar)
			if strings.HasPrefix(inner, `\u`) {
				low = hexRune(inner[2:])
			}
			if r = utf16.DecodeRune(r, low); r != unicode.ReplacementChar {
				inner = inner[6:]
			}
		}
		out.WriteRune(r)
	}
	out.WriteString(inner)
	return out.String()
}

// escapes are what letters after a backslash mean.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// hexRune is the number of the first four digits.
func hexRune(digits string) (r rune) {
	for _, c := range []byte(digits[:4]) {
		switch {
		case c <= '9':
			c -= '0'
		default:
			c = c&^0x20 - 'A' + 10
		}
		r = r<<4 | rune(c)
	}
	return r
}

// scalar skips a number, a boolean or null.
func (s *scanner) scalar() {
	for s.at < len(s.text) && strings.IndexByte(",]} \n\t\r", s.text[s.at]) < 0 {
		s.at++
	}
}

// value skips a value and returns its text.
func (s *scanner) value() string {
	c := s.next()
	start := s.at
	switch c {
	case '"':
		return s.rawString()
	case '{', '[':
		for depth := 0; ; {
			switch s.text[s.at] {
			case '"':
				s.rawString()
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			s.at++
			if depth == 0 {
				return s.text[start:s.at]
			}
		}
	}
	s.scalar()
	return s.text[start:s.at]
}

// member is a key of an object, unquoted, and the text of its value.
type member struct{ key, value string }

// jsonReason is an error of encoding/json without the names of Go's types.
func jsonReason(err error) string {
	var kind *json.UnmarshalTypeError
	if !errors.As(err, &kind) {
		return strings.TrimPrefix(err.Error(), "json: ")
	}
	want := "another value"
	switch kind.Type.Kind() {
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64,
		reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		want = "an integer"
	case reflect.Float32, reflect.Float64:
		want = "a number"
		if isNumber := strings.HasPrefix(kind.Value, "number "); isNumber {
			want += fmt.Sprintf(" of %d bits", kind.Type.Bits()) // it is too large
		}
	case reflect.Map, reflect.Struct:
		want = "an object"
	case reflect.Slice, reflect.Array:
		want = "an array"
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	}
	where := ""
	if kind.Field != "" {
		where = "[" + kind.Field + "]: "
	}
	return where + "want " + want + ", have: " + kind.Value
}

// members returns the members of a valid JSON object, in their order.
func members(object string) []member {
	s := scanner{text: object}
	s.next()
	s.at++
	var out []member
	for s.next() != '}' {
		if s.text[s.at] == ',' {
			s.at++
			s.space()
		}
		key := unquote(s.rawString())
		s.space()
		s.at++ // the colon
		out = append(out, member{key, s.value()})
	}
	return out
}

func isObject(value string) bool { return strings.HasPrefix(strings.TrimLeft(value, " \n\t\r"), "{") }

// mergeObjects returns old with the members of patch: objects are merged, other values replaced. It
// reports whether anything changed.
func mergeObjects(old, patch string) (merged string, changed bool) {
	have := members(old)
	places := make(map[string]int, len(have))
	for i, m := range have {
		places[m.key] = i
	}
	for _, m := range members(patch) {
		i, ok := places[m.key]
		switch {
		case !ok:
			places[m.key] = len(have)
			have = append(have, m)
			changed = true
		case isObject(have[i].value) && isObject(m.value):
			inner, innerChanged := mergeObjects(have[i].value, m.value)
			if innerChanged {
				have[i].value, changed = inner, true
			}
		case !sameJSON(have[i].value, m.value):
			have[i].value, changed = m.value, true
		}
	}
	if !changed {
		return old, false
	}
	out := []byte{'{'}
	for i, m := range have {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(appendString(out, m.key), ':')
		out = append(out, m.value...)
	}
	return string(append(out, '}')), true
}

// sameJSON reports whether two values are equal but for space.
func sameJSON(a, b string) bool {
	if a == b {
		return true
	}
	var x, y bytes.Buffer
	if json.Compact(&x, []byte(a)) != nil || json.Compact(&y, []byte(b)) != nil {
		return false
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// appendString appends a JSON string.
func appendString(dst []byte, text string) []byte { return jsonout.AppendString(dst, text) }
