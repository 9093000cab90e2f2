package analysis

import (
	"encoding/binary"
	"math/bits"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/griffin-search/griffin/internal/simd/letters"
)

// maxWordUnits UTF-16 code units cut a word, as in Lucene's StandardTokenizer; the rest is
// segmented again.
const maxWordUnits = 255

// windowBytes of a word are read: more than maxWordUnits in UTF-8.
const windowBytes = 1024

// A segmenter cuts text into words by Unicode Standard Annex #29 (Unicode 17) and keeps those
// that Lucene's StandardTokenizer keeps: with a letter or a digit. An ideograph or Hiragana
// letter is a word, a run of Katakana, Hangul or of a script written without spaces (Thai, Lao,
// Khmer, Myanmar …) is one word.
//
// Classes of bytes find ASCII words, most of them 64 bytes at a time; uax29 cuts words with other characters from the
// same start. This is correct because UAX #29 never looks left across a boundary
// (TestSegmenterMatchesUAX29, FuzzSegmenter).
//
// We differ from StandardTokenizer: an emoji is not a word, and character classes follow
// Unicode 17, not 12.
type segmenter struct {
	text []byte
	pos  int // all words that start before pos were returned
	// The end of text around pos known to be UTF-8, or less than pos.
	valid int
	end   [letters.WindowLen]byte // of text, and zeros, which are in no word
}

// Word_Break properties of ASCII characters.
const (
	letterByte   = 1 << iota // ALetter
	digitByte                // Numeric
	lowLineByte              // ExtendNumLet
	midLetterBit             // MidLetter, MidNumLet, Single_Quote: joins letters
	midNumberBit             // MidNum, MidNumLet, Single_Quote: joins digits
	highByte                 // part of a character beyond ASCII, or no character
	wordByte     = letterByte | digitByte | lowLineByte
)

var byteClass = func() (class [256]uint8) {
	for c := range class {
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z':
			class[c] = letterByte
		case '0' <= c && c <= '9':
			class[c] = digitByte
		case c == '_':
			class[c] = lowLineByte
		case c == ':':
			class[c] = midLetterBit
		case c == ',', c == ';':
			class[c] = midNumberBit
		case c == '.', c == '\'':
			class[c] = midLetterBit | midNumberBit
		case c >= utf8.RuneSelf:
			class[c] = highByte
		}
	}
	return class
}()

func (s *segmenter) reset(text []byte) { s.text, s.pos, s.valid = text, 0, 0 }

func (s *segmenter) next() (start, end int, ok bool) {
	text, i := s.text, s.pos
	for i < len(text) {
		class := byteClass[text[i]]
		if class&(wordByte|highByte) == 0 {
			i++
			continue
		}
		start = i
		var kept bool
		if class == highByte {
			i, kept = s.unicodeWord(start)
		} else {
			i, kept = s.asciiWord(start)
		}
		if kept {
			s.pos = i
			return start, i, true
		}
	}
	s.pos = i
	return 0, 0, false
}

// keys sets keys to the next words, and returns their number: less than len(keys) at the end of the text.
func (s *segmenter) keys(keys []wordKey, fold bool) (n int) {
	for {
		if n += s.easyKeys(keys[n:], fold); n == len(keys) {
			return n
		}
		start, end, ok := s.next()
		if !ok {
			return n
		}
		keys[n] = makeKey(s.text, start, end, fold)
		if n++; n == len(keys) {
			return n
		}
	}
}

// easyKeys is keys for words of up to 16 ASCII letters, without a branch for each character. It stops before another word.
func (s *segmenter) easyKeys(keys []wordKey, fold bool) (n int) {
	const lastStart = letters.WindowLen - 1 - 1 - maxEasy // of a word whose next two characters are in the window
	text, at := s.text, s.pos
	for at < len(text) {
		window := &s.end
		if at+letters.WindowLen <= len(text) {
			window = (*[letters.WindowLen]byte)(text[at:])
		} else {
			clear(window[copy(window[:], text[at:]):])
		}
		c := letters.Classify(window)
		word := c.Letters | c.Others
		hard := c.Others | c.Middles&(word>>1) // after letters: not the end of an easy word
		starts := word &^ (word << 1)
		for ; starts != 0; starts &= starts - 1 {
			start := bits.TrailingZeros64(starts)
			length := bits.TrailingZeros64(^(c.Letters >> start))
			if n == len(keys) || start > lastStart || uint(length-1) >= maxEasy || hard>>(start+length)&1 != 0 {
				break
			}
			lo := binary.LittleEndian.Uint64(window[start:]) & firstBytes[length].lo
			hi := binary.LittleEndian.Uint64(window[start+8:]) & firstBytes[length].hi
			if fold {
				lo, hi = foldASCII8(lo), foldASCII8(hi)
			}
			k := &keys[n] // field by field: a composite literal is built elsewhere and copied
			k.lo, k.hi, k.hash = lo, hi, hashKey(lo, hi)
			k.start, k.end = int32(at+start), int32(at+start+length)
			n++
		}
		if starts == 0 {
			at += letters.WindowLen
			continue
		}
		start := bits.TrailingZeros64(starts)
		at += start
		if start <= lastStart {
			break
		}
	}
	s.pos = min(at, len(text))
	return n
}

// maxEasy is the length of the longest word of easyKeys.
const maxEasy = 16

// firstBytes[n] are masks of n bytes.
var firstBytes = func() (masks [maxEasy + 1]struct{ lo, hi uint64 }) {
	for n := range masks {
		masks[n].lo = 1<<(8*min(n, 8)) - 1
		masks[n].hi = 1<<(8*max(n-8, 0)) - 1
	}
	return masks
}()

// The end of the word that starts at start, and whether it is kept.
func (s *segmenter) asciiWord(start int) (end int, kept bool) {
	text := s.text[:min(len(s.text), start+maxWordUnits)]
	seen := uint8(0)
	i := start
	for {
		class := uint8(0)
		for ; i < len(text); i++ {
			// WB5, WB8, WB9, WB10, WB13a, WB13b: letters, digits and low lines
			// all join.
			if class = byteClass[text[i]]; class&wordByte == 0 {
				break
			}
			seen |= class
		}
		if i < len(text) && class == highByte {
			return s.unicodeWord(start)
		}
		if i+1 >= len(text) || class&(midLetterBit|midNumberBit) == 0 {
			break
		}
		// WB6, WB7, WB11, WB12: one such character joins two letters or two digits.
		last, following := byteClass[text[i-1]], byteClass[text[i+1]]
		joinsLetters := class&midLetterBit != 0 && last == letterByte
		joinsDigits := class&midNumberBit != 0 && last == digitByte
		if following == highByte && (joinsLetters || joinsDigits) {
			return s.unicodeWord(start)
		}
		joinsLetters = joinsLetters && following == letterByte
		joinsDigits = joinsDigits && following == digitByte
		if !joinsLetters && !joinsDigits {
			break
		}
		i++
	}
	return i, seen&(letterByte|digitByte) != 0
}

// asciiWord with characters beyond ASCII; it advances by at least one byte.
func (s *segmenter) unicodeWord(start int) (end int, kept bool) {
	window := s.validWindow(start)
	if len(window) == 0 {
		return start + 1, false
	}
	n := cutWord(window)
	first, _ := utf8.DecodeRune(window)
	if isSoutheastAsian(first) {
		for n < len(window) {
			if r, _ := utf8.DecodeRune(window[n:]); !isSoutheastAsian(r) {
				break
			}
			more := cutWord(window[n:])
			if unitsPrefix(window[:n+more]) < n+more {
				break
			}
			n += more
		}
	}
	return start + n, hasLetterOrDigit(window[:n])
}

// UTF-8 text from start up to the first other byte, windowBytes at most.
func (s *segmenter) validWindow(start int) []byte {
	limit := min(len(s.text), start+windowBytes)
	v := max(s.valid, start)
	for v < limit {
		if v+8 <= limit && binary.LittleEndian.Uint64(s.text[v:])&0x8080808080808080 == 0 {
			v += 8
			continue
		}
		r, size := utf8.DecodeRune(s.text[v:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		v += size
	}
	s.valid = v
	if v <= limit {
		return s.text[start:v]
	}
	for !utf8.RuneStart(s.text[limit]) {
		limit--
	}
	return s.text[start:limit]
}

// window must be non-empty valid UTF-8; the word is cut to maxWordUnits.
func cutWord(window []byte) int {
	n, _, _ := words.SplitFunc(window, true /* atEOF */)
	if p := unitsPrefix(window[:n]); p < n {
		n, _, _ = words.SplitFunc(window[:p], true /* atEOF */)
	}
	return n
}

// The bytes of at most maxWordUnits code units.
func unitsPrefix(word []byte) int {
	if len(word) <= maxWordUnits {
		return len(word)
	}
	units := 0
	for i := 0; i < len(word); {
		r, size := utf8.DecodeRune(word[i:])
		if units += utf16.RuneLen(r); units > maxWordUnits {
			return i
		}
		i += size
	}
	return len(word)
}

// General_Category L, Nd or Nl, or a symbol that Unicode calls alphabetic (Ⓐ).
func hasLetterOrDigit(word []byte) bool {
	for i := 0; i < len(word); {
		if c := word[i]; c < utf8.RuneSelf {
			if byteClass[c]&(letterByte|digitByte) != 0 {
				return true
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(word[i:])
		if unicode.IsLetter(r) || unicode.In(r, unicode.Nd, unicode.Nl) || unicode.IsSymbol(r) && unicode.Is(unicode.Other_Alphabetic, r) {
			return true
		}
		i += size
	}
	return false
}

// Written without spaces, such letters need a dictionary (Line_Break=SA). UAX #29 cuts after
// each; StandardTokenizer, and we, keep the run as one word.
func isSoutheastAsian(r rune) bool {
	return r >= 0x0e00 && (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r, southeastAsian...)
}

var southeastAsian = []*unicode.RangeTable{
	unicode.Thai, unicode.Lao, unicode.Myanmar, unicode.Khmer, unicode.Tai_Le,
	unicode.New_Tai_Lue, unicode.Tai_Tham, unicode.Tai_Viet, unicode.Ahom,
}
