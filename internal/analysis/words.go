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
}

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
	for position := uint32(0); ; position++ {
		start, end, ok := a.words.next()
		if !ok {
			a.words.reset(nil)
			if a.terms.epoch != epoch { // the cache has grown
				for i := range dst[first:] {
					dst[first+i].Word = 0
				}
			}
			return dst
		}
		if term, word := a.terms.lookup(text, start, end); len(term) > 0 {
			dst = append(dst, Token{Term: term, Start: int32(start), End: int32(end), Position: position, Word: word})
		}
	}
}
