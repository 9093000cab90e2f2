package analysis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// arcsOf has arcs also where Arcs is nil.
func arcsOf(a Analyzer, tokens []Token) []Arc {
	if arcs := Arcs(a); arcs != nil {
		return arcs
	}
	arcs := make([]Arc, len(tokens))
	for i := range arcs {
		arcs[i] = Arc{1, 1}
	}
	return arcs
}

func showPaths(tokens []Token, paths []Path) string {
	var all []string
	for _, p := range paths {
		var b strings.Builder
		for i, token := range p.Tokens {
			fmt.Fprintf(&b, " %s@%d", tokens[token].Term, p.Offsets[i])
		}
		all = append(all, b.String()[1:])
	}
	return strings.Join(all, " | ")
}

func TestSections(t *testing.T) {
	for _, tc := range []struct{ analyzer, text, sections, paths string }{
		{`{"type": "code"}`, "fooBar x", "foobar@0 | foo@0 bar@1; x@0", "foobar@0 x@2 | foo@0 bar@1 x@2"},
		{`{"tokenizer": "whitespace", "filter": ["stop", {"type": "synonym", "synonyms": ["ny, new york"]}]}`, "x the ny y", "x@0; ny@0 | new@0 york@1; y@0", "x@0 ny@2 y@3 | x@0 new@2 york@3 y@4"},
		{`{"tokenizer": "whitespace", "filter": ["stop", {"type": "synonym", "synonyms": ["a b, c d e"]}]}`, "a b", "b@0 | c@0 d@1 e@2", "b@0 | c@0 d@1 e@2"},
		{`{"tokenizer": "whitespace", "filter": [{"type": "synonym", "synonyms": ["a b, c d e"]}]}`, "a b", "a@0 b@1 | c@0 d@1 e@2", "a@0 b@1 | c@0 d@1 e@2"},
		{`{"tokenizer": "whitespace", "filter": [{"type": "edge_ngram", "max_gram": 3}]}`, "ab c", "a@0 | ab@0; c@0", "a@0 c@1 | ab@0 c@1"},
		{`{"tokenizer": "standard", "filter": [{"type": "cjk_bigram", "output_unigrams": true}]}`, "東京都", "東@0 京@1 都@2 | 東@0 京都@1 | 東京@0 都@2", "東@0 京@1 都@2 | 東@0 京都@1 | 東京@0 都@2"},
	} {
		lenient := strings.Replace(tc.analyzer, `"synonyms"`, `"lenient": true, "synonyms"`, 1)
		a := mustNew(t, settingsOf(t, lenient), "a", Queries)
		tokens := a.Tokens(nil, []byte(tc.text))
		sections, err := Sections(tokens, arcsOf(a, tokens), 100)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, s := range sections {
			got = append(got, showPaths(tokens, s))
		}
		if strings.Join(got, "; ") != tc.sections {
			t.Errorf("%s: %q: sections %q, want %s", tc.analyzer, tc.text, got, tc.sections)
		}
		paths, err := AllPaths(tokens, arcsOf(a, tokens), 100)
		if err != nil {
			t.Fatal(err)
		}
		if got := showPaths(tokens, paths); got != tc.paths {
			t.Errorf("%s: %q: paths %s, want %s", tc.analyzer, tc.text, got, tc.paths)
		}
	}
}

func TestTooManyPaths(t *testing.T) {
	a := mustNew(t, settingsOf(t, `{"tokenizer": "whitespace", "filter": [{"type": "edge_ngram", "max_gram": 9}]}`), "a", Queries)
	tokens := a.Tokens(nil, []byte("abcdefghi abcdefghi abcdefghi abcdefghi"))
	if _, err := AllPaths(tokens, Arcs(a), 6560); !errors.Is(err, ErrTooManyPaths) {
		t.Errorf("6,561 paths: %v", err)
	}
	if paths, err := AllPaths(tokens, Arcs(a), 6561); err != nil || len(paths) != 6561 {
		t.Errorf("%d paths, %v", len(paths), err)
	}
	if _, err := Sections(tokens, Arcs(a), 36); err != nil {
		t.Error(err)
	}
	if _, err := Sections(tokens, Arcs(a), 35); !errors.Is(err, ErrTooManyPaths) {
		t.Errorf("36 paths: %v", err)
	}
}
