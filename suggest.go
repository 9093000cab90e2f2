package griffin

import (
	"context"
	"fmt"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/mapping"
	"github.com/griffin-search/griffin/internal/spelling"
	"github.com/griffin-search/griffin/internal/vfs"
)

// SuggestMode selects the words of a text that get suggestions.
type SuggestMode uint8

const (
	// SuggestMissing is for words that no document has.
	SuggestMissing SuggestMode = SuggestMode(spelling.Missing)
	// SuggestPopular is for all words; suggestions are in more documents than the word.
	SuggestPopular SuggestMode = SuggestMode(spelling.Popular)
	// SuggestAlways is for all words.
	SuggestAlways SuggestMode = SuggestMode(spelling.Always)
)

// TermSuggest asks for words of the index that are similar to the words of a text, as the term suggester
// of OpenSearch. Zero values are defaults.
type TermSuggest struct {
	Text string
	// Field is a field of type text or keyword; "" is the default field.
	Field string
	Mode  SuggestMode
	// Size bounds the suggestions for a word; default 5.
	Size int
	// ByFrequency orders suggestions by their number of documents first, not by similarity.
	ByFrequency bool
	// MaxEdits is 1 or 2, the default: characters inserted, deleted, changed, or swapped with a neighbour.
	MaxEdits int
	// PrefixLength is the number of first characters that are equal; default 1, -1 for none.
	PrefixLength int
	// MinWordLength is the number of characters of the shortest word with suggestions; default 4.
	MinWordLength int
	// MinDocFreq is the least number of documents of a suggestion; below 1, their share.
	MinDocFreq float64
	// MaxTermFreq is the greatest number of documents of a word with suggestions, or their share; default
	// 0.01.
	MaxTermFreq float64
}

// Suggestion is a word of a text with similar words of the index.
type Suggestion struct {
	Text string `json:"text"`
	// Offset and Length are of the word in the text, in bytes.
	Offset  int             `json:"offset"`
	Length  int             `json:"length"`
	Options []SuggestOption `json:"options"`
}

// SuggestOption is a word that documents have. If the analyzer stems words, it is one of the words with the
// stem, the most similar to the typed one, as the first documents with the stem have it.
type SuggestOption struct {
	Text string `json:"text"`
	// Score is the similarity, from 0 to 1: 1 - edits/length.
	Score float64 `json:"score"`
	// Freq is the number of documents.
	Freq uint64 `json:"freq"`
}

// PhraseSuggest asks for corrections of a text as a whole, as the phrase suggester of OpenSearch: similar
// words are weighed by how often they stand beside their neighbours.
type PhraseSuggest struct {
	// Candidates has the text, the field, and how similar words are found.
	Candidates TermSuggest
	// Size bounds the corrections; default 5.
	Size int
	// MaxErrors is the greatest number of words to correct; below 1, their share; default 1.
	MaxErrors float64
	// Confidence: a correction's score is above the text's times this factor; default 1, -1 for all.
	Confidence float64
	// Likelihood is the probability that a word of the index is spelled correctly; default 0.95.
	Likelihood float64
	// Before and After are written around corrected words in Highlighted.
	Before, After string
}

// PhraseOption is a corrected text.
type PhraseOption struct {
	Text        string  `json:"text"`
	Highlighted string  `json:"highlighted,omitempty"`
	Score       float64 `json:"score"`
}

// maxSuggestions bounds the sizes of suggestions, maxSuggestWords the words of a text.
const (
	maxSuggestions  = 1000
	maxSuggestWords = 256
)

// suggester works on one snapshot.
type suggester struct {
	ctx      context.Context
	snapshot *index.Snapshot
}

// Suggester suggests words, texts and values of an index. It is safe for concurrent use.
type Suggester struct{ index *Index }

// NewSuggester returns the Suggester of an index.
func NewSuggester(ix *Index) Suggester { return Suggester{ix} }

// run calls f with a snapshot.
func (s Suggester) run(ctx context.Context, f func(s *suggester) error) (err error) {
	defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
	if err := ctx.Err(); err != nil {
		return err
	}
	snapshot, err := s.index.ix.Snapshot()
	if err != nil {
		return err
	}
	defer snapshot.Release()
	return f(&suggester{ctx, snapshot})
}

// Terms returns an entry for each word of a text. The answer depends on the live documents only. The
// error wraps ErrBadInput if the field or an option is not valid.
func (s Suggester) Terms(ctx context.Context, o TermSuggest) (out []Suggestion, err error) {
	err = s.run(ctx, func(s *suggester) (err error) {
		out, err = s.terms(&o)
		return err
	})
	return out, err
}

// Phrases returns corrections of a text, the best first. Without positions in the index, neighbours
// are not weighed. The error is as of Terms.
func (s Suggester) Phrases(ctx context.Context, o PhraseSuggest) (out []PhraseOption, err error) {
	err = s.run(ctx, func(s *suggester) (err error) {
		out, err = s.phrases(&o)
		return err
	})
	return out, err
}

// suggestField is a field with its dictionary.
type suggestField struct {
	*spelling.Dictionary
	analyzer analysis.Analyzer // nil of a keyword
	field    *mapping.Field    // nil of the default field
	// normalizer of a keyword; nil: none.
	normalizer *analysis.Normalizer
}

func (s *suggester) open(name string) (*suggestField, error) {
	f, ok := s.snapshot.Options.FieldMapping().Field(name)
	id := base.FieldID(0)
	for i := range s.snapshot.Fields {
		if s.snapshot.Fields[i].Name == name {
			id = base.FieldID(i)
		}
	}
	switch {
	case name != "" && !ok:
		return nil, fmt.Errorf("suggestions: the index has no field %q: %w", name, ErrBadInput)
	case name != "" && (!f.HasTerms() || f.Type.Vector() || id == 0):
		return nil, fmt.Errorf("suggestions: field %q is of type %s and has no terms: want a text or a keyword: %w", name, f.Type, ErrBadInput)
	case s.snapshot.Options.Weighted():
		return nil, fmt.Errorf("suggestions: the index stores learned weights, not words: %w", ErrBadInput)
	}
	out := &suggestField{}
	var stored []string
	if name != "" {
		out.field, stored = f, s.snapshot.Options.FieldMapping().Sources(name)
	}
	if f == nil || name == "" || f.Type == mapping.Text {
		var err error
		if out.analyzer, err = s.snapshot.Options.Scheme().New(name, analysis.Documents); err != nil {
			return nil, err
		}
	}
	if f != nil && f.Normalizer != "" {
		var err error
		if out.normalizer, err = s.snapshot.Options.Analysis.Normalizer(f.Normalizer); err != nil {
			return nil, err
		}
	}
	out.Dictionary = spelling.New(s.snapshot, id, stored, out.analyzer)
	return out, nil
}

// typedWord is a word of a text.
type typedWord struct {
	term       string
	start, end int
}

// normal brings a text to the normal form of a keyword's values.
func (f *suggestField) normal(text string) string {
	if f.normalizer == nil {
		return text
	}
	return string(f.normalizer.Normalize([]byte(text)))
}

// words returns the words of a text; a keyword's are one.
func (f *suggestField) words(text string) ([]typedWord, error) {
	if f.analyzer == nil {
		if text == "" {
			return nil, nil
		}
		return []typedWord{{f.normal(text), 0, len(text)}}, nil
	}
	var words []typedWord
	last := int64(-1)
	for _, t := range f.analyzer.Tokens(nil, []byte(text)) {
		if int64(t.Position) == last {
			continue // an alternative
		}
		last = int64(t.Position)
		words = append(words, typedWord{string(t.Term), int(t.Start), int(t.End)})
	}
	if len(words) > maxSuggestWords {
		return nil, fmt.Errorf("suggestions: the text has %d words, more than %d: %w", len(words), maxSuggestWords, ErrBadInput)
	}
	return words, nil
}

func (o *TermSuggest) options() (*spelling.Options, error) {
	out := &spelling.Options{
		Mode: spelling.Mode(o.Mode), MaxEdits: o.MaxEdits, PrefixLength: o.PrefixLength, MinLength: o.MinWordLength, MinDocFreq: o.MinDocFreq,
		MaxTermFreq: o.MaxTermFreq, Accuracy: 0.5, ByFrequency: o.ByFrequency, Size: o.Size,
	}
	if out.MaxEdits == 0 {
		out.MaxEdits = 2
	}
	if out.MinLength == 0 {
		out.MinLength = 4
	}
	if out.Size == 0 {
		out.Size = 5
	}
	if out.MaxTermFreq == 0 {
		out.MaxTermFreq = 0.01
	}
	switch out.PrefixLength {
	case 0:
		out.PrefixLength = 1
	case -1:
		out.PrefixLength = 0
	}
	switch {
	case o.Mode > SuggestAlways:
		return nil, fmt.Errorf("suggestions: mode %d: %w", o.Mode, ErrBadInput)
	case out.MaxEdits < 1 || out.MaxEdits > 2:
		return nil, fmt.Errorf("suggestions: %d edits, not 1 or 2: %w", o.MaxEdits, ErrBadInput)
	case out.PrefixLength < 0 || out.MinLength < 0 || !(out.MinDocFreq >= 0) || !(out.MaxTermFreq >= 0):
		return nil, fmt.Errorf("suggestions: a length or frequency is negative: %w", ErrBadInput)
	case out.Size < 1 || out.Size > maxSuggestions:
		return nil, fmt.Errorf("suggestions: size %d, not 1 to %d: %w", o.Size, maxSuggestions, ErrBadInput)
	}
	return out, nil
}

func (s *suggester) terms(o *TermSuggest) ([]Suggestion, error) {
	options, err := o.options()
	if err != nil {
		return nil, err
	}
	f, err := s.open(o.Field)
	if err != nil {
		return nil, err
	}
	words, err := f.words(o.Text)
	if err != nil {
		return nil, err
	}
	out := make([]Suggestion, len(words))
	for i, w := range words {
		typed := o.Text[w.start:w.end]
		_, candidates, err := f.Similar(s.ctx, w.term, typed, options)
		if err != nil {
			return nil, err
		}
		out[i] = Suggestion{Text: typed, Offset: w.start, Length: w.end - w.start, Options: []SuggestOption{}}
		for _, c := range candidates {
			written, err := f.Written(s.ctx, c.Term, typed)
			if err != nil {
				return nil, err
			}
			out[i].Options = append(out[i].Options, SuggestOption{written, c.Score, c.DocFreq})
		}
	}
	return out, nil
}

func (s *suggester) phrases(o *PhraseSuggest) ([]PhraseOption, error) {
	correct, err := o.options()
	if err != nil {
		return nil, err
	}
	options, err := o.Candidates.options()
	if err != nil {
		return nil, err
	}
	f, err := s.open(o.Candidates.Field)
	if err != nil {
		return nil, err
	}
	text := o.Candidates.Text
	typed, err := f.words(text)
	if err != nil {
		return nil, err
	}
	words := make([]spelling.Word, len(typed))
	for i, w := range typed {
		words[i].Term = w.term
		if words[i].DocFreq, words[i].Candidates, err = f.Similar(s.ctx, w.term, text[w.start:w.end], options); err != nil {
			return nil, err
		}
	}
	if o.MaxErrors >= 1 || o.MaxErrors == 0 {
		correct.MaxErrors = int(math.Max(o.MaxErrors, 1))
	} else {
		correct.MaxErrors = int(math.Round(o.MaxErrors * float64(len(words))))
	}
	correct.MaxErrors = min(correct.MaxErrors, len(words))
	correct.Pairs = f.analyzer != nil && s.snapshot.Options.Positions
	corrections, err := f.Correct(s.ctx, words, correct)
	if err != nil {
		return nil, err
	}
	out := make([]PhraseOption, len(corrections))
	for i := range corrections {
		if out[i], err = s.phrase(f, text, typed, &corrections[i], o); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (o *PhraseSuggest) options() (*spelling.CorrectOptions, error) {
	out := &spelling.CorrectOptions{Size: o.Size, Confidence: o.Confidence, Likelihood: o.Likelihood}
	if out.Size == 0 {
		out.Size = 5
	}
	if out.Likelihood == 0 {
		out.Likelihood = 0.95
	}
	switch out.Confidence {
	case 0:
		out.Confidence = 1
	case -1:
		out.Confidence = 0
	}
	switch {
	case out.Size < 1 || out.Size > maxSuggestions:
		return nil, fmt.Errorf("suggestions: size %d, not 1 to %d: %w", o.Size, maxSuggestions, ErrBadInput)
	case !(o.MaxErrors >= 0) || o.MaxErrors > maxSuggestWords:
		return nil, fmt.Errorf("suggestions: %g errors, not 0 to %d: %w", o.MaxErrors, maxSuggestWords, ErrBadInput)
	case !(out.Confidence >= 0) || !(out.Likelihood > 0 && out.Likelihood <= 1):
		return nil, fmt.Errorf("suggestions: confidence %g is negative, or likelihood %g is not above 0, up to 1: %w", o.Confidence, o.Likelihood, ErrBadInput)
	}
	return out, nil
}

// phrase replaces words of a text.
func (s *suggester) phrase(f *suggestField, text string, typed []typedWord, c *spelling.Correction, o *PhraseSuggest) (PhraseOption, error) {
	out := PhraseOption{Score: c.Score}
	var plain, marked strings.Builder
	at := 0
	for i, w := range typed {
		if !c.Changed[i] || w.start < at {
			continue
		}
		written, err := f.Written(s.ctx, c.Terms[i], text[w.start:w.end])
		if err != nil {
			return out, err
		}
		plain.WriteString(text[at:w.start] + written)
		marked.WriteString(text[at:w.start] + o.Before + written + o.After)
		at = w.end
	}
	plain.WriteString(text[at:])
	marked.WriteString(text[at:])
	if out.Text = plain.String(); o.Before+o.After != "" {
		out.Highlighted = marked.String()
	}
	return out, nil
}

// editsFor is the number of edits of a similar word: as in "word~".
func editsFor(word string) int {
	switch n := utf8.RuneCountInString(word); {
	case n < 3:
		return 0
	case n < 6:
		return 1
	}
	return 2
}
