package analysis

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of n-grams, which multiply the tokens of a text.
const (
	maxGram     = 255
	maxGramDiff = 16 // OpenSearch's index.max_ngram_diff is 1
)

// grams reads the lengths of n-grams.
func grams(p *parameters, edge bool) (least, most int) {
	least = p.number("min_gram", 1, 1, maxGram)
	most = p.number("max_gram", max(2, least), 1, maxGram)
	switch {
	case least > most:
		p.fail("[min_gram] is %d, more than [max_gram], %d", least, most)
	case !edge && most-least > maxGramDiff:
		p.fail("[max_gram] is %d and [min_gram] is %d: the difference is at most %d", most, least, maxGramDiff)
	}
	return least, most
}

// gramTokenizer makes n-grams of characters of each run of some classes of characters.
type gramTokenizer struct {
	least, most int
	edge        bool // only those at the start of a run
	inRun       func(rune) bool
	starts      []int // of characters of a run, with its end
}

var _ tokenizer = (*gramTokenizer)(nil)

var characterClasses = map[string]func(rune) bool{
	"letter":      unicode.IsLetter,
	"digit":       unicode.IsDigit,
	"whitespace":  unicode.IsSpace,
	"punctuation": unicode.IsPunct,
	"symbol":      unicode.IsSymbol,
}

func newGramTokenizer(p *parameters, edge bool) func() tokenizer {
	least, most := grams(p, edge)
	names, _ := p.list("token_chars")
	custom := p.text("custom_token_chars", "")
	var classes []func(rune) bool
	for _, name := range names {
		switch class := characterClasses[name]; {
		case class != nil:
			classes = append(classes, class)
		case name == "custom" && custom != "":
			classes = append(classes, func(r rune) bool { return strings.ContainsRune(custom, r) })
		case name == "custom":
			p.fail("parameter [custom_token_chars] is missing")
		default:
			p.fail("parameter [token_chars] has [%s], there are [custom, digit, letter, punctuation, symbol, whitespace]", name)
		}
	}
	if custom != "" && !slices.Contains(names, "custom") {
		p.fail("parameter [token_chars] lacks [custom], which [custom_token_chars] needs")
	}
	inRun := func(r rune) bool {
		return len(classes) == 0 || slices.ContainsFunc(classes, func(class func(rune) bool) bool { return class(r) })
	}
	return func() tokenizer { return &gramTokenizer{least: least, most: most, edge: edge, inRun: inRun} }
}

func (t *gramTokenizer) tokenize(dst []word, text []byte, _ *memory) []word {
	position := 0
	t.starts = t.starts[:0]
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRune(text[i:])
		if t.inRun(r) {
			t.starts = append(t.starts, i)
		} else {
			dst, position = t.endRun(dst, text, i, position)
		}
		i += size
	}
	dst, _ = t.endRun(dst, text, len(text), position)
	return dst
}

func (t *gramTokenizer) endRun(dst []word, text []byte, end, position int) (words []word, next int) {
	runes := len(t.starts)
	t.starts = append(t.starts, end)
	for i := range runes {
		for n := t.least; n <= t.most && i+n <= runes; n++ {
			from, to := t.starts[i], t.starts[i+n]
			dst = append(dst, word{term: text[from:to:to], start: from, end: to, position: position, length: 1})
			position++
		}
		if t.edge {
			break
		}
	}
	t.starts = t.starts[:0]
	return dst, position
}
