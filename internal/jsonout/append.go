package jsonout

import (
	"math"
	"strconv"
	"unicode/utf8"
)

const digits = "0123456789abcdef"

// short are the letters of escapes with a backslash, by character.
var short = [utf8.RuneSelf]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendString appends a string with its quotes. Bytes that are not valid UTF-8 become U+FFFD.
func AppendString(dst []byte, text string) []byte {
	dst = append(dst, '"')
	start := 0
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c >= ' ' && c != '"' && c != '\\' {
				i++
				continue
			}
			dst = append(dst, text[start:i]...)
			if letter := short[c]; letter != 0 {
				dst = append(dst, '\\', letter)
			} else {
				dst = append(dst, '\\', 'u', '0', '0', digits[c>>4], digits[c&0xf])
			}
			i++
			start = i
			continue
		}
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			dst = append(append(dst, text[start:i]...), `\ufffd`...)
			start = i + size
		case r == '\u2028' || r == '\u2029': // line ends of JavaScript
			dst = append(append(dst, text[start:i]...), '\\', 'u', '2', '0', '2', digits[r&0xf])
			start = i + size
		}
		i += size
	}
	return append(append(dst, text[start:]...), '"')
}

// AppendFloat appends a number that is neither infinite nor NaN.
func AppendFloat(dst []byte, v float64) []byte {
	const least, most = 1e-6, 1e21 // as ECMAScript
	if size := math.Abs(v); size == 0 || size >= least && size < most {
		return strconv.AppendFloat(dst, v, 'f', -1, 64)
	}
	dst = strconv.AppendFloat(dst, v, 'e', -1, 64)
	if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-3] == '-' && dst[n-2] == '0' { // e-09 is e-9
		dst[n-2] = dst[n-1]
		dst = dst[:n-1]
	}
	return dst
}
