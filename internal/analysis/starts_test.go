package analysis

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// found is Find, without tokens whose terms are not sought.
func found(a Analyzer, text string, terms ...string) (out []string, numWords int) {
	var s Starts
	for _, t := range terms {
		s.Add(t)
	}
	tokens, numWords := s.Find(a, nil, []byte(text))
	for _, t := range tokens {
		if slices.Contains(terms, string(t.Term)) {
			out = append(out, fmt.Sprintf("%s %d %d-%d", t.Term, t.Position, t.Start, t.End))
		}
	}
	return out, numWords
}

func TestStarts(t *testing.T) {
	a, err := New("english")
	if err != nil {
		t.Fatal(err)
	}
	text := "The skies over Österreich: a sky's colour, SKYING. y"
	got, n := found(a, text, "sky", "ski", "österreich", "y")
	if want := []string{"ski 1 4-9", "österreich 3 15-26", "sky 5 30-35", "sky 7 44-50", "y 8 52-53"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n != 9 {
		t.Errorf("%d words, want 9", n)
	}
	var s Starts
	s.Add("sky")
	if tokens, _ := s.Find(a, nil, []byte(text)); len(tokens) != 4 { // and the word that is not ASCII
		t.Errorf("%d tokens", len(tokens))
	}
}

// keepers are the analyzers whose chains say that they keep the starts of words.
func keepers(t *testing.T) map[string]*wordAnalyzer {
	all := map[string]*wordAnalyzer{}
	for _, name := range Names() {
		a, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		if w, ok := a.(*wordAnalyzer); ok && keepsStart(w.terms.maker) {
			all[name] = w
		}
	}
	for _, name := range []string{"english", "english-full", "english-porter2", "standard"} {
		if all[name] == nil {
			t.Errorf("%s does not keep starts", name)
		}
	}
	return all
}

// startKept reports what keepsStart promises of a word of ASCII characters.
func startKept(a *wordAnalyzer, word []byte) (term []byte, kept bool) {
	if a.terms.foldASCII {
		word = bytes.ToLower(word)
	}
	term = a.terms.maker.appendTerm(nil, word)
	if len(term) == 0 {
		return nil, true
	}
	var s Starts
	s.Add(string(term))
	second := byte(0)
	if len(word) > 1 {
		second = word[1]
	}
	return term, s.has(word[0], second)
}

// All words of up to 5 letters of the suffixes that stemmers know, and longer ones at random.
func TestKeepsStart(t *testing.T) {
	const letters = "abdegilnstyYS'"
	for name, a := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			word := make([]byte, 0, 16)
			check := func() {
				if term, ok := startKept(a, word); !ok {
					t.Fatalf("%s becomes %s", word, term)
				}
			}
			var all func(n int)
			all = func(n int) {
				for _, c := range []byte(letters) {
					word = append(word, c)
					if word[0] != '\'' {
						check()
						if n > 1 {
							all(n - 1)
						}
					}
					word = word[:len(word)-1]
				}
			}
			all(4 + map[bool]int{true: 1}[!testing.Short()])
			rng := rand.New(rand.NewPCG(5, 1))
			for range 200_000 {
				word = word[:0]
				for range 2 + rng.IntN(4) {
					word = append(word, byte('a'+rng.IntN(26)))
				}
				word = append(word, []string{"", "ing", "ies", "ied", "ational", "y", "eed", "ed", "es", "izer", "logi", "'s", "S"}[rng.IntN(13)]...)
				check()
			}
		})
	}
}

// Tokens that Find leaves out are of other terms.
func FuzzStarts(f *testing.F) {
	f.Add("The skies over Österreich: a sky's colour, SKYING e\u0301t\u0131", "sky", "ski")
	f.Fuzz(func(t *testing.T, text, one, two string) {
		for name, a := range keepers(t) {
			terms := []string{one, two}
			tokens, numWords := All(a, nil, []byte(text))
			for i, tok := range tokens {
				if i < 3 {
					terms = append(terms, string(tok.Term))
				}
			}
			var want []string
			for _, tok := range tokens {
				if slices.Contains(terms, string(tok.Term)) {
					want = append(want, fmt.Sprintf("%s %d %d-%d", tok.Term, tok.Position, tok.Start, tok.End))
				}
			}
			got, n := found(a, text, terms...)
			if !slices.Equal(got, want) || n < numWords {
				t.Fatalf("%s: %q: got %q, want %q; %d words, at least %d", name, text, got, want, n, numWords)
			}
		}
	})
}
