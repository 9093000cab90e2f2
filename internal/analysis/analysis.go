package analysis

import (
	"fmt"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
)

// Token is one term of a text and its position.
type Token struct {
	// Term is the indexed form: valid UTF-8, never empty. It points into the
	// analyzer's memory and is valid until the analyzer's next call.
	Term []byte
	// Start and End are the byte offsets of the surface form: text[Start:End].
	Start, End int32
	// Position counts words from 0. Removed stop words leave a gap, so that a
	// phrase matches only where its words stand at the same distance.
	Position uint32
}

// Analyzer turns text into terms. It keeps caches and buffers: use one for each
// goroutine. New costs little compared with a batch of documents.
type Analyzer interface {
	// Name is the registered name, for example "english".
	Name() string
	// Tokens appends the tokens of text to dst in rising Start order and
	// returns the extended slice. It never fails: bytes that are not UTF-8
	// separate words. Once its buffers have grown it allocates nothing for cached
	// words. The tokens depend on text alone, never on earlier calls. Tokens does
	// not read beyond MaxTextBytes.
	Tokens(dst []Token, text []byte) []Token
}

// MaxTextBytes bounds the text that one call of Tokens reads: offsets are int32.
const MaxTextBytes = 1<<31 - 1

// Default is the name of the default analyzer of an index.
const Default = "english"

// analyzerEntry is one row of the registry.
type analyzerEntry struct {
	name        string
	description string
	make        func(name string) Analyzer
}

// registry lists every analyzer, sorted by name.
var registry = newRegistry()

func newRegistry() []analyzerEntry {
	entries := []analyzerEntry{
		{
			"english", "UAX #29 words, possessive 's removed, lower case, Lucene's 33 English stop words removed, Porter stemmer (the chain of Lucene's EnglishAnalyzer)",
			func(name string) Analyzer {
				return newWordAnalyzer(name, true /* foldASCII */, &englishTerms{stem: appendPorterStem})
			},
		},
		{
			"english-porter2", "as english, with the Snowball English (Porter 2) stemmer",
			func(name string) Analyzer {
				return newWordAnalyzer(name, true /* foldASCII */, &englishTerms{stem: newSnowballStemmer(stemEnglish).appendStem})
			},
		},
		{
			"simple", "lower case, maximal runs of Unicode letters and digits, terms over 40 bytes dropped; no stop words, no stemming",
			func(name string) Analyzer { return &simpleAnalyzer{name: name} },
		},
		{
			"whitespace", "text that was tokenised beforehand: maximal runs without white space, nothing else changed",
			func(name string) Analyzer { return &whitespaceAnalyzer{name: name} },
		},
	}
	for _, l := range languages {
		entries = append(entries, analyzerEntry{l.name, l.description(), l.newAnalyzer})
	}
	slices.SortFunc(entries, func(a, b analyzerEntry) int { return strings.Compare(a.name, b.name) })
	return entries
}

// New returns a new analyzer. The error wraps base.ErrBadInput if no analyzer has
// that name, and lists the names.
func New(name string) (Analyzer, error) {
	if e := find(name); e != nil {
		return e.make(e.name), nil
	}
	return nil, fmt.Errorf("%w: no analyzer is named %q (there are: %s)", base.ErrBadInput, name, strings.Join(Names(), ", "))
}

// Names returns the names of all analyzers, sorted.
func Names() []string {
	names := make([]string, len(registry))
	for i, e := range registry {
		names[i] = e.name
	}
	return names
}

// Describe returns one line about the named analyzer, "" if there is none.
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

// clip returns the part of text that Tokens reads.
func clip(text []byte) []byte { return text[:min(len(text), MaxTextBytes)] }
