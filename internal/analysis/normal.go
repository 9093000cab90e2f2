package analysis

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// form is a normal form of Unicode, with or without case folding.
type form struct {
	norm norm.Form
	fold bool
}

// normalForm reads the parameters of icu_normalizer.
func normalForm(p *parameters) form {
	name := p.choice("name", "nfkc_cf", "nfc", "nfkc")
	decompose := p.choice("mode", "compose", "decompose") == "decompose"
	f := form{norm: norm.NFKC, fold: name == "nfkc_cf"}
	switch {
	case name == "nfc" && decompose:
		f.norm = norm.NFD
	case name == "nfc":
		f.norm = norm.NFC
	case decompose:
		f.norm = norm.NFKD
	}
	return f
}

// isNormal reports whether append would append the text. It can be false for such a text, too.
func (f form) isNormal(text []byte) bool {
	for _, c := range text {
		if c >= utf8.RuneSelf || f.fold && 'A' <= c && c <= 'Z' {
			return !f.fold && f.norm.QuickSpan(text) == len(text)
		}
	}
	return true
}

// append appends the normal form of text, which is not changed.
func (f form) append(dst, text []byte) []byte {
	if !f.fold {
		return f.norm.Append(dst, text...)
	}
	// NFKC_Casefold: folding can undo a normal form, so it is made again. Characters that have no
	// meaning for a search (Default_Ignorable_Code_Point) are removed.
	folded := foldCase.Bytes(f.norm.Bytes(text))
	kept := folded[:0]
	for i := 0; i < len(folded); {
		r, size := utf8.DecodeRune(folded[i:])
		if !isIgnorable(r) {
			kept = append(kept, folded[i:i+size]...)
		}
		i += size
	}
	return f.norm.Append(dst, kept...)
}

// A Caser of cases.Fold has no state.
var foldCase = cases.Fold()

func isIgnorable(r rune) bool {
	switch {
	case r < 0xad:
		return false
	case r == 0xad, r == 0x34f, r == 0x61c, 0x115f <= r && r <= 0x1160, 0x17b4 <= r && r <= 0x17b5,
		0x180b <= r && r <= 0x180f, 0x200b <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f,
		r == 0x3164, 0xfe00 <= r && r <= 0xfe0f, r == 0xfeff, r == 0xffa0, 0xfff0 <= r && r <= 0xfff8,
		0x1bca0 <= r && r <= 0x1bca3, 0x1d173 <= r && r <= 0x1d17a, 0xe0000 <= r && r <= 0xe0fff:
		return true
	}
	return false
}

// formMapper is the token filter of a form.
type formMapper struct{ form form }

var (
	_ mapper      = (*formMapper)(nil)
	_ startKeeper = (*formMapper)(nil)
)

func (f *formMapper) keepsStart() bool { return true }

func (f *formMapper) mapTerm(w *word, m *memory) bool {
	if !f.form.isNormal(w.term) {
		from := len(m.buffer)
		m.buffer = f.form.append(m.buffer, w.term)
		w.term = m.grown(from)
	}
	return true
}

// accentMapper removes accents. icu is NFKC_Casefold without marks, as ICU's folding; otherwise,
// letters become ASCII, as by Lucene's ASCIIFoldingFilter.
type accentMapper struct {
	icu bool
	// scratch
	decomposed []byte
}

var _ mapper = (*accentMapper)(nil)

func (f *accentMapper) mapTerm(w *word, m *memory) bool {
	if isASCII(w.term) && (!f.icu || !hasUpperASCII(w.term)) {
		return true
	}
	from := len(m.buffer)
	if f.icu {
		m.buffer = f.appendFolded(m.buffer, w.term)
	} else {
		m.buffer = f.appendASCII(m.buffer, w.term)
	}
	w.term = m.grown(from)
	return true
}

func (f *accentMapper) appendFolded(dst, term []byte) []byte {
	f.decomposed = form{norm.NFKC, true}.append(f.decomposed[:0], term)
	stripped := norm.NFD.Bytes(f.decomposed)
	kept := stripped[:0:0]
	for i := 0; i < len(stripped); {
		r, size := utf8.DecodeRune(stripped[i:])
		switch ascii := asciiLetters[r]; {
		case ascii != "":
			kept = append(kept, ascii...)
		case !unicode.Is(unicode.Mn, r):
			kept = append(kept, stripped[i:i+size]...)
		}
		i += size
	}
	return norm.NFC.Append(dst, kept...)
}

func (f *accentMapper) appendASCII(dst, term []byte) []byte {
	// é can be two characters.
	term = norm.NFC.Bytes(term)
	for i := 0; i < len(term); {
		c := term[i]
		if c < utf8.RuneSelf {
			dst = append(dst, c)
			i++
			continue
		}
		r, size := utf8.DecodeRune(term[i:])
		dst = f.appendLetter(dst, r, term[i:i+size])
		i += size
	}
	return dst
}

// appendLetter appends the ASCII form of a character, or the character.
func (f *accentMapper) appendLetter(dst []byte, r rune, encoded []byte) []byte {
	if ascii := asciiLetters[r]; ascii != "" {
		return append(dst, ascii...)
	}
	f.decomposed = norm.NFKD.Append(f.decomposed[:0], encoded...)
	from, ascii := len(dst), false
	for j := 0; j < len(f.decomposed); {
		r, size := utf8.DecodeRune(f.decomposed[j:])
		j += size
		switch {
		case r < utf8.RuneSelf:
			dst = append(dst, byte(r))
			ascii = true
		case asciiLetters[r] != "":
			dst = append(dst, asciiLetters[r]...)
			ascii = true
		case !unicode.Is(unicode.Mn, r):
			return append(dst[:from], encoded...)
		}
	}
	if !ascii {
		return append(dst[:from], encoded...)
	}
	return dst
}

func isASCII(s []byte) bool {
	for _, c := range s {
		if c >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func hasUpperASCII(s []byte) bool {
	for _, c := range s {
		if 'A' <= c && c <= 'Z' {
			return true
		}
	}
	return false
}

// asciiLetters are the letters and signs that Unicode does not decompose.
var asciiLetters = map[rune]string{
	'Æ': "AE", 'æ': "ae", 'Ǽ': "AE", 'ǽ': "ae", 'Œ': "OE", 'œ': "oe", 'Ø': "O", 'ø': "o", 'Ǿ': "O", 'ǿ': "o",
	'ß': "ss", 'ẞ': "SS", 'Ð': "D", 'ð': "d", 'Đ': "D", 'đ': "d", 'Þ': "TH", 'þ': "th", 'Ħ': "H", 'ħ': "h",
	'ı': "i", 'ĸ': "q", 'Ł': "L", 'ł': "l", 'ŉ': "n", 'Ŋ': "N", 'ŋ': "n", 'Ŧ': "T", 'ŧ': "t", 'ſ': "s",
	'ƀ': "b", 'Ɓ': "B", 'Ƃ': "B", 'ƃ': "b", 'Ɔ': "O", 'Ƈ': "C", 'ƈ': "c", 'Ɖ': "D", 'Ɗ': "D", 'Ƌ': "D", 'ƌ': "d",
	'Ǝ': "E", 'Ə': "A", 'Ɛ': "E", 'Ƒ': "F", 'ƒ': "f", 'Ɠ': "G", 'ƕ': "hv", 'Ɩ': "I", 'Ɨ': "I", 'Ƙ': "K", 'ƙ': "k",
	'ƚ': "l", 'Ɯ': "M", 'Ɲ': "N", 'ƞ': "n", 'Ɵ': "O", 'Ƥ': "P", 'ƥ': "p", 'ƫ': "t", 'Ƭ': "T", 'ƭ': "t", 'Ʈ': "T",
	'Ʋ': "V", 'Ƴ': "Y", 'ƴ': "y", 'Ƶ': "Z", 'ƶ': "z", 'ǝ': "a", 'Ǥ': "G", 'ǥ': "g", 'ȡ': "d", 'Ȥ': "Z", 'ȥ': "z",
	'ȴ': "l", 'ȵ': "n", 'ȶ': "t", 'ȷ': "j", 'Ⱥ': "A", 'Ȼ': "C", 'ȼ': "c", 'Ƚ': "L", 'Ⱦ': "T", 'ȿ': "s", 'ɀ': "z",
	'Ƀ': "B", 'Ɇ': "E", 'ɇ': "e", 'Ɉ': "J", 'ɉ': "j", 'Ɍ': "R", 'ɍ': "r", 'Ɏ': "Y", 'ɏ': "y", 'ɐ': "a", 'ɓ': "b",
	'ɔ': "o", 'ɕ': "c", 'ɖ': "d", 'ɗ': "d", 'ə': "a", 'ɛ': "e", 'ɟ': "j", 'ɠ': "g", 'ɡ': "g", 'ɢ': "G", 'ɣ': "g",
	'ɥ': "h", 'ɦ': "h", 'ɨ': "i", 'ɪ': "I", 'ɫ': "l", 'ɬ': "l", 'ɭ': "l", 'ɯ': "m", 'ɱ': "m", 'ɲ': "n", 'ɳ': "n",
	'ɵ': "o", 'ɼ': "r", 'ɽ': "r", 'ɾ': "r", 'ʀ': "R", 'ʂ': "s", 'ʄ': "j", 'ʈ': "t", 'ʉ': "u", 'ʋ': "v", 'ʏ': "Y",
	'ʐ': "z", 'ʑ': "z", 'ẚ': "a", 'ⱡ': "l", 'Ɫ': "L", 'Ᵽ': "P", 'Ɽ': "R", 'ⱥ': "a", 'ⱦ': "t",
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", '‹': "'", '›': "'", '“': `"`, '”': `"`, '„': `"`, '″': `"`,
	'«': `"`, '»': `"`, '‐': "-", '‑': "-", '‒': "-", '–': "-", '—': "-", '⁄': "/", '⁓': "~", '⁎': "*", '‸': "^",
	'‼': "!!", '⁇': "??", '⁈': "?!", '⁉': "!?", '⁏': ";", '‖': "|",
}
