package snippet

import (
	"math"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/analysis"
)

// Fragment is a passage of a text.
type Fragment struct {
	// Text is valid UTF-8 on one line: white space is collapsed, control characters are
	// blanks, and bytes that are not UTF-8 are U+FFFD.
	Text string
	// Highlights are the words of the query in Text, in order, non-empty and
	// non-overlapping.
	Highlights []Range
	// CutBefore and CutAfter report that a sentence is truncated at that end of Text.
	CutBefore bool
	CutAfter  bool
}

// Range is a byte range of a text, from Start to End, exclusive.
type Range struct {
	Start int
	End   int
}

// Query describes the search.
type Query struct {
	Terms []Term
	// Phrases are terms that count more if they are adjacent in this order. Terms that are
	// not in Terms are added with weight 1.
	Phrases [][]string
}

// Term is a term of the index, as produced by the analyzer.
type Term struct {
	Text string
	// Weight is the importance of the term, for example its idf; 1 if not positive and
	// finite.
	Weight float64
}

// Options limit the fragments and the work. Zero values mean the defaults.
type Options struct {
	// MaxChars is the length of a fragment in characters. A longer match is shown whole.
	// Default 220.
	MaxChars int
	// MaxFragments is the maximum number of fragments. Default 1.
	MaxFragments int
	// MaxScanBytes is the maximum number of bytes of a text that are read. Reading stops
	// earlier, soon after the piece of 16 KiB in which the last unseen term occurs. Default
	// 512 KiB.
	MaxScanBytes int
}

const (
	defaultMaxChars     = 220
	defaultMaxFragments = 1
	defaultMaxScanBytes = 512 << 10
	pieceBytes          = 16 << 10
)

// A Maker makes the snippets of one query.
type Maker struct {
	analyzer analysis.Analyzer
	options  Options
	terms    map[string]int // index into weights, by term
	weights  []float64
	phrases  [][]int // of terms, each of two or more

	// Buffers of one call of Make.
	text    normalizer
	tokens  []analysis.Token
	matches []match
	links   []float64
	counts  []int
}

// match is a query term in the cleaned text.
type match struct {
	start, end int // bytes
	char       int // characters before start
	chars      int // length in characters
	position   int // of the word
	term       int
}

// New returns a Maker for a query. The analyzer must be the index's.
func New(analyzer analysis.Analyzer, query Query, options Options) *Maker {
	if options.MaxChars <= 0 {
		options.MaxChars = defaultMaxChars
	}
	if options.MaxFragments <= 0 {
		options.MaxFragments = defaultMaxFragments
	}
	if options.MaxScanBytes <= 0 {
		options.MaxScanBytes = defaultMaxScanBytes
	}
	m := &Maker{analyzer: analyzer, options: options, terms: map[string]int{}}
	for _, term := range query.Terms {
		m.addTerm(term.Text, term.Weight)
	}
	for _, phrase := range query.Phrases {
		terms := make([]int, len(phrase))
		for i, text := range phrase {
			terms[i] = m.addTerm(text, 0)
		}
		if len(terms) > 1 {
			m.phrases = append(m.phrases, terms)
		}
	}
	m.counts = make([]int, len(m.weights))
	return m
}

// addTerm returns the index of a term. Its weight is the maximum over all calls.
func (m *Maker) addTerm(text string, weight float64) int {
	if !(weight > 0) || math.IsInf(weight, 0) {
		weight = 1
	}
	i, known := m.terms[text]
	switch {
	case !known:
		i = len(m.weights)
		m.terms[strings.Clone(text)] = i
		m.weights = append(m.weights, weight)
	case weight > m.weights[i]:
		m.weights[i] = weight
	}
	return i
}

// Make returns the best fragments of text in text order: at most MaxFragments, each with at
// least one term; or the beginning of the text if the part read contains no term; or
// nothing if text is blank. The result does not depend on earlier calls.
func (m *Maker) Make(text string) []Fragment {
	scanned := m.scan(text)
	clean := m.text.bytes()
	if len(clean) == 0 {
		return nil
	}
	cutter := cutter{text: clean, maxChars: m.options.MaxChars, more: scanned < len(text)}
	var passages []passage
	for _, w := range m.bestWindows() {
		first, last := m.matches[w.first], m.matches[w.last]
		passages = append(passages, cutter.widen(first.start, last.end))
	}
	if len(passages) == 0 {
		passages = append(passages, cutter.widen(0, 0))
	}
	slices.SortFunc(passages, func(a, b passage) int { return a.start - b.start })
	passages = separate(passages)
	fragments := make([]Fragment, len(passages))
	for i, p := range passages {
		fragments[i] = m.fragment(p)
	}
	return fragments
}

// scan cleans and analyses text until every term has been seen, plus some text for its
// passage, or until MaxScanBytes are read. It fills m.text and m.matches and returns the
// number of bytes read.
func (m *Maker) scan(text string) (scanned int) {
	m.text.reset()
	m.matches = m.matches[:0]
	clear(m.counts)
	limit := len(text)
	if limit > m.options.MaxScanBytes {
		limit = cutText(text, 0, m.options.MaxScanBytes)
	}
	missing, position := len(m.weights), 0
	for scanned < limit {
		end := limit
		if limit-scanned > pieceBytes {
			end = cutText(text, scanned, scanned+pieceBytes)
		}
		offset := len(m.text.clean)
		m.text.add(text[scanned:end])
		scanned = end
		found, numWords := m.addMatches(offset, position)
		position += numWords
		if found > 0 && found == missing {
			if ahead := 4 * m.options.MaxChars; limit-scanned > ahead {
				limit = cutText(text, scanned, scanned+ahead)
			}
		}
		missing -= found
	}
	return scanned
}

// addMatches analyses m.text.clean[offset:], whose words count from position, and appends
// its matches. It returns the number of newly seen terms and the number of words.
func (m *Maker) addMatches(offset, position int) (found, numWords int) {
	clean := m.text.clean
	m.tokens = m.analyzer.Tokens(m.tokens[:0], clean[offset:])
	char, charAt := 0, 0
	if n := len(m.matches); n > 0 {
		char, charAt = m.matches[n-1].char, m.matches[n-1].start
	}
	for _, token := range m.tokens {
		term, ok := m.terms[string(token.Term)]
		if !ok {
			continue
		}
		start, end := offset+int(token.Start), offset+int(token.End)
		char += countChars(clean[charAt:start])
		charAt = start
		m.matches = append(m.matches, match{
			start: start, end: end, char: char, chars: countChars(clean[start:end]),
			position: position + int(token.Position), term: term,
		})
		if m.counts[term]++; m.counts[term] == 1 {
			found++
		}
	}
	if n := len(m.tokens); n > 0 {
		numWords = int(m.tokens[n-1].Position) + 1
	}
	return found, numWords
}

func (m *Maker) fragment(p passage) Fragment {
	f := Fragment{Text: m.text.line(p.start, p.end), CutBefore: p.cutBefore, CutAfter: p.cutAfter}
	i, _ := slices.BinarySearchFunc(m.matches, p.start, func(match match, start int) int { return match.start - start })
	for ; i < len(m.matches) && m.matches[i].end <= p.end; i++ {
		f.Highlights = append(f.Highlights, Range{m.matches[i].start - p.start, m.matches[i].end - p.start})
	}
	return f
}
