package analysis

import (
	"testing"
)

func TestTrimPossessive(t *testing.T) {
	for word, want := range map[string]string{
		"": "", "s": "s", "'s": "", "dog's": "dog", "DOG'S": "DOG", "dog’s": "dog", "dog＇s": "dog",
		"dogs'": "dogs'", "dogs": "dogs", "it's's": "it's", "dog`s": "dog`s", "\x99s": "\x99s",
	} {
		t.Run(word, func(t *testing.T) {
			if got := string(trimPossessive([]byte(word))); got != want {
				t.Errorf("trimPossessive(%q) = %q, want %q", word, got, want)
			}
		})
	}
}

func TestEnglishStopWords(t *testing.T) {
	if n := len(englishStopWords); n != 33 {
		t.Errorf("%d stop words, want Lucene's 33", n)
	}
	for w := range englishStopWords {
		if len(w) > maxStopWordBytes {
			t.Errorf("stop word %q is longer than maxStopWordBytes", w)
		}
	}
}

// Without cache, fast paths and shared buffers.
func referenceEnglish(text []byte) (tokens []Token) {
	for position, r := range referenceWords(text) {
		word := appendLower(nil, trimPossessive(text[r[0]:r[1]]))
		if !englishStopWords[string(word)] {
			tokens = append(tokens, Token{Term: []byte(porterOracle(string(word))), Start: int32(r[0]), End: int32(r[1]), Position: uint32(position)})
		}
	}
	return tokens
}

func TestEnglishMatchesReference(t *testing.T) {
	a, err := New("english")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range wikiTexts(t, 512<<10) {
		sameTokens(t, a.Tokens(nil, text), referenceEnglish(text))
	}
}

func sameTokens(t *testing.T, got, want []Token) {
	t.Helper()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			t.Fatalf("token %d of %d: missing, want %q at %d", i, len(want), want[i].Term, want[i].Start)
		case i >= len(want):
			t.Fatalf("token %d: %q at %d, want none", i, got[i].Term, got[i].Start)
		}
		g, w := got[i], want[i]
		if string(g.Term) != string(w.Term) || g.Start != w.Start || g.End != w.End || g.Position != w.Position {
			t.Fatalf("token %d: got %q [%d:%d] position %d, want %q [%d:%d] position %d",
				i, g.Term, g.Start, g.End, g.Position, w.Term, w.Start, w.End, w.Position)
		}
	}
}
