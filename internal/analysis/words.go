package analysis

import "slices"

// A termMaker is the part of a chain after segmentation.
type termMaker interface {
	// appendTerm appends nothing for a stop word. The word is valid UTF-8, at most windowBytes
	// long and not changed. The result depends on it alone.
	appendTerm(dst, word []byte) []byte
}

// A chain that begins with UAX #29 words.
type wordAnalyzer struct {
	name  string
	words segmenter
	terms termCache
	keys  [wordsAhead]wordKey
}

// wordsAhead is how many words are cut before they are looked up, so that the processor fetches their slots at the
// same time.
const wordsAhead = 32

var _ Analyzer = (*wordAnalyzer)(nil)

// With foldASCII the maker gets words with A to Z in lower case, and must not depend on their
// case.
func newWordAnalyzer(name string, foldASCII bool, maker termMaker) *wordAnalyzer {
	return &wordAnalyzer{name: name, terms: newTermCache(foldASCII, maker)}
}

func (a *wordAnalyzer) Name() string { return a.name }

func (a *wordAnalyzer) Tokens(dst []Token, text []byte) []Token {
	text = clip(text)
	a.words.reset(text)
	a.terms.begin()
	first, epoch := len(dst), a.terms.epoch
	position := uint32(0)
	for more := true; more; {
		n := a.words.keys(a.keys[:], a.terms.foldASCII)
		more = n == len(a.keys)
		a.terms.touch(a.keys[:n])
		dst = slices.Grow(dst, n)
		free, kept := dst[len(dst):len(dst)+n], 0
		for i := range a.keys[:n] {
			k := &a.keys[i]
			term, word := a.terms.lookup(text, k)
			t := &free[kept]
			t.Term, t.Start, t.End, t.Position, t.Word = term, k.start, k.end, position+uint32(i), word
			if len(term) > 0 { // without a branch, which nothing could predict
				kept++
			}
		}
		dst = dst[:len(dst)+kept]
		position += uint32(n)
	}
	a.words.reset(nil)
	if a.terms.epoch != epoch { // the cache has grown
		for i := range dst[first:] {
			dst[first+i].Word = 0
		}
	}
	return dst
}
