package analysis

// Starts is a set of terms by their first two bytes, so that most words of a text that have other terms are found
// without an analysis. The zero value is empty.
type Starts struct {
	set [1 << 16 / 64]uint64
}

// Add adds a term.
func (s *Starts) Add(term string) {
	switch len(term) {
	case 0:
	case 1:
		first := startOf(term[0], 0)
		for second := range uint16(1 << 8) {
			s.add(first | second<<8)
		}
	default:
		s.add(startOf(term[0], term[1]))
	}
}

func (s *Starts) add(start uint16) { s.set[start/64] |= 1 << (start % 64) }

// has takes the first two bytes of a word, 0 if there is no second one.
func (s *Starts) has(first, second byte) bool {
	start := startOf(first, second)
	return s.set[start/64]>>(start%64)&1 != 0
}

// startOf is equal for what keepsStart says that an analyzer keeps.
func startOf(first, second byte) uint16 {
	if second = lowerASCII(second); second == 'y' {
		second = 'i'
	}
	return uint16(lowerASCII(first)) | uint16(second)<<8
}

func lowerASCII(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// startKeeper is a part of a chain that may keep the starts of words: if a word is ASCII, it has no term, or its term
// begins with the word's first two bytes, or is the first one alone. Case does not count, nor y instead of i as the
// second letter, which stemmers exchange.
type startKeeper interface{ keepsStart() bool }

func keepsStart(part any) bool {
	k, ok := part.(startKeeper)
	return ok && k.keepsStart()
}

// Find is Tokens of the analyzer without tokens whose terms are not in the set. Some of these may be left. numWords is
// the number of words, from which the positions of a text that goes on count.
func (s *Starts) Find(a Analyzer, dst []Token, text []byte) (tokens []Token, numWords int) {
	if w, ok := a.(*wordAnalyzer); ok && keepsStart(w.terms.maker) {
		return w.find(dst, text, s)
	}
	return All(a, dst, text)
}

// All is Find of all terms.
func All(a Analyzer, dst []Token, text []byte) (tokens []Token, numWords int) {
	first := len(dst)
	dst = a.Tokens(dst, text)
	if n := len(dst); n > first {
		numWords = int(dst[n-1].Position) + 1
	}
	return dst, numWords
}

// find returns tokens without Word.
func (a *wordAnalyzer) find(dst []Token, text []byte, starts *Starts) (tokens []Token, numWords int) {
	const high = 0x8080808080808080
	text = clip(text)
	a.words.reset(text)
	a.terms.begin()
	for more := true; more; {
		n := a.words.keys(a.keys[:], a.terms.foldASCII)
		more = n == len(a.keys)
		for i := range a.keys[:n] {
			k := &a.keys[i]
			// lo is 0 for a long word.
			if k.lo != 0 && (k.lo|k.hi)&high == 0 && !starts.has(byte(k.lo), byte(k.lo>>8)) {
				continue
			}
			if term, _ := a.terms.lookup(text, k); len(term) > 0 {
				dst = append(dst, Token{Term: term, Start: k.start, End: k.end, Position: uint32(numWords + i)})
			}
		}
		numWords += n
	}
	a.words.reset(nil)
	return dst, numWords
}
