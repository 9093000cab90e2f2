package griffin

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/spelling"
	"github.com/griffin-search/griffin/query"
)

const (
	maxCorrections = 3  // suggested queries
	maxVariants    = 12 // queries that are tried
)

// didYouMean returns queries with hits that have similar words in the place of words that no document has: the
// ones with the most similar words first, of these the ones with more hits.
func (s *search) didYouMean(ctx context.Context) ([]string, error) {
	if s.snapshot.Options.Weighted() {
		return nil, nil
	}
	c := correcter{search: s, suggester: suggester{ctx, s.snapshot}, fields: map[string]*suggestField{}}
	text, _, err := c.apply(nil)
	if err != nil || len(c.words) == 0 {
		return nil, err
	}
	tried := map[string]bool{text: true}
	var found []variant
	for _, choice := range c.choices() {
		v := variant{}
		if v.text, v.score, err = c.apply(choice); err != nil {
			return nil, err
		}
		if tried[v.text] {
			continue
		}
		tried[v.text] = true
		switch v.matches, err = s.matchesOfText(ctx, v.text); {
		case errors.Is(err, ErrBadInput): // it has become too long
			continue
		case err != nil:
			return nil, err
		}
		if v.matches > 0 {
			found = append(found, v)
		}
	}
	base.SortFew(found, func(x, y variant) int {
		return cmp.Or(cmp.Compare(y.score, x.score), cmp.Compare(y.matches, x.matches), strings.Compare(x.text, y.text))
	})
	var out []string
	for _, v := range found[:min(len(found), maxCorrections)] {
		out = append(out, v.text)
	}
	return out, nil
}

// variant is a corrected query.
type variant struct {
	text    string
	score   float64
	matches int64
}

// correcter corrects the words of a query.
type correcter struct {
	*search
	suggester
	fields map[string]*suggestField
	words  [][]writtenWord // the similar words of each word that no document has
}

// writtenWord is a candidate as documents have it.
type writtenWord struct {
	text  string
	score float64
}

// apply returns the query with a choice of similar words, and the sum of their similarities. Without a choice it
// finds them.
func (c *correcter) apply(choice []int) (text string, score float64, err error) {
	node, _, err := c.query.parse(c.searcher, false)
	if err != nil {
		return "", 0, err
	}
	number := 0
	query.EachLeaf(node, func(leaf query.Node) {
		part := textOf(leaf)
		field, ok := query.FieldOf(leaf)
		if err != nil || part == nil || !ok {
			return
		}
		f, bad := c.field(field)
		if bad != nil || f == nil || f.analyzer == nil {
			err = bad
			return
		}
		*part, err = c.correct(f, *part, choice, &number, &score)
	})
	if err != nil {
		return "", 0, err
	}
	return node.String(), score, nil
}

// textOf returns the text of a leaf that is analysed; nil: it is not.
func textOf(leaf query.Node) *string {
	switch n := leaf.(type) {
	case *query.Term:
		if !n.Exact {
			return &n.Text
		}
	case *query.Phrase:
		return &n.Text
	case *query.Words:
		return &n.Text
	}
	return nil
}

// field returns nil if the field has no words.
func (c *correcter) field(name string) (*suggestField, error) {
	if f, ok := c.fields[name]; ok {
		return f, nil
	}
	f, err := c.open(name)
	if errors.Is(err, ErrBadInput) {
		f, err = nil, nil
	}
	c.fields[name] = f
	return f, err
}

func (c *correcter) correct(f *suggestField, text string, choice []int, number *int, score *float64) (string, error) {
	words, err := f.words(text)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	at := 0
	for _, w := range words {
		n, err := f.DocFreq(w.term)
		if err != nil {
			return "", err
		}
		if n > 0 || w.start < at {
			continue
		}
		if choice == nil {
			if err := c.find(f, w, text[w.start:w.end]); err != nil {
				return "", err
			}
		} else if k := choice[*number]; k < len(c.words[*number]) {
			out.WriteString(text[at:w.start] + c.words[*number][k].text)
			*score += c.words[*number][k].score
			at = w.end
		}
		*number++
	}
	return out.String() + text[at:], nil
}

// find adds the similar words of a word, in falling order of their similarity to the typed text.
func (c *correcter) find(f *suggestField, w typedWord, typed string) error {
	const size = 10
	_, candidates, err := f.Similar(c.ctx, w.term, typed, &spelling.Options{MaxEdits: max(editsFor(w.term), 1), MinLength: 3, MaxTermFreq: 1, Accuracy: 0.5, Size: size})
	if err != nil {
		return err
	}
	var words []writtenWord
	for _, candidate := range candidates {
		text, err := f.Written(c.ctx, candidate.Term, typed)
		if err != nil {
			return err
		}
		words = append(words, writtenWord{text, spelling.Similarity(strings.ToLower(typed), text)})
	}
	base.SortFew(words, func(x, y writtenWord) int { return cmp.Compare(y.score, x.score) })
	c.words = append(c.words, words[:min(len(words), maxCorrections)])
	return nil
}

// choices are the best word everywhere, then the others of one word at a time.
func (c *correcter) choices() [][]int {
	out := [][]int{make([]int, len(c.words))}
	for i := range c.words {
		for k := 1; k < len(c.words[i]) && len(out) < maxVariants; k++ {
			choice := make([]int, len(c.words))
			choice[i] = k
			out = append(out, choice)
		}
	}
	return out
}

// matchesOfText counts the matches of another query text.
func (s *search) matchesOfText(ctx context.Context, text string) (int64, error) {
	q := Query{
		Text: text, Mode: s.query.Mode, K: 1, Count: true, Load: LoadNone, Filter: s.query.Filter, PostFilter: s.query.PostFilter, MinScore: s.query.MinScore,
		Policy: s.query.Policy,
	}
	if err := q.check(); err != nil {
		return 0, err
	}
	other := new(search)
	if err := beginOf(other, s.index, s.snapshot.Retain(), &q); err != nil {
		return 0, err
	}
	r, err := other.answer(ctx, time.Now())
	if err != nil {
		return 0, err
	}
	return r.Matches, nil
}
