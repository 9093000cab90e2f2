package analysis

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
		for i := range a.keys[:n] {
			k := &a.keys[i]
			if term, word := a.terms.lookup(text, k); len(term) > 0 {
				dst = append(dst, Token{Term: term, Start: k.start, End: k.end, Position: position, Word: word})
			}
			position++
		}
	}
	a.words.reset(nil)
	if a.terms.epoch != epoch { // the cache has grown
		for i := range dst[first:] {
			dst[first+i].Word = 0
		}
	}
	return dst
}
