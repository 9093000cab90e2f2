package spelling

import (
	"cmp"
	"context"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/automaton"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/suggest"
)

// Dictionary has the terms of a field.
type Dictionary struct {
	snapshot *index.Snapshot
	field    base.FieldID
	names    []string // of the stored values; nil: title and text
	analyzer analysis.Analyzer
	tokens   []analysis.Token
	list     postings.List
	stored   segment.StoredDoc
}

// New returns a Dictionary of a snapshot that the caller holds. The field's values are stored under names,
// nil for title and text; the analyzer is its documents', nil if values are terms.
func New(s *index.Snapshot, field base.FieldID, names []string, a analysis.Analyzer) *Dictionary {
	return &Dictionary{snapshot: s, field: field, names: names, analyzer: a}
}

// Mode selects the words that get candidates.
type Mode uint8

const (
	// Missing is for words that no document has.
	Missing Mode = iota
	// Popular is for all words; candidates are in more documents than the word.
	Popular
	// Always is for all words.
	Always
)

// Options of Similar.
type Options struct {
	Mode Mode
	// MaxEdits is 1 or 2. PrefixLength is the number of first characters that must be equal.
	MaxEdits, PrefixLength int
	// MinLength is the number of characters of the shortest word that gets candidates.
	MinLength int
	// MinDocFreq is the least number of documents of a candidate, MaxTermFreq the greatest number of
	// documents of a word that gets candidates; below 1, a share of all documents.
	MinDocFreq, MaxTermFreq float64
	// Accuracy is the least similarity, 0 to 1.
	Accuracy float64
	// ByFrequency orders candidates by document frequency first, else by similarity.
	ByFrequency bool
	// Size bounds the candidates.
	Size int
}

// Candidate is a term of the dictionary.
type Candidate struct {
	Term string
	// Score is the similarity 1 - edits/length, of the shorter term, as in Lucene's DirectSpellChecker.
	Score float64
	// DocFreq is the number of live documents.
	DocFreq uint64
}

// DocFreq is the number of live documents of a term.
func (d *Dictionary) DocFreq(term string) (n uint64, err error) {
	for i := range d.snapshot.Segments {
		view := &d.snapshot.Segments[i]
		found, err := view.Find(d.field, []byte(term), &d.list)
		if err != nil {
			return 0, err
		}
		if found {
			n += view.Deletions.DocFreq(&d.list)
		}
	}
	return n, nil
}

// Similar returns the number of documents of a word and its candidates, the best first: terms within MaxEdits
// of it, and the terms of texts within one edit of typed, the text from which the analyzer made the word. The
// error is the context's, or wraps base.ErrCorrupt.
func (d *Dictionary) Similar(ctx context.Context, word, typed string, o *Options) (docFreq uint64, all []Candidate, err error) {
	docFreq, err = d.DocFreq(word)
	length := utf8.RuneCountInString(word)
	numDocs := float64(d.snapshot.NumLive)
	if err != nil || !utf8.ValidString(word) || length < o.MinLength || o.Mode == Missing && docFreq > 0 ||
		float64(docFreq) > math.Ceil(absolute(o.MaxTermFreq, numDocs)) {
		return docFreq, nil, err
	}
	least := max(uint64(math.Ceil(absolute(o.MinDocFreq, numDocs))), 1)
	if o.Mode == Popular {
		least = max(least, docFreq+1)
	}
	a := automaton.NewSimilar(word, o.MaxEdits, o.PrefixLength, true /* swaps */)
	freqs, err := d.frequencies(ctx, a)
	if err != nil {
		return 0, nil, err
	}
	scores := map[string]float64{}
	for term := range freqs {
		if edits := a.Distance(term); edits <= o.MaxEdits {
			scores[term] = 1 - float64(edits)/float64(max(min(length, utf8.RuneCountInString(term)), 1))
		}
	}
	if err := d.addVariants(typed, o.PrefixLength, freqs, scores); err != nil {
		return 0, nil, err
	}
	for term, score := range scores {
		if n := freqs[term]; n >= least && term != word && score >= o.Accuracy && score > 0 {
			all = append(all, Candidate{term, score, n})
		}
	}
	sortCandidates(all, o.ByFrequency)
	return docFreq, all[:min(len(all), o.Size)], nil
}

// absolute is a number of documents that may be given as a share.
func absolute(n, numDocs float64) float64 {
	if n < 1 {
		return n * numDocs
	}
	return n
}

// sortCandidates orders by similarity, frequency and bytes, or by frequency first.
func sortCandidates(all []Candidate, byFrequency bool) {
	base.Sort(all, func(x, y Candidate) int {
		score, freq := cmp.Compare(y.Score, x.Score), cmp.Compare(y.DocFreq, x.DocFreq)
		if byFrequency {
			score, freq = freq, score
		}
		return cmp.Or(score, freq, strings.Compare(x.Term, y.Term))
	})
}

// frequencies returns the terms that an automaton accepts with their numbers of live documents.
func (d *Dictionary) frequencies(ctx context.Context, a *automaton.Similar) (map[string]uint64, error) {
	freqs := map[string]uint64{}
	for i := range d.snapshot.Segments {
		view := &d.snapshot.Segments[i]
		it := segment.TermsMatching(view.Segment, d.field, nil, a)
		for n := 0; it.Next(); n++ {
			if n%64 == 63 && ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if err := segment.OpenList(view.Segment, it, &d.list); err != nil {
				return nil, err
			}
			freqs[string(it.Term())] += view.Deletions.DocFreq(&d.list)
		}
		if err := it.Err(); err != nil {
			return nil, err
		}
	}
	return freqs, ctx.Err()
}

// Similarity is 1 - edits/length of two words, of the shorter one.
func Similarity(a, b string) float64 {
	return 1 - float64(suggest.Distance(a, b))/float64(max(min(utf8.RuneCountInString(a), utf8.RuneCountInString(b)), 1))
}
