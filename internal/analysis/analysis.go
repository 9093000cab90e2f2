package analysis

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/griffin-search/griffin/internal/base"
)

// Token is a term and its position.
type Token struct {
	// Term is the indexed form: valid UTF-8, never empty, in the analyzer's memory, valid until
	// its next call.
	Term []byte
	// Start and End are byte offsets: text[Start:End].
	Start, End int32
	// Position counts words from 0. Removed stop words leave a gap, so that phrases match at
	// the same distance only.
	Position uint32
	// Word is the number of the word in the analyzer's cache; 0: it is not there. In an
	// Epoch, equal numbers mean equal terms.
	Word uint32
}

// Epoch counts how often the numbers of words changed. It does not change within the tokens of a call.
func Epoch(a Analyzer) uint64 {
	if w, ok := a.(*wordAnalyzer); ok {
		return w.terms.epoch
	}
	return 0
}

// Analyzer turns text into terms. It keeps caches and buffers: use one per goroutine. New costs
// little compared with a batch of documents.
type Analyzer interface {
	// Name is the registered name.
	Name() string
	// Tokens appends the tokens of text, by rising Start. It never fails: bytes that are not
	// UTF-8 separate words, and text beyond MaxTextBytes is not read. With grown buffers it
	// allocates nothing for cached words. Tokens but for Word depend on text alone, never on
	// earlier calls.
	Tokens(dst []Token, text []byte) []Token
}

// MaxTextBytes bounds the text of one call: offsets are int32.
const MaxTextBytes = 1<<31 - 1

// Default is an index's default analyzer.
const Default = "english"

type analyzerEntry struct {
	name        string
	description string
	make        func(name string) Analyzer
	chain       func() *blueprint // instead of make
}

func (e *analyzerEntry) analyzer(name string, use Use) Analyzer {
	if e.chain == nil {
		return e.make(name)
	}
	named := *e.chain()
	named.name = name
	return named.analyzer(use)
}

// Sorted by name.
var registry = newRegistry()

func newRegistry() []analyzerEntry {
	entries := []analyzerEntry{
		{
			name: "english", description: "UAX #29 words, possessive 's removed, lower case, Lucene's 33 English stop words removed, Porter stemmer (the chain of Lucene's EnglishAnalyzer)",
			make: func(name string) Analyzer {
				return newWordAnalyzer(name, true /* foldASCII */, &englishTerms{stem: appendPorterStem})
			},
		},
		{
			name: "english-porter2", description: "as english, with the Snowball English (Porter 2) stemmer",
			make: func(name string) Analyzer {
				return newWordAnalyzer(name, true /* foldASCII */, &englishTerms{stem: newSnowballStemmer(stemEnglish).appendStem})
			},
		},
		{
			name: "simple", description: "lower case, maximal runs of Unicode letters and digits, terms over 40 bytes dropped; no stop words, no stemming",
			make: func(name string) Analyzer { return &simpleAnalyzer{name: name} },
		},
		{
			name: "whitespace", description: "text that was tokenised beforehand: maximal runs without white space, nothing else changed",
			make: func(name string) Analyzer { return &whitespaceAnalyzer{name: name} },
		},
	}
	for _, l := range languages {
		entries = append(entries, analyzerEntry{name: l.name, description: l.description(), make: l.newAnalyzer})
	}
	for _, c := range builtinChains {
		entries = append(entries, analyzerEntry{name: c.name, description: c.description, chain: sync.OnceValue(c.blueprint)})
	}
	base.Sort(entries, func(a, b analyzerEntry) int { return strings.Compare(a.name, b.name) })
	return entries
}

// New returns a new analyzer for documents. An unknown name is an error that wraps base.ErrBadInput and lists
// the names.
func New(name string) (Analyzer, error) {
	if e := find(name); e != nil {
		return e.analyzer(e.name, Documents), nil
	}
	return nil, fmt.Errorf("%w: no analyzer is named %q (there are: %s)", base.ErrBadInput, name, strings.Join(Names(), ", "))
}

// Names returns all names, sorted.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.name
	}
	return names
}

// Describe returns one line, "" for an unknown name.
func Describe(name string) string {
	if e := find(name); e != nil {
		return e.description
	}
	return ""
}

func find(name string) *analyzerEntry {
	i, ok := slices.BinarySearchFunc(registry, name, func(e analyzerEntry, name string) int { return strings.Compare(e.name, name) })
	if !ok {
		return nil
	}
	return &registry[i]
}

func clip(text []byte) []byte { return text[:min(len(text), MaxTextBytes)] }
