package analysis

import (
	"unicode"
	"unicode/utf8"
)

// bigramFilter makes bigrams of adjacent Han, Hiragana, Katakana and Hangul characters, as Lucene's
// CJKBigramFilter: 北京大 becomes 北京, 京大. A character without neighbours stays. Other words stay.
type bigramFilter struct {
	ignored  []*unicode.RangeTable
	unigrams bool

	run         []character // adjacent ones
	first, last int         // positions of the run's words
	shift       int         // of later positions
}

type character struct {
	term       []byte
	start, end int
}

var _ rewriter = (*bigramFilter)(nil)

var bigramScripts = map[string]*unicode.RangeTable{
	"han": unicode.Han, "hiragana": unicode.Hiragana, "katakana": unicode.Katakana, "hangul": unicode.Hangul,
}

func newBigrams(p *parameters) filterMaker {
	names, _ := p.list("ignored_scripts")
	var ignored []*unicode.RangeTable
	for _, name := range names {
		script := bigramScripts[name]
		if script == nil {
			p.fail("parameter [ignored_scripts] has [%s], there are [hangul, han, hiragana, katakana]", name)
			continue
		}
		ignored = append(ignored, script)
	}
	unigrams := p.boolean("output_unigrams", false)
	return fresh(func() filter { return &bigramFilter{ignored: ignored, unigrams: unigrams} })
}

func (f *bigramFilter) pairs(r rune) bool {
	if r < 0x1100 || r == 0x30fb {
		return false
	}
	// The prolonged sound mark has no script.
	return (r == 'ー' || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul)) && !unicode.In(r, f.ignored...)
}

func (f *bigramFilter) rewrite(dst, words []word, m *memory) []word {
	f.run, f.shift = f.run[:0], 0
	for _, w := range words {
		if !f.pairsAll(w.term) {
			dst = f.endRun(dst, m)
			w.position += f.shift
			dst = append(dst, w)
			continue
		}
		if n := len(f.run); n > 0 && f.run[n-1].end != w.start {
			dst = f.endRun(dst, m)
		}
		if len(f.run) == 0 {
			f.first = w.position
		}
		f.last = w.position
		f.add(w)
	}
	return f.endRun(dst, m)
}

func (f *bigramFilter) pairsAll(term []byte) bool {
	for i := 0; i < len(term); {
		r, size := utf8.DecodeRune(term[i:])
		if !f.pairs(r) && (i == 0 || !unicode.IsMark(r)) {
			return false
		}
		i += size
	}
	return true
}

// add adds a word's characters to the run, each with its marks.
func (f *bigramFilter) add(w word) {
	exact := w.end-w.start == len(w.term)
	for i := 0; i < len(w.term); {
		from := i
		_, size := utf8.DecodeRune(w.term[i:])
		for i += size; i < len(w.term); i += size {
			var r rune
			if r, size = utf8.DecodeRune(w.term[i:]); !unicode.IsMark(r) {
				break
			}
		}
		c := character{term: w.term[from:i:i], start: w.start, end: w.end}
		if exact {
			c.start, c.end = w.start+from, w.start+i
		}
		f.run = append(f.run, c)
	}
}

func (f *bigramFilter) endRun(dst []word, m *memory) []word {
	n := len(f.run)
	if n == 0 {
		return dst
	}
	position := f.first + f.shift
	out := max(n-1, 1)
	if f.unigrams {
		out = n
	}
	for i, c := range f.run {
		if f.unigrams || n == 1 {
			dst = append(dst, word{term: c.term, start: c.start, end: c.end, position: position + i, length: 1})
		}
		if i+1 < n {
			next := f.run[i+1]
			from := len(m.buffer)
			m.buffer = append(append(m.buffer, c.term...), next.term...)
			w := word{term: m.grown(from), start: c.start, end: next.end, position: position + i, length: 1}
			if f.unigrams {
				w.length = 2
			}
			dst = append(dst, w)
		}
	}
	f.shift += out - (f.last - f.first + 1)
	f.run = f.run[:0]
	return dst
}
