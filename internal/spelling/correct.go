package spelling

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strings"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
)

// Word is a word of a text with its candidates.
type Word struct {
	Term       string
	DocFreq    uint64
	Candidates []Candidate
}

// CorrectOptions are for Correct.
type CorrectOptions struct {
	// MaxErrors bounds the replaced words.
	MaxErrors int
	// Likelihood is the probability that a word of the dictionary is spelled correctly.
	Likelihood float64
	// Confidence: a correction is better than this factor times the score of the text itself.
	Confidence float64
	// Size bounds the corrections.
	Size int
	// Pairs: documents with neighbours side by side count. The field must have positions.
	Pairs bool
}

// Correction is a text with some words replaced.
type Correction struct {
	Terms   []string
	Changed []bool
	Score   float64
}

// Correct returns the best corrections of a text, the best first, without the text itself. It is the noisy
// channel of OpenSearch's phrase suggester with stupid backoff (Brants et al., "Large language models in
// machine translation", EMNLP 2007): a word has its similarity, or Likelihood if it is not replaced, as
// probability, times the share of documents with the word before it that have both side by side, or 0.4
// times its share of all words, where a word counts once a document. We differ: OpenSearch reads pairs of words from a
// field of shingles, Correct from positions; and every combination is considered, in the order of a
// dynamic programme, not a beam.
func (d *Dictionary) Correct(ctx context.Context, words []Word, o *CorrectOptions) ([]Correction, error) {
	if len(words) == 0 || o.Size == 0 {
		return nil, nil
	}
	m := &model{ctx: ctx, dictionary: d, options: o, pairs: map[[2]string]uint64{}}
	var paths []*path
	for i := range words {
		next, err := m.extend(paths, &words[i], i == 0)
		if err != nil {
			return nil, err
		}
		paths = next
	}
	least := 0.0
	for _, p := range paths {
		if p.errors == 0 {
			least = math.Exp(p.score) * o.Confidence
		}
	}
	slices.SortFunc(paths, comparePaths)
	var out []Correction
	for _, p := range paths {
		if c := p.correction(len(words)); p.errors > 0 && c.Score > least && len(out) < o.Size {
			out = append(out, c)
		}
	}
	return out, nil
}

// path is a correction of the first words of a text.
type path struct {
	before  *path
	term    string
	freq    uint64
	changed bool
	errors  int
	score   float64
	text    string // the terms, for ties
}

func comparePaths(x, y *path) int {
	return cmp.Or(cmp.Compare(y.score, x.score), strings.Compare(x.text, y.text))
}

func (p *path) correction(n int) Correction {
	c := Correction{Terms: make([]string, n), Changed: make([]bool, n), Score: math.Exp(p.score)}
	for i := n - 1; i >= 0; i, p = i-1, p.before {
		c.Terms[i], c.Changed[i] = p.term, p.changed
	}
	return c
}

type model struct {
	ctx        context.Context
	dictionary *Dictionary
	options    *CorrectOptions
	pairs      map[[2]string]uint64
	lists      [2]postings.List
	cursors    [2]postings.Cursor
	positions  [2][]uint32
}

// extend returns the best paths by last word and number of errors: a word's probability depends on
// nothing else.
func (m *model) extend(paths []*path, w *Word, first bool) ([]*path, error) {
	choices := append([]Candidate{{Term: w.Term, Score: m.options.Likelihood, DocFreq: w.DocFreq}}, w.Candidates...)
	if first {
		paths = []*path{nil}
	}
	var next []*path
	for i, c := range choices {
		byErrors := make([][]*path, m.options.MaxErrors+1)
		for _, before := range paths {
			p := &path{before: before, term: c.Term, freq: c.DocFreq, changed: i > 0, text: c.Term}
			if before != nil {
				p.errors, p.score, p.text = before.errors, before.score, before.text+" "+c.Term
			}
			if p.changed {
				p.errors++
			}
			if p.errors > m.options.MaxErrors {
				continue
			}
			probability, err := m.probability(before, &c)
			if err != nil {
				return nil, err
			}
			p.score += float64(math.Log10(c.Score * probability))
			byErrors[p.errors] = append(byErrors[p.errors], p)
		}
		for _, some := range byErrors {
			slices.SortFunc(some, comparePaths)
			next = append(next, some[:min(len(some), m.options.Size)]...)
		}
	}
	return next, nil
}

// probability is the probability of a word after the last one of a path, which may be nil.
func (m *model) probability(before *path, c *Candidate) (float64, error) {
	const discount = 0.4
	alone := (1 + float64(c.DocFreq)) / (1 + float64(m.dictionary.snapshot.Fields[m.dictionary.field].NumPostings))
	if before == nil || !m.options.Pairs {
		return alone, nil
	}
	n, err := m.pair(before, c)
	if err != nil || n == 0 {
		return discount * alone, err
	}
	return float64(n) / float64(before.freq), nil
}

// pair returns the number of live documents that have a word directly after another one.
func (m *model) pair(before *path, c *Candidate) (n uint64, err error) {
	if before.freq == 0 || c.DocFreq == 0 {
		return 0, nil
	}
	key := [2]string{before.term, c.Term}
	if n, ok := m.pairs[key]; ok {
		return n, nil
	}
	for i := range m.dictionary.snapshot.Segments {
		more, err := m.pairIn(i, key)
		if err != nil {
			return 0, err
		}
		n += more
	}
	m.pairs[key] = n
	return n, nil
}

func (m *model) pairIn(segmentNumber int, terms [2]string) (n uint64, err error) {
	if err := m.ctx.Err(); err != nil {
		return 0, err
	}
	view := &m.dictionary.snapshot.Segments[segmentNumber]
	for i, t := range terms {
		found, err := view.FindParts(m.dictionary.field, []byte(t), segment.Positions, &m.lists[i])
		if err != nil || !found {
			return 0, err
		}
		m.cursors[i].Reset(&m.lists[i], nil)
	}
	first, second := &m.cursors[0], &m.cursors[1]
	for doc := first.NextGEQ(0); doc != base.NoDocID; {
		if at := second.NextGEQ(doc); at != doc {
			if at == base.NoDocID {
				break
			}
			doc = first.NextGEQ(at)
			continue
		}
		if view.Live == nil || view.Live.Has(int(doc)) {
			for i := range m.cursors {
				if m.positions[i], err = m.cursors[i].Positions(m.positions[i][:0]); err != nil {
					return 0, err
				}
			}
			if adjacent(m.positions[0], m.positions[1]) {
				n++
			}
		}
		doc = first.NextGEQ(doc + 1)
	}
	return n, cmp.Or(first.Err(), second.Err())
}

// adjacent reports whether a position of second follows one of first. Both rise.
func adjacent(first, second []uint32) bool {
	for _, p := range first {
		if _, ok := slices.BinarySearch(second, p+1); ok {
			return true
		}
	}
	return false
}
