package corpus

import (
	"encoding/binary"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Shared encodes strings so that those that are parts of others are there once, such as a document's JSON and its
// fields, also if they have escapes there. The zero value has no strings. It must not be copied, and is for one
// goroutine.
//
//	Reset, Add for each string, Find, AppendTexts, then AppendPlace for each string
type Shared struct {
	list   []sharedString
	room   [16]sharedString
	texts  [2]string // begin the texts
	size   int       // of the texts
	saved  int
	escape bool
}

type sharedString struct {
	text    string
	offset  int  // in the texts
	length  int  // there
	found   bool // in another string
	escaped bool // with the escapes of JSON
}

// minShared is the length from which on it is worth looking for a string in another.
const minShared = 16

// Reset removes all strings.
func (s *Shared) Reset() {
	clear(s.list) // for the garbage collector
	s.list, s.texts, s.size, s.saved, s.escape = s.list[:0], [2]string{}, 0, 0, false
}

// Add adds a string.
func (s *Shared) Add(text string) {
	if s.list == nil {
		s.list = s.room[:0]
	}
	s.list = append(s.list, sharedString{text: text})
}

// Find looks for strings in the longest one, and in the longest of those that are not part of it; if escapes is
// set, also for strings with escapes.
func (s *Shared) Find(escapes bool) {
	for i := range s.texts {
		s.texts[i] = s.longest()
		s.find(s.texts[i], s.size, escapes)
		s.size += len(s.texts[i])
	}
	sum := 0
	for i := range s.list {
		q := &s.list[i]
		if sum += len(q.text); q.found {
			continue
		}
		q.offset, q.length = s.size, len(q.text)
		s.size += len(q.text)
	}
	s.saved = sum - s.size
}

// SavedBytes is how many bytes the strings have more than the texts.
func (s *Shared) SavedBytes() int { return s.saved }

// Escaped reports whether a string is in another with escapes.
func (s *Shared) Escaped() bool { return s.escape }

// AppendTexts appends the length of the texts, a uvarint, and the texts.
func (s *Shared) AppendTexts(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(s.size))
	dst = append(append(dst, s.texts[0]...), s.texts[1]...)
	for i := range s.list {
		if q := &s.list[i]; !q.found {
			dst = append(dst, q.text...)
		}
	}
	return dst
}

// AppendPlace appends the place of the i-th string: the offset in the texts and the length there, uvarints. No
// string may be escaped.
func (s *Shared) AppendPlace(dst []byte, i int) []byte {
	q := &s.list[i]
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(q.offset)), uint64(q.length))
}

// AppendMarkedPlace is AppendPlace, but for the length, which is doubled, plus 1 for a string with escapes
// (Unescape).
func (s *Shared) AppendMarkedPlace(dst []byte, i int) []byte {
	q, mark := &s.list[i], uint64(0)
	if q.escaped {
		mark = 1
	}
	return binary.AppendUvarint(binary.AppendUvarint(dst, uint64(q.offset)), uint64(q.length)<<1|mark)
}

// longest returns the longest string without a place.
func (s *Shared) longest() (longest string) {
	for i := range s.list {
		if q := &s.list[i]; !q.found && len(q.text) > len(longest) {
			longest = q.text
		}
	}
	return longest
}

// find gives strings a place in whole, which is at offset in the texts.
func (s *Shared) find(whole string, offset int, escapes bool) {
	for i := range s.list {
		q := &s.list[i]
		if q.found || len(q.text) > len(whole) || len(q.text) < minShared && q.text != whole {
			continue
		}
		// Index is fastest for short strings. Most texts have no other place with the same beginning.
		at := strings.Index(whole, q.text[:min(len(q.text), minShared)])
		switch {
		case at < 0:
		case strings.HasPrefix(whole[at:], q.text):
			q.offset, q.length, q.found = offset+at, len(q.text), true
		case escapes:
			if n := escapedPrefix(whole[at:], q.text); n > 0 {
				q.offset, q.length, q.found, q.escaped, s.escape = offset+at, n, true, true, true
			}
		}
	}
}

// escapedPrefix returns the length of the prefix of src that Unescape makes text; 0: there is none.
func escapedPrefix(src, text string) int {
	at := 0
	for text != "" {
		run := strings.IndexByte(src[at:min(len(src), at+len(text))], '\\')
		if run < 0 {
			if strings.HasPrefix(src[at:], text) {
				return at + len(text)
			}
			return 0
		}
		if src[at:at+run] != text[:run] {
			return 0
		}
		at, text = at+run, text[run:]
		r, n := unescape(src[at:])
		var buf [utf8.UTFMax]byte
		out := utf8.AppendRune(buf[:0], r)
		if n == 0 || !strings.HasPrefix(text, string(out)) {
			return 0
		}
		at, text = at+n, text[len(out):]
	}
	return at
}

// Unescape appends a part of a JSON string without its escapes. ok is false if one is not valid.
func Unescape[T string | []byte](dst []byte, src T) (_ []byte, ok bool) {
	for len(src) > 0 {
		run := 0
		for run < len(src) && src[run] != '\\' {
			run++
		}
		dst = append(dst, src[:run]...)
		if src = src[run:]; len(src) == 0 {
			break
		}
		r, n := unescape(src)
		if n == 0 {
			return dst, false
		}
		dst, src = utf8.AppendRune(dst, r), src[n:]
	}
	return dst, true
}

// escapes are what letters after a backslash mean.
var escapes = [256]byte{'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t'}

// unescape returns the character and the length of the escape at the start of src, which begins with a backslash.
// Half a surrogate pair is unicode.ReplacementChar. n is 0 if it is not valid.
func unescape[T string | []byte](src T) (r rune, n int) {
	if len(src) < 2 {
		return 0, 0
	}
	if c := src[1]; c != 'u' {
		if escapes[c] == 0 {
			return 0, 0
		}
		return rune(escapes[c]), 2
	}
	switch r = hexRune(src); {
	case r < 0:
		return 0, 0
	case !utf16.IsSurrogate(r):
		return r, 6
	}
	if pair := utf16.DecodeRune(r, max(hexRune(src[6:]), 0)); pair != unicode.ReplacementChar {
		return pair, 12
	}
	return unicode.ReplacementChar, 6
}

// hexRune returns the number of an escape with four digits at the start of src; negative: there is none.
func hexRune[T string | []byte](src T) (r rune) {
	if len(src) < 6 || src[0] != '\\' || src[1] != 'u' {
		return -1
	}
	for i := 2; i < 6; i++ {
		digit := rune(src[i])
		switch {
		case digit >= '0' && digit <= '9':
			digit -= '0'
		case digit|0x20 >= 'a' && digit|0x20 <= 'f':
			digit = (digit | 0x20) - 'a' + 10
		default:
			return -1
		}
		r = r<<4 | digit
	}
	return r
}
