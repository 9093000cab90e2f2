package snippet

import (
	"math"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
)

// Fragment is a passage of a text.
type Fragment struct {
	// Text is one line of UTF-8: white space is collapsed, control characters are blanks,
	// invalid bytes are U+FFFD.
	Text string
	// Highlights are the query's words in Text, in order, non-empty and non-overlapping.
	Highlights []Range
	// CutBefore and CutAfter report a truncated sentence at that end.
	CutBefore bool
	CutAfter  bool
}

// Range is bytes Start to End, exclusive.
type Range struct {
	Start int
	End   int
}

// Query describes the search.
type Query struct {
	Terms []Term
	// Phrases are terms that count more if adjacent in this order; missing ones join Terms with
	// weight 1.
	Phrases [][]string
	// Patterns stand for further terms, of weight 1.
	Patterns []func(term string) bool
}

// Term is the analyzer's.
type Term struct {
	Text string
	// Weight is the term's importance, for example its idf; 1 if not positive and finite.
	Weight float64
}

// Options limit fragments and work; zero means the default.
type Options struct {
	// MaxChars is a fragment's length in characters; a longer match is shown whole. Default
	// 220.
	MaxChars int
	// MaxFragments defaults to 1.
	MaxFragments int
	// MaxScanBytes bounds the text read, default 512 KiB. Reading stops earlier, after a piece of 16 KiB, when every
	// term has occurred and the text has enough matches for MaxFragments fragments.
	MaxScanBytes int
}

const (
	defaultMaxChars     = 220
	defaultMaxFragments = 1
	defaultMaxScanBytes = 512 << 10
	pieceBytes          = 16 << 10
)

// A Maker makes one query's snippets.
type Maker struct {
	analyzer analysis.Analyzer
	options  Options
	terms    map[string]int  // index into weights, by term
	starts   analysis.Starts // of terms
	weights  []float64
	phrases  [][]int // of terms, each of two or more
	patterns []func(string) bool
	others   map[string]int // terms of patterns, and -1 for those of none

	// Buffers of one call of Make.
	text    normalizer
	tokens  []analysis.Token
	matches []match
	links   []float64
	counts  []int
}

// A query term in the cleaned text.
type match struct {
	start, end int // bytes
	char       int // characters before start
	chars      int // length in characters
	position   int // of the word
	term       int
}

// New returns a Maker. The analyzer must be the index's.
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
	m.patterns = query.Patterns
	for range m.patterns { // after the terms
		m.weights = append(m.weights, 1)
	}
	m.counts = make([]int, len(m.weights))
	return m
}

// find returns the number of a term; false if the query does not seek it.
func (m *Maker) find(term []byte) (int, bool) {
	if i, ok := m.terms[string(term)]; ok || len(m.patterns) == 0 {
		return i, ok
	}
	if i, ok := m.others[string(term)]; ok {
		return i, i >= 0
	}
	if m.others == nil || len(m.others) >= maxOthers {
		m.others = map[string]int{}
	}
	text, found := string(term), -1
	if i := slices.IndexFunc(m.patterns, func(match func(string) bool) bool { return match(text) }); i >= 0 {
		found = len(m.weights) - len(m.patterns) + i
	}
	m.others[text] = found
	return found, found >= 0
}

// maxOthers bounds the words for which the answer of patterns is kept.
const maxOthers = 1 << 14

// A term's weight is the maximum over all calls.
func (m *Maker) addTerm(text string, weight float64) int {
	if !(weight > 0) || math.IsInf(weight, 0) {
		weight = 1
	}
	i, known := m.terms[text]
	switch {
	case !known:
		i = len(m.weights)
		m.terms[strings.Clone(text)] = i
		m.starts.Add(text)
		m.weights = append(m.weights, weight)
	case weight > m.weights[i]:
		m.weights[i] = weight
	}
	return i
}

// Make returns the best fragments in text order: at most MaxFragments, each with a term; the
// text's beginning if there is none; nothing for blank text. Earlier calls have no effect.
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
	base.Sort(passages, func(a, b passage) int { return a.start - b.start })
	passages = separate(passages)
	fragments := make([]Fragment, len(passages))
	for i, p := range passages {
		fragments[i] = m.fragment(p)
	}
	return fragments
}

// scan cleans and analyses text, up to MaxScanBytes, until there are matches for every fragment and term, plus some
// text for its passage. It fills m.text and m.matches and returns the bytes read.
func (m *Maker) scan(text string) (scanned int) {
	m.text.reset()
	m.matches = m.matches[:0]
	clear(m.counts)
	limit := len(text)
	if limit > m.options.MaxScanBytes {
		limit = cutText(text, 0, m.options.MaxScanBytes)
	}
	missing, position := len(m.weights), 0
	apart, next := 0, 0 // matches MaxChars apart, and the first character for another one
	for scanned < limit {
		end := limit
		if limit-scanned > pieceBytes {
			end = cutText(text, scanned, scanned+pieceBytes)
		}
		offset := len(m.text.clean)
		m.text.add(text[scanned:end])
		scanned = end
		before := len(m.matches)
		found, numWords := m.addMatches(offset, position)
		position += numWords
		for _, match := range m.matches[before:] {
			if match.char >= next {
				apart, next = apart+1, match.char+match.chars+m.options.MaxChars
			}
		}
		if found == missing && apart >= m.options.MaxFragments && len(m.matches) > before {
			if ahead := 4 * m.options.MaxChars; limit-scanned > ahead {
				limit = cutText(text, scanned, scanned+ahead)
			}
		}
		missing -= found
	}
	return scanned
}

// addMatches appends the matches of m.text.clean[offset:], whose words count from position, and
// returns the number of newly seen terms and of words.
func (m *Maker) addMatches(offset, position int) (found, numWords int) {
	clean := m.text.clean
	if len(m.patterns) == 0 {
		m.tokens, numWords = m.starts.Find(m.analyzer, m.tokens[:0], clean[offset:])
	} else {
		m.tokens, numWords = analysis.All(m.analyzer, m.tokens[:0], clean[offset:])
	}
	char, charAt := 0, 0
	if n := len(m.matches); n > 0 {
		char, charAt = m.matches[n-1].char, m.matches[n-1].start
	}
	for _, token := range m.tokens {
		term, ok := m.find(token.Term)
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
	return found, numWords
}

func (m *Maker) fragment(p passage) Fragment {
	f := Fragment{Text: m.text.line(p.start, p.end), CutBefore: p.cutBefore, CutAfter: p.cutAfter}
	i, _ := slices.BinarySearchFunc(m.matches, p.start, func(match match, start int) int { return match.start - start })
	for ; i < len(m.matches) && m.matches[i].start < p.end; i++ {
		r := Range{m.matches[i].start - p.start, m.matches[i].end - p.start}
		switch n := len(f.Highlights); {
		case m.matches[i].end > p.end:
		case n > 0 && r.Start < f.Highlights[n-1].End: // a word and its parts
			f.Highlights[n-1].End = max(f.Highlights[n-1].End, r.End)
		default:
			f.Highlights = append(f.Highlights, r)
		}
	}
	return f
}
