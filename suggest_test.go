package griffin_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/query"
)

// textHistory is an index of short texts with a history, and a copy of its live documents in the order of writing.
type textHistory struct {
	rng  *rand.Rand
	ix   *griffin.Index
	live []historyDoc
	next int
}

type historyDoc struct {
	id, title, text string
	kinds           []string
	sold            []int
	prices          []float64
	days            []int // of 2024
	points          [][2]float64
	shelf, row      string // "" is none
}

const historyMapping = `{"properties":{"title":{"type":"text"},"body":{"type":"text"},"kind":{"type":"keyword"},"sold":{"type":"long"},
	"price":{"type":"double"},"day":{"type":"date"},"at":{"type":"geo_point"},
	"shelf":{"type":"keyword"},"row":{"type":"integer"}}}`

// word is of few letters, so that many words are similar.
func (l *textHistory) word() string {
	letters := []rune("abcd")
	if l.rng.IntN(20) == 0 {
		letters = append(letters, 'é', 'ß')
	}
	word := make([]rune, 2+int(l.rng.ExpFloat64()*2))
	for i := range word {
		word[i] = letters[l.rng.IntN(len(letters))]
	}
	return string(word)
}

func (l *textHistory) words(n int) string {
	words := make([]string, n)
	for i := range words {
		words[i] = l.word()
	}
	return strings.Join(words, " ")
}

func newTextHistory(t *testing.T, seed uint64) *textHistory {
	t.Helper()
	l := &textHistory{rng: rand.New(rand.NewPCG(seed, 1910))}
	m, err := griffin.ParseMapping([]byte(historyMapping))
	if err != nil {
		t.Fatal(err)
	}
	l.ix, err = griffin.Create(filepath.Join(t.TempDir(), "ix"), griffin.Settings{Analyzer: "simple", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := l.ix.Close(); err != nil {
			t.Error(err)
		}
	})
	for range 1 + l.rng.IntN(4) {
		l.grow(t)
	}
	if l.rng.IntN(3) == 0 {
		o := griffin.MergeOptions{Segments: 1 + l.rng.IntN(2)}
		if l.rng.IntN(2) == 0 {
			o.Reorder = griffin.ReorderBP
		}
		if _, err := l.ix.Merge(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	return l
}

func (l *textHistory) grow(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	for range 1 + l.rng.IntN(60) {
		d := historyDoc{id: fmt.Sprint(l.next), title: l.words(1 + l.rng.IntN(3)), text: l.words(l.rng.IntN(12))}
		if l.next++; len(l.live) > 0 && l.rng.IntN(5) == 0 {
			d.id = l.live[l.rng.IntN(len(l.live))].id
		}
		for range l.rng.IntN(3) {
			d.kinds = append(d.kinds, strings.ToUpper(l.word())+l.word())
		}
		for range l.rng.IntN(3) {
			d.sold = append(d.sold, l.rng.IntN(9)-4)
		}
		for range l.rng.IntN(3) {
			d.prices = append(d.prices, float64(l.rng.IntN(80))/8)
			d.days = append(d.days, l.rng.IntN(60))
			d.points = append(d.points, [2]float64{float64(l.rng.IntN(20)), float64(l.rng.IntN(20) - 10)})
		}
		if l.rng.IntN(6) > 0 {
			d.shelf = fmt.Sprint("shelf", l.rng.IntN(5))
		}
		if l.rng.IntN(6) > 0 {
			d.row = fmt.Sprint(l.rng.IntN(5))
		}
		if err := l.ix.Add(ctx, d.document()); err != nil {
			t.Fatal(err)
		}
		l.remove(d.id)
		if l.live = append(l.live, d); l.rng.IntN(6) == 0 {
			id := l.live[l.rng.IntN(len(l.live))].id
			if err := l.ix.Delete(ctx, id); err != nil {
				t.Fatal(err)
			}
			l.remove(id)
		}
	}
	if err := l.ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
}

func (l *textHistory) remove(id string) {
	l.live = slices.DeleteFunc(l.live, func(d historyDoc) bool { return d.id == id })
}

func (d *historyDoc) document() griffin.Document {
	out := griffin.Document{ID: d.id, Title: d.title, Text: d.text, Fields: []griffin.Field{{Name: "body", Value: d.text}}}
	for _, k := range d.kinds {
		out.Fields = append(out.Fields, griffin.Field{Name: "kind", Value: k})
	}
	add := func(name string, value any) {
		out.Fields = append(out.Fields, griffin.Field{Name: name, Value: fmt.Sprint(value)})
	}
	for _, n := range d.sold {
		add("sold", n)
	}
	if d.shelf != "" {
		add("shelf", d.shelf)
	}
	if d.row != "" {
		add("row", d.row)
	}
	for i := range d.prices {
		add("price", d.prices[i])
		add("day", time.Date(2024, 1, 1+d.days[i], 0, 0, 0, 0, time.UTC).Format(time.DateOnly))
		add("at", fmt.Sprintf("%g,%g", d.points[i][0], d.points[i][1]))
	}
	return out
}

// tokens of a field, in order; title and text are two parts, without neighbours.
func (d *historyDoc) tokens(field string) [][]string {
	switch field {
	case "title":
		return [][]string{strings.Fields(d.title)}
	case "body":
		return [][]string{strings.Fields(d.text)}
	case "kind":
		var all [][]string
		for _, k := range d.kinds {
			all = append(all, []string{k})
		}
		return all
	}
	return [][]string{strings.Fields(d.title), strings.Fields(d.text)}
}

// docFreqs counts the documents of each word of a field.
func (l *textHistory) docFreqs(field string) map[string]int {
	freqs := map[string]int{}
	for i := range l.live {
		words := slices.Concat(l.live[i].tokens(field)...)
		slices.Sort(words)
		for _, w := range slices.Compact(words) {
			freqs[w]++
		}
	}
	return freqs
}

// typo changes a word of the library.
func (l *textHistory) typo() string {
	d := l.live[l.rng.IntN(len(l.live))]
	words := strings.Fields(d.title + " " + d.text)
	word := []rune(words[l.rng.IntN(len(words))])
	i := l.rng.IntN(len(word))
	switch l.rng.IntN(4) {
	case 0:
		word[i] = 'd'
	case 1:
		word = slices.Delete(word, i, i+1)
	case 2:
		word = slices.Insert(word, i, 'a')
	}
	if len(word) == 0 {
		return "a"
	}
	return string(word)
}

type similarWord struct {
	word  string
	score float64
	freq  int
}

// similar is Suggester.Terms by loops, for a word.
func (l *textHistory) similar(word string, o *griffin.TermSuggest) []similarWord {
	return similarWords(l.docFreqs(o.Field), len(l.live), word, o)
}

func (l *textHistory) termSuggest() griffin.TermSuggest {
	o := griffin.TermSuggest{
		Field: []string{"", "title", "body"}[l.rng.IntN(3)], Mode: griffin.SuggestMode(l.rng.IntN(3)), Size: l.rng.IntN(8), ByFrequency: l.rng.IntN(2) == 0,
		MaxEdits: l.rng.IntN(3), PrefixLength: l.rng.IntN(4) - 1, MinWordLength: l.rng.IntN(4), MinDocFreq: []float64{0, 0.02, 2}[l.rng.IntN(3)],
		MaxTermFreq: []float64{0, 0.5, 3}[l.rng.IntN(3)],
	}
	for range 1 + l.rng.IntN(3) {
		o.Text = strings.TrimSpace(o.Text + "  " + l.typo())
	}
	return o
}

func (l *textHistory) checkTerms(t *testing.T) {
	t.Helper()
	o := l.termSuggest()
	got, err := griffin.NewSuggester(l.ix).Terms(t.Context(), o)
	if err != nil {
		t.Fatalf("%+v: %v", o, err)
	}
	words := strings.Fields(o.Text)
	if len(got) != len(words) {
		t.Fatalf("%+v: %d words, want %d", o, len(got), len(words))
	}
	for i, w := range words {
		want := []griffin.SuggestOption{}
		for _, s := range l.similar(w, &o) {
			want = append(want, griffin.SuggestOption{Text: s.word, Score: s.score, Freq: uint64(s.freq)})
		}
		g := got[i]
		if g.Text != w || o.Text[g.Offset:g.Offset+g.Length] != w || !reflect.DeepEqual(g.Options, want) {
			t.Fatalf("%+v: word %q: %+v\nwant %+v", o, w, g, want)
		}
	}
}

func (l *textHistory) checkPhrases(t *testing.T) {
	t.Helper()
	o := griffin.PhraseSuggest{Candidates: l.termSuggest(), MaxErrors: float64(1 + l.rng.IntN(2)), Size: 1 + l.rng.IntN(6), Before: "<", After: ">"}
	o.Confidence = []float64{0, -1, 2}[l.rng.IntN(3)]
	checkCorrections(t, l.ix, &o, l.docFreqs(o.Candidates.Field), len(l.live), func(first, second string) (pairs int) {
		for k := range l.live {
			if slices.ContainsFunc(l.live[k].tokens(o.Candidates.Field), func(part []string) bool { return areNeighbours(part, first, second) }) {
				pairs++
			}
		}
		return pairs
	})
}

// checkMean: a search without hits suggests queries with hits, if there are similar words.
func (l *textHistory) checkMean(t *testing.T) {
	t.Helper()
	search := func(text string, suggest bool) *griffin.Results {
		r, err := l.ix.Search(t.Context(), griffin.Query{Text: text, Suggest: suggest, Mode: griffin.ModeAnd})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return r
	}
	words := []string{l.typo(), l.typo()}[:1+l.rng.IntN(2)]
	r := search(strings.Join(words, " "), true)
	if len(r.Hits) > 0 && len(r.Suggestions) > 0 || len(r.Suggestions) > 3 {
		t.Fatalf("%s: %d hits, and the suggestions %q", words, len(r.Hits), r.Suggestions)
	}
	for _, text := range r.Suggestions {
		if len(search(text, false).Hits) == 0 {
			t.Fatalf("%s: the suggestion %s has no hits", words, text)
		}
	}
	o := griffin.TermSuggest{MinWordLength: 3, PrefixLength: -1, MaxTermFreq: 1, MaxEdits: 2}
	if utf8.RuneCountInString(words[0]) < 6 {
		o.MaxEdits = 1
	}
	if similar := l.similar(words[0], &o); len(words) == 1 && len(r.Hits) == 0 && (len(similar) > 0) != (len(r.Suggestions) > 0) {
		t.Fatalf("%s: suggestions %q, but similar words %v", words, r.Suggestions, similar)
	}
}

// checkComplete compares completions of keywords and of stored texts with loops.
func (l *textHistory) checkComplete(t *testing.T) {
	t.Helper()
	o := griffin.Complete{Text: l.word(), Field: []string{"kind", "title"}[l.rng.IntN(2)], Size: 1 + l.rng.IntN(10)}
	o.Text = string([]rune(o.Text)[:min(utf8.RuneCountInString(o.Text), 1+l.rng.IntN(4))])
	if l.rng.IntN(2) == 0 {
		o.Text = strings.ToUpper(o.Text)
	}
	if l.rng.IntN(2) == 0 {
		o.Weight = "sold"
	}
	if l.rng.IntN(2) == 0 {
		o.Fuzzy = &griffin.Fuzzy{Edits: fmt.Sprint(l.rng.IntN(3)), MinLength: 1 + l.rng.IntN(3), PrefixLength: l.rng.IntN(3) - 1}
	}
	checkCompletions(t, l.ix, &o, func(yield func(d completedDoc)) {
		for i := range l.live {
			d := &l.live[i]
			c := completedDoc{id: d.id, values: []string{d.title}}
			if o.Field == "kind" {
				c.values = d.kinds
			}
			if len(d.sold) > 0 {
				c.weight = float64(slices.Max(d.sold))
			}
			yield(c)
		}
	})
}

// checkLike compares a MoreLikeThis with the query of its words, which loops choose.
func (l *textHistory) checkLike(t *testing.T) {
	t.Helper()
	m := &query.MoreLikeThis{
		MinTermFreq: l.rng.IntN(3), MinDocFreq: 1 + l.rng.IntN(3), MaxDocFreq: []int{0, 10}[l.rng.IntN(2)], MinLength: l.rng.IntN(4),
		MaxLength: []int{0, 5}[l.rng.IntN(2)], MaxTerms: l.rng.IntN(6), BoostTerms: []float64{0, 2}[l.rng.IntN(2)], Include: l.rng.IntN(2) == 0,
		AtLeast: []query.Minimum{"", "1", "50%"}[l.rng.IntN(3)], Boost: []float64{0, 1.5}[l.rng.IntN(2)],
	}
	for _, f := range []string{"", "title", "body", "kind"} {
		if l.rng.IntN(2) == 0 {
			m.Fields = append(m.Fields, f)
		}
	}
	like, unlike := []historyDoc{}, []historyDoc{}
	for range l.rng.IntN(3) {
		d := l.live[l.rng.IntN(len(l.live))]
		m.IDs, like = append(m.IDs, d.id), append(like, d)
	}
	for range l.rng.IntN(2) {
		d := l.live[l.rng.IntN(len(l.live))]
		m.UnlikeIDs, unlike = append(m.UnlikeIDs, d.id), append(unlike, d)
	}
	if len(m.IDs) == 0 || l.rng.IntN(2) == 0 {
		m.Texts = append(m.Texts, l.words(8))
	}
	q := griffin.Query{Node: m, K: 30, Count: true}
	got, err := l.ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", m, err)
	}
	q.Node = l.likeQuery(m, like, unlike)
	want, err := l.ix.Search(t.Context(), q)
	if err != nil {
		t.Fatalf("%s: %v", q.Node, err)
	}
	if got.Matches != want.Matches || !slices.EqualFunc(got.Hits, want.Hits, func(a, b griffin.Hit) bool { return a.ID == b.ID && a.Score == b.Score }) {
		t.Fatalf("%s: %d matches, %v\n%s: %d matches, %v", m, got.Matches, got.Hits, q.Node, want.Matches, want.Hits)
	}
}

func (l *textHistory) likeQuery(m *query.MoreLikeThis, like, unlike []historyDoc) query.Node {
	type typical struct {
		field int
		term  string
		score float64
	}
	fields := m.Fields
	if len(fields) == 0 {
		fields = []string{""}
	}
	var all []typical
	for _, f := range fields {
		counts, skip := map[string]int{}, map[string]bool{}
		for i := range like {
			for _, w := range slices.Concat(like[i].tokens(f)...) {
				counts[w]++
			}
		}
		for _, text := range m.Texts {
			words := strings.Fields(text)
			if f == "kind" {
				words = []string{text}
			}
			for _, w := range words {
				counts[w]++
			}
		}
		for i := range unlike {
			for _, w := range slices.Concat(unlike[i].tokens(f)...) {
				skip[w] = true
			}
		}
		freqs := l.docFreqs(f)
		for w, n := range counts {
			length := utf8.RuneCountInString(w)
			if skip[w] || n < cmp.Or(m.MinTermFreq, 2) || freqs[w] < cmp.Or(m.MinDocFreq, 5) || m.MaxDocFreq > 0 && freqs[w] > m.MaxDocFreq ||
				length < m.MinLength || m.MaxLength > 0 && length > m.MaxLength {
				continue
			}
			score := float64(n) * (math.Log(float64(len(l.live)+1)/float64(freqs[w]+1)) + 1)
			all = append(all, typical{slices.Index([]string{"", "title", "body", "kind"}, f), w, score})
		}
	}
	slices.SortFunc(all, func(x, y typical) int {
		return cmp.Or(cmp.Compare(y.score, x.score), x.field-y.field, strings.Compare(x.term, y.term))
	})
	all = all[:min(len(all), cmp.Or(m.MaxTerms, 25))]
	b := &query.Boolean{AtLeast: cmp.Or(m.AtLeast, "30%"), Boost: m.Boost}
	for _, w := range all {
		term := &query.Term{Field: []string{"", "title", "body", "kind"}[w.field], Text: w.term, Exact: true}
		if m.BoostTerms > 0 {
			term.Boost = m.BoostTerms * w.score / all[0].score
		}
		b.Clauses = append(b.Clauses, query.Clause{Occur: query.Should, Node: term})
	}
	if m.Include || len(m.IDs) == 0 {
		return b
	}
	if len(b.Clauses) == 0 {
		return b
	}
	return query.Exclude(b, &query.IDs{IDs: m.IDs})
}

// TestSuggestions compares suggestions, completions and queries for similar documents with loops over the live
// documents of random indexes.
func TestSuggestions(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newTextHistory(t, seed)
			for range 40 {
				l.checkTerms(t)
				l.checkPhrases(t)
				l.checkComplete(t)
				l.checkMean(t)
				l.checkLike(t)
			}
		})
	}
}

// Words that are neighbours in documents are better than words that are more frequent.
func TestPhrasePrefersNeighbours(t *testing.T) {
	ctx := t.Context()
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "ix"), griffin.Settings{Analyzer: "simple"}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer ix.Close()
	for i := range 100 {
		text := fmt.Sprintf("dates of page%d in a list", i)
		switch {
		case i < 5:
			text = "the datas server of the team"
		case i < 60:
			text = fmt.Sprintf("a server with number%d", i)
		}
		if err := ix.Add(ctx, griffin.Document{ID: fmt.Sprint(i), Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(ctx); err != nil {
		t.Fatal(err)
	}
	options, err := griffin.NewSuggester(ix).Phrases(ctx, griffin.PhraseSuggest{Candidates: griffin.TermSuggest{Text: "datass server"}})
	if err != nil || len(options) < 2 || options[0].Text != "datas server" || options[1].Text != "dates server" {
		t.Errorf("%+v, %v, want datas server, then dates server", options, err)
	}
}
