package analysis

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

func newTokenizer(p *parameters) func() tokenizer {
	switch kind := p.text("type", p.name); kind {
	case "standard":
		most := p.number("max_token_length", maxWordUnits, 1, maxWordUnits)
		return func() tokenizer { return &standardTokenizer{most: most} }
	case "uax_url_email":
		most := p.number("max_token_length", maxWordUnits, 1, maxWordUnits)
		return func() tokenizer { return &addressTokenizer{words: standardTokenizer{most: most}} }
	case "whitespace":
		most := p.number("max_token_length", maxWordUnits, 1, maxTermBytes)
		return func() tokenizer { return runTokenizer{inRun: notSpace, most: most} }
	case "letter":
		return func() tokenizer { return runTokenizer{inRun: unicode.IsLetter, most: maxWordUnits} }
	case "lowercase":
		return func() tokenizer { return runTokenizer{inRun: unicode.IsLetter, most: maxWordUnits, lower: true} }
	case "keyword":
		p.number("buffer_size", 256, 1, maxTermBytes) // has no effect on the result
		return func() tokenizer { return keywordTokenizer{} }
	case "pattern":
		return newPatternTokenizer(p)
	case "ngram":
		return newGramTokenizer(p, false /* edge */)
	case "edge_ngram":
		return newGramTokenizer(p, true /* edge */)
	case "path_hierarchy":
		return newPathTokenizer(p)
	case "code":
		return func() tokenizer { return new(codeTokenizer) }
	default:
		p.fail("there is no tokenizer of type [%s], there are [%s]", kind, strings.Join(tokenizerTypes, ", "))
		return nil
	}
}

// tokenizerTypes are sorted. Each is the name of a tokenizer with default parameters.
var tokenizerTypes = []string{
	"code", "edge_ngram", "keyword", "letter", "lowercase", "ngram", "path_hierarchy", "pattern", "standard",
	"uax_url_email", "whitespace",
}

// maxTermBytes is the length of a dictionary's longest term.
const maxTermBytes = 1 << 15

// standardTokenizer cuts words by UAX #29.
type standardTokenizer struct {
	words segmenter
	most  int // UTF-16 units of a word; the rest is another word
}

var _ tokenizer = (*standardTokenizer)(nil)

func (t *standardTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	return t.tokenizeFrom(dst, text, 0, 0)
}

// tokenizeFrom adds offset to offsets and position to positions.
func (t *standardTokenizer) tokenizeFrom(dst []word, text []byte, offset, position int) []word {
	t.words.reset(text)
	defer t.words.reset(nil)
	for {
		start, end, ok := t.words.next()
		if !ok {
			return dst
		}
		for start < end {
			cut := end
			if t.most < maxWordUnits {
				cut = start + prefixOf(text[start:end], t.most)
			}
			dst = append(dst, word{term: text[start:cut:cut], start: offset + start, end: offset + cut, position: position, length: 1})
			start = cut
			position++
		}
	}
}

// prefixOf is the length of the characters of at most n UTF-16 units, one at least.
func prefixOf(s []byte, n int) int {
	units := 0
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRune(s[i:])
		if units += utf16.RuneLen(r); units > n && i > 0 {
			return i
		}
		i += size
	}
	return len(s)
}

func notSpace(r rune) bool { return !unicode.IsSpace(r) }

// runTokenizer makes words of maximal runs of characters.
type runTokenizer struct {
	inRun func(rune) bool
	most  int // characters of a word; the rest is another word
	lower bool
}

var _ tokenizer = runTokenizer{}

func (t runTokenizer) tokenize(dst []word, text []byte, m *memory) []word {
	start, characters, position := -1, 0, 0
	end := func(i int) {
		if start < 0 {
			return
		}
		term := text[start:i:i]
		if t.lower {
			from := len(m.buffer)
			m.buffer = appendLower(m.buffer, term)
			term = m.grown(from)
		}
		dst = append(dst, word{term: term, start: start, end: i, position: position, length: 1})
		position++
		start = -1
	}
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		switch {
		case !t.inRun(r):
			end(i)
		case start >= 0 && characters < t.most:
			characters++
		default:
			end(i)
			start, characters = i, 1
		}
		i += size
	}
	end(len(text))
	return dst
}

// keywordTokenizer makes one word of the text.
type keywordTokenizer struct{}

var _ tokenizer = keywordTokenizer{}

func (keywordTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	if len(text) == 0 {
		return dst
	}
	return append(dst, word{term: text[:len(text):len(text)], end: len(text), length: 1})
}

// addressTokenizer keeps URLs with a scheme and addresses of mail as one word, and cuts the rest as
// standardTokenizer does.
//
// We differ from Lucene's UAX29URLEmailTokenizer: a host without a scheme is not a URL, since that
// depends on a list of top-level domains.
type addressTokenizer struct{ words standardTokenizer }

var _ tokenizer = (*addressTokenizer)(nil)

var addressPattern = regexp.MustCompile(`(?i)\b(?:https?|ftps?|sftp|ssh|file)://[^\s<>"'(){}|\\^\x60\[\]]*[^\s<>"'(){}|\\^\x60\[\].,;:!?]` +
	`|\b[a-z0-9][a-z0-9._%+-]*@(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,63}\b`)

func (t *addressTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	position, done := 0, 0
	rest := func(end int) {
		dst = t.words.tokenizeFrom(dst, text[done:end], done, position)
		if n := len(dst); n > 0 {
			position = dst[n-1].position + 1
		}
	}
	for done < len(text) {
		at := addressPattern.FindIndex(text[done:])
		if at == nil {
			break
		}
		start, end := done+at[0], done+at[1]
		if end-start > maxTermBytes {
			end = start + prefixOf(text[start:end], maxTermBytes)
		}
		rest(start)
		dst = append(dst, word{term: text[start:end:end], start: start, end: end, position: position, length: 1})
		position++
		done = end
	}
	rest(len(text))
	return dst
}
