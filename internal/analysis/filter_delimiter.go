package analysis

import (
	"bytes"
	"unicode"
	"unicode/utf8"
)

// delimiterFilter cuts words at characters that are neither letters nor digits and, as chosen, where case
// changes and between letters and digits, as Lucene's WordDelimiterGraphFilter: Wi-Fi becomes Wi, Fi.
// Runs of parts can be joined, and the word can be kept; these take the positions of their parts.
//
// We differ: a part of letters and digits, without split_on_numerics, is what its first character is.
type delimiterFilter struct {
	delimiterOptions
	parts []delimiterPart
	out   []word // of one word
}

type delimiterOptions struct {
	wordParts, numberParts                    bool
	joinWords, joinNumbers, joinAll           bool
	keep, splitCase, splitNumbers, possessive bool
	protected                                 wordSet
	types                                     map[rune]characterKind
}

// characterKind is a set of bits.
type characterKind uint8

const (
	lowerKind characterKind = 1 << iota
	upperKind
	digitKind
	alphaKind = lowerKind | upperKind
	alnumKind = alphaKind | digitKind
)

type delimiterPart struct {
	start, end int
	digits     bool
}

var _ rewriter = (*delimiterFilter)(nil)

func newDelimiter(p *parameters) filterMaker {
	p.embed("protected_words", "type_table")
	o := delimiterOptions{
		wordParts: p.boolean("generate_word_parts", true), numberParts: p.boolean("generate_number_parts", true),
		joinWords: p.boolean("catenate_words", false), joinNumbers: p.boolean("catenate_numbers", false),
		joinAll: p.boolean("catenate_all", false), keep: p.boolean("preserve_original", false),
		splitCase: p.boolean("split_on_case_change", true), splitNumbers: p.boolean("split_on_numerics", true),
		possessive: p.boolean("stem_english_possessive", true),
	}
	p.boolean("adjust_offsets", true) // parts have offsets of their own if their word's term is its text
	p.boolean("ignore_keywords", false)
	list, _ := p.lines("protected_words")
	o.protected = newWordSet(list, false /* fold */)
	o.types = kindTable(p)
	return fresh(func() filter { return &delimiterFilter{delimiterOptions: o} })
}

// kindTable reads rules such as "# => ALPHANUM".
func kindTable(p *parameters) map[rune]characterKind {
	kinds := map[string]characterKind{
		"LOWER": lowerKind, "UPPER": upperKind, "ALPHA": alphaKind, "DIGIT": digitKind, "ALPHANUM": alnumKind, "SUBWORD_DELIM": 0,
	}
	rules, given := p.lines("type_table")
	if !given {
		return nil
	}
	table := map[rune]characterKind{}
	for _, rule := range rules {
		from, to, ok := bytes.Cut([]byte(rule), []byte("=>"))
		text, valid := unescape(string(bytes.TrimSpace(from)))
		kind, known := kinds[string(bytes.TrimSpace(to))]
		if !ok || !valid || !known || utf8.RuneCountInString(text) != 1 {
			p.fail("parameter [type_table] has [%s], want a character, => and one of [LOWER, UPPER, ALPHA, DIGIT, ALPHANUM, SUBWORD_DELIM]", rule)
			return nil
		}
		r, _ := utf8.DecodeRuneInString(text)
		table[r] = kind
	}
	return table
}

func (f *delimiterFilter) kind(r rune) characterKind {
	if k, ok := f.types[r]; ok {
		return k
	}
	switch {
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upperKind
	case unicode.IsLower(r):
		return lowerKind
	case unicode.IsLetter(r), unicode.IsMark(r):
		return alphaKind
	case unicode.IsDigit(r):
		return digitKind
	}
	return 0
}

func (f *delimiterFilter) rewrite(dst, words []word, m *memory) []word {
	shift := 0
	for _, w := range words {
		w.position += shift
		f.split(w.term)
		whole := len(f.parts) == 1 && f.parts[0].start == 0 && f.parts[0].end == len(w.term)
		if whole || f.protected.has(w.term) {
			dst = append(dst, w)
			continue
		}
		var positions int
		if dst, positions = f.expand(dst, w, m); positions > 1 {
			shift += positions - 1
		}
	}
	return dst
}

// split fills f.parts.
func (f *delimiterFilter) split(term []byte) {
	f.parts = f.parts[:0]
	start := -1
	var first, last characterKind
	end := func(i int) {
		if start >= 0 {
			f.parts = append(f.parts, delimiterPart{start: start, end: i, digits: first == digitKind})
			start = -1
		}
	}
	for i := 0; i < len(term); {
		r, size := utf8.DecodeRune(term[i:])
		k := f.kind(r)
		switch {
		case k == 0:
			if end(i); f.possessive && i > 0 && f.endsPossessive(term, i) {
				size = len("'s")
			}
		case start >= 0 && f.cuts(last, k):
			end(i)
			start, first = i, k
		case start < 0:
			start, first = i, k
		}
		last = k
		i += size
	}
	end(len(term))
}

// endsPossessive reports whether 's stands at i, after a letter and before another part.
func (f *delimiterFilter) endsPossessive(term []byte, i int) bool {
	if term[i] != '\'' || i+1 == len(term) || term[i+1]|0x20 != 's' {
		return false
	}
	before, _ := utf8.DecodeLastRune(term[:i])
	after, size := utf8.DecodeRune(term[i+2:])
	return f.kind(before)&alphaKind != 0 && (size == 0 || f.kind(after) == 0)
}

// cuts reports whether a part ends between two kinds of characters.
func (f *delimiterFilter) cuts(a, b characterKind) bool {
	switch {
	case a&b != 0:
		return false
	case a&alphaKind != 0 && b&alphaKind != 0:
		return f.splitCase && a == lowerKind // aB, not Ab
	}
	return f.splitNumbers
}

// expand appends what becomes of a word, and returns the number of its positions.
func (f *delimiterFilter) expand(dst []word, w word, m *memory) (words []word, positions int) {
	f.out = f.out[:0]
	exact := w.end-w.start == len(w.term)
	add := func(term []byte, from, to, position, length int) {
		o := word{term: term, start: w.start, end: w.end, position: w.position + position, length: length, keyword: w.keyword}
		if exact {
			o.start, o.end = w.start+from, w.start+to
		}
		f.out = append(f.out, o)
	}
	emits := func(p delimiterPart) bool { return p.digits && f.numberParts || !p.digits && f.wordParts }
	// Positions are of parts that are words. Without such parts, a joined word takes one.
	for i := 0; i < len(f.parts); {
		j := i
		first, joined := positions, len(m.buffer)
		for j < len(f.parts) && f.parts[j].digits == f.parts[i].digits {
			p := f.parts[j]
			m.buffer = append(m.buffer, w.term[p.start:p.end]...)
			if emits(p) {
				add(w.term[p.start:p.end:p.end], p.start, p.end, positions, 1)
				positions++
			}
			j++
		}
		if join := f.parts[i].digits && f.joinNumbers || !f.parts[i].digits && f.joinWords; join && (j-i > 1 || positions == first) {
			length := max(positions-first, 1)
			add(m.grown(joined), f.parts[i].start, f.parts[j-1].end, first, length)
			positions = first + length
		}
		i = j
	}
	whole := max(positions, 1)
	if n := len(f.parts); f.joinAll && n > 0 {
		from := len(m.buffer)
		for _, p := range f.parts {
			m.buffer = append(m.buffer, w.term[p.start:p.end]...)
		}
		add(m.grown(from), f.parts[0].start, f.parts[n-1].end, 0, whole)
		positions = whole
	}
	if f.keep {
		add(w.term, 0, len(w.term), 0, whole)
		positions = whole
	}
	return appendByPosition(dst, f.out), positions
}

// appendByPosition sorts words by position, longer ones first, and appends them.
func appendByPosition(dst, words []word) []word {
	first := len(dst)
	for _, w := range words {
		i := len(dst)
		for i > first && (dst[i-1].position > w.position || dst[i-1].position == w.position && dst[i-1].length < w.length) {
			i--
		}
		dst = append(dst, word{})
		copy(dst[i+1:], dst[i:])
		dst[i] = w
	}
	return dst
}
