package griffin_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
)

// tokensOf are the words of a field that has terms.
func (s *structured) tokensOf(d *structuredDoc, field string) []string {
	if field == "" || slices.Contains(scoredTexts, field) {
		return d.texts[field]
	}
	var all []string
	for _, v := range d.values[field] {
		all = append(all, v.(string))
	}
	return all
}

// suggest compares suggestions of a field with loops: similar words, corrections and completions.
func (s *structured) suggest(t *testing.T) {
	t.Helper()
	fields := append([]string{""}, scoredTexts...)
	var keywords, numbers []string
	for i := range s.fields {
		if f := &s.fields[i]; f.isText() {
			keywords = append(keywords, f.name)
		} else {
			numbers = append(numbers, f.name)
		}
	}
	fields = append(fields, keywords...)
	s.suggestWords(t, fields[s.rng.IntN(len(fields))], slices.Clone(keywords))
	if s.stored {
		keywords = append(keywords, scoredTexts...)
	}
	if len(keywords) > 0 {
		s.suggestCompletions(t, keywords[s.rng.IntN(len(keywords))], numbers)
	}
}

func (s *structured) suggestWords(t *testing.T, field string, keywords []string) {
	t.Helper()
	isKeyword := slices.Contains(keywords, field)
	freqs := map[string]int{}
	for i := range s.live {
		words := slices.Clone(s.tokensOf(&s.live[i], field))
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			freqs[w]++
		}
	}
	word := func() string {
		if isKeyword {
			return fmt.Sprintf("k%02d", s.rng.IntN(40)) + strings.Repeat("é", s.rng.IntN(3))
		}
		return fmt.Sprintf("w%d", s.rng.IntN(30))
	}
	o := griffin.PhraseSuggest{MaxErrors: float64(1 + s.rng.IntN(2)), Size: 1 + s.rng.IntN(6), Before: "<", After: ">", Confidence: []float64{0, -1, 2}[s.rng.IntN(3)]}
	o.Candidates = griffin.TermSuggest{
		Text: word(), Field: field, Mode: griffin.SuggestMode(s.rng.IntN(3)), Size: s.rng.IntN(6), ByFrequency: s.rng.IntN(2) == 0, MaxEdits: s.rng.IntN(3),
		PrefixLength: s.rng.IntN(4) - 1, MinWordLength: 1 + s.rng.IntN(3), MinDocFreq: []float64{0, 0.02, 2}[s.rng.IntN(3)], MaxTermFreq: []float64{0, 0.5, 3}[s.rng.IntN(3)],
	}
	got, err := griffin.NewSuggester(s.ix).Terms(t.Context(), o.Candidates)
	if err != nil || len(got) != 1 {
		t.Fatalf("%+v: %+v, %v", o.Candidates, got, err)
	}
	want := similarWords(freqs, len(s.live), o.Candidates.Text, &o.Candidates)
	if !slices.EqualFunc(got[0].Options, want, func(g griffin.SuggestOption, w similarWord) bool {
		return g.Text == w.word && g.Score == w.score && g.Freq == uint64(w.freq)
	}) {
		t.Fatalf("%+v: %+v, want %+v", o.Candidates, got[0].Options, want)
	}
	if !isKeyword && s.rng.IntN(2) == 0 {
		o.Candidates.Text += " " + word()
	}
	pairs := func(first, second string) (n int) {
		for i := range s.live {
			if areNeighbours(s.live[i].texts[field], first, second) {
				n++
			}
		}
		return n
	}
	if !s.positions {
		pairs = nil
	}
	checkCorrections(t, s.ix, &o, freqs, len(s.live), pairs)
}

func (s *structured) suggestCompletions(t *testing.T, field string, numbers []string) {
	t.Helper()
	isText := slices.Contains(scoredTexts, field)
	text := []rune(fmt.Sprintf("K%02d", s.rng.IntN(20)) + strings.Repeat("é", s.rng.IntN(2)))
	if isText {
		text = []rune(fmt.Sprintf("w%d W%d", s.rng.IntN(8), s.rng.IntN(8)))
	}
	o := griffin.Complete{Text: string(text[:1+s.rng.IntN(len(text))]), Field: field, Size: 1 + s.rng.IntN(10)}
	if len(numbers) > 0 && s.rng.IntN(2) == 0 {
		o.Weight = numbers[s.rng.IntN(len(numbers))]
	}
	if utf8.RuneCountInString(o.Text) > 1 && s.rng.IntN(2) == 0 {
		o.Fuzzy = &griffin.Fuzzy{Edits: fmt.Sprint(s.rng.IntN(3)), MinLength: 1 + s.rng.IntN(3), PrefixLength: s.rng.IntN(3) - 1}
	}
	checkCompletions(t, s.ix, &o, func(yield func(d completedDoc)) {
		for i := range s.live {
			d := &s.live[i]
			c := completedDoc{id: d.id, values: s.tokensOf(d, field)}
			if isText {
				c.values = nil
				if value := strings.Join(d.texts[field], " "); value != "" {
					c.values = []string{value}
				}
			}
			for j, v := range d.values[o.Weight] {
				if n := v.(float64); j == 0 || n > c.weight {
					c.weight = n
				}
			}
			yield(c)
		}
	})
}
