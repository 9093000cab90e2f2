package griffin_test

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/suggest"
)

// similarWords is Suggester.Terms by loops, for a word. freqs counts the documents of each word.
func similarWords(freqs map[string]int, numDocs int, word string, o *griffin.TermSuggest) (all []similarWord) {
	length := utf8.RuneCountInString(word)
	share := func(n float64) float64 {
		if n < 1 {
			return math.Ceil(n * float64(numDocs))
		}
		return n
	}
	prefix := max(cmp.Or(o.PrefixLength, 1), 0)
	if length < cmp.Or(o.MinWordLength, 4) || o.Mode == griffin.SuggestMissing && freqs[word] > 0 || float64(freqs[word]) > share(cmp.Or(o.MaxTermFreq, 0.01)) {
		return nil
	}
	for w, n := range freqs {
		edits := suggest.Distance(word, w)
		score := 1 - float64(edits)/float64(min(length, utf8.RuneCountInString(w)))
		begin := []rune(word)[:min(prefix, length)]
		switch {
		case w == word, edits > cmp.Or(o.MaxEdits, 2), score < 0.5, !strings.HasPrefix(w, string(begin)):
		case float64(n) < share(o.MinDocFreq), o.Mode == griffin.SuggestPopular && n <= freqs[word]:
		default:
			all = append(all, similarWord{w, score, n})
		}
	}
	slices.SortFunc(all, func(x, y similarWord) int {
		score, freq := cmp.Compare(y.score, x.score), y.freq-x.freq
		if o.ByFrequency {
			return cmp.Or(freq, score, strings.Compare(x.word, y.word))
		}
		return cmp.Or(score, freq, strings.Compare(x.word, y.word))
	})
	return all[:min(len(all), cmp.Or(o.Size, 5))]
}

func areNeighbours(words []string, first, second string) bool {
	for i := 1; i < len(words); i++ {
		if words[i-1] == first && words[i] == second {
			return true
		}
	}
	return false
}

// checkCorrections compares corrections with every combination of similar words. pairs counts the documents with two words side by
// side; nil: the index has no positions.
func checkCorrections(t *testing.T, ix *griffin.Index, o *griffin.PhraseSuggest, freqs map[string]int, numDocs int, pairs func(first, second string) int) {
	t.Helper()
	got, err := griffin.NewSuggester(ix).Phrases(t.Context(), *o)
	if err != nil {
		t.Fatalf("%+v: %v", *o, err)
	}
	words := strings.Fields(o.Candidates.Text)
	choices := make([][]similarWord, len(words))
	total := 0
	for _, n := range freqs {
		total += n
	}
	for i, w := range words {
		choices[i] = append([]similarWord{{w, 0.95, freqs[w]}}, similarWords(freqs, numDocs, w, &o.Candidates)...)
	}
	type path struct {
		text, marked string
		score        float64
	}
	var all []path
	least := 0.0
	var walk func(i, errors int, words []similarWord, marked []string)
	walk = func(i, errors int, words []similarWord, marked []string) {
		if errors > int(o.MaxErrors) {
			return
		}
		if i == len(choices) {
			var texts []string
			for _, w := range words {
				texts = append(texts, w.word)
			}
			p := path{strings.Join(texts, " "), strings.Join(marked, " "), math.Exp(likelihood(words, total, pairs))}
			if errors == 0 {
				confidence := map[float64]float64{0: 1, -1: 0, 2: 2}[o.Confidence]
				least = p.score * confidence
				return
			}
			all = append(all, p)
			return
		}
		for k, c := range choices[i] {
			word := c.word
			if k > 0 {
				word = "<" + word + ">"
			}
			walk(i+1, errors+min(k, 1), append(words[:i:i], c), append(marked[:i:i], word))
		}
	}
	walk(0, 0, nil, nil)
	slices.SortFunc(all, func(x, y path) int { return cmp.Or(cmp.Compare(y.score, x.score), strings.Compare(x.text, y.text)) })
	all = slices.DeleteFunc(all, func(p path) bool { return p.score <= least })
	all = all[:min(len(all), o.Size)]
	if len(got) != len(all) {
		t.Fatalf("%+v: %+v\nwant %+v", *o, got, all)
	}
	for i, p := range all {
		if math.Abs(got[i].Score-p.score) > 1e-12*p.score {
			t.Fatalf("%+v: correction %d: %+v\nwant %+v", *o, i, got[i], p)
		}
		if strings.Join(strings.Fields(got[i].Text), " ") != p.text || strings.Join(strings.Fields(got[i].Highlighted), " ") != p.marked {
			if i+1 < len(all) && all[i+1].score == p.score || i > 0 && all[i-1].score == p.score {
				continue // paths with equal sums by another order of additions
			}
			t.Fatalf("%+v: correction %d: %+v\nwant %+v", *o, i, got[i], p)
		}
	}
}

// likelihood of a text by the noisy channel. total is the sum of the document frequencies of all words.
func likelihood(words []similarWord, total int, pairs func(first, second string) int) (sum float64) {
	for i, w := range words {
		p := (1 + float64(w.freq)) / (1 + float64(total))
		if i > 0 && pairs != nil {
			n := pairs(words[i-1].word, w.word)
			if p *= 0.4; n > 0 {
				p = float64(n) / float64(words[i-1].freq)
			}
		}
		sum += math.Log10(w.score * p)
	}
	return sum
}

// completedDoc is a document with its values of the field that is completed, and its greatest number of the field Weight.
type completedDoc struct {
	id     string
	values []string
	weight float64
}

// checkCompletions compares completions with a loop over all documents, in the order of writing.
func checkCompletions(t *testing.T, ix *griffin.Index, o *griffin.Complete, docs func(yield func(d completedDoc))) {
	t.Helper()
	edits, prefix := 0, 0
	if o.Fuzzy != nil {
		if utf8.RuneCountInString(o.Text) >= o.Fuzzy.MinLength {
			edits = int(o.Fuzzy.Edits[0] - '0')
		}
		prefix = max(cmp.Or(o.Fuzzy.PrefixLength, 1), 0)
	}
	found := map[string]*griffin.Completion{}
	docs(func(d completedDoc) {
		for _, v := range slices.Compact(slices.Sorted(slices.Values(d.values))) {
			c := found[v]
			if c == nil {
				c = &griffin.Completion{Text: v, ID: d.id, Score: d.weight}
				found[v] = c
			}
			if c.Freq++; o.Weight == "" {
				c.Score = float64(c.Freq)
			} else if d.weight > c.Score {
				c.Score, c.ID = d.weight, d.id
			}
		}
	})
	want := []griffin.Completion{}
	text := []rune(strings.ToLower(o.Text))
	for _, c := range found {
		value := []rune(strings.ToLower(c.Text))
		c.Edits = math.MaxInt
		for n := range len(value) + 1 {
			c.Edits = min(c.Edits, suggest.Distance(string(text), string(value[:n])))
		}
		if c.Edits > edits || edits > 0 && !strings.HasPrefix(string(value), string(text[:min(prefix, len(text))])) {
			continue
		}
		want = append(want, *c)
	}
	slices.SortFunc(want, func(x, y griffin.Completion) int {
		return cmp.Or(x.Edits-y.Edits, cmp.Compare(y.Score, x.Score), strings.Compare(x.Text, y.Text))
	})
	want = want[:min(len(want), o.Size)]
	got, err := griffin.NewSuggester(ix).Complete(t.Context(), *o)
	if err != nil {
		t.Fatalf("%+v: %v", *o, err)
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%+v %+v:\n%+v\nwant %+v", *o, o.Fuzzy, got, want)
	}
}
