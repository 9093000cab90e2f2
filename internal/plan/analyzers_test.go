package plan

import (
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/analysis"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/query"
)

func schemeOf(t *testing.T, settings, name string) *analysis.Scheme {
	t.Helper()
	s, err := analysis.ParseSettings([]byte(settings), nil)
	if err != nil {
		t.Fatal(err)
	}
	return analysis.NewScheme(s, name)
}

// A query loses its stop words, unless it has nothing else; a phrase keeps them.
func TestStopWords(t *testing.T) {
	for _, tc := range []struct {
		text, or, and string
		terms         []string
		notes         int
	}{
		{"the who", "0", "0", []string{"who"}, 1},
		{"to be or not to be", "(0^2 1^2 2 3)", "(+0^2 +1^2 +2 +3)", []string{"to", "be", "or", "not"}, 0},
		{`"the who"`, "0~1@1", "0~1@1", []string{"the", "who"}, 0},
		{`"the who" the`, "0~1@1", "0~1@1", []string{"the", "who"}, 1},
		{"the -who", "()", "()", []string{"who"}, 2},
		{"!!! the", "0", "0", []string{"the"}, 1},
	} {
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			c := newCompiler(t, "english-full", true)
			parsed := plantest.Parse(t, tc.text)
			root, err := c.whole(parsed, mode)
			if err != nil {
				t.Fatal(err)
			}
			want := tc.or
			if mode == ModeAnd {
				want = tc.and
			}
			var terms []string
			for _, term := range c.terms {
				terms = append(terms, string(term.bytes))
			}
			if got := nodeString(root); got != want || !slices.Equal(terms, tc.terms) || len(c.notes) != tc.notes {
				t.Errorf("%s, %v: got %s of %q with notes %q, want %s of %q with %d", tc.text, mode, got, terms, c.notes, want, tc.terms, tc.notes)
			}
		}
	}
}

const synonymsOf = `{"analyzer": {"a": {"tokenizer": "whitespace", "filter": [{"type": "synonym_graph", "synonyms": ["ny, new york"]}]}}}`

// Synonyms, and the parts of words, are alternatives.
func TestAlternatives(t *testing.T) {
	for _, tc := range []struct {
		settings, text, or, and string
		words                   bool
	}{
		{settings: `{"analyzer": {"a": {"type": "code"}}}`, text: "fooBar x", or: "(0 1~2@1 3)", and: "(+(0 1~2@1) +3)"},
		{settings: `{"analyzer": {"a": {"type": "code"}}}`, text: `"fooBar x"`, or: "(0~3@2 1~2@1~3@2)", and: "(0~3@2 1~2@1~3@2)"},
		{settings: synonymsOf, text: "in ny now", or: "(0 1 2~3@1 4)", and: "(+0 +(1 2~3@1) +4)"},
		{settings: synonymsOf, text: "in new york now", or: "(0 1~3@1 2 4)", and: "(+0 +(1~3@1 2) +4)", words: true},
		{settings: synonymsOf, text: `"in ny now"`, or: "(0~1@1~4@2 0~2@1~3@2~4@3)", and: "(0~1@1~4@2 0~2@1~3@2~4@3)"},
	} {
		for _, mode := range []Mode{ModeOr, ModeAnd} {
			c := newCompiler(t, "a", true)
			c.analyzers.setScheme(schemeOf(t, tc.settings, "a"))
			var n query.Node = &query.Words{Text: tc.text}
			if !tc.words {
				n = plantest.Parse(t, tc.text)
			}
			root, err := c.compile(n, mode, 1)
			if err != nil {
				t.Fatal(err)
			}
			want := tc.or
			if mode == ModeAnd {
				want = tc.and
			}
			var terms []string
			for _, term := range c.terms {
				terms = append(terms, string(term.bytes))
			}
			if got := nodeString(root); got != want {
				t.Errorf("%s, %v: got %s of %q, want %s", tc.text, mode, got, terms, want)
			}
		}
	}
}

func TestAlternativesWithoutPositions(t *testing.T) {
	c := newCompiler(t, "a", false)
	c.analyzers.setScheme(schemeOf(t, synonymsOf, "a"))
	root, err := c.compile(plantest.Parse(t, "ny"), ModeOr, 1)
	if err != nil {
		t.Fatal(err)
	}
	if got := nodeString(root); got != "(0 (+1 +2))" || len(c.notes) != 1 {
		t.Errorf("got %s with notes %q", got, c.notes)
	}
	if _, err := c.compile(plantest.Parse(t, `"in ny"`), ModeOr, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a phrase: %v", err)
	}
}

func TestTooManyAlternatives(t *testing.T) {
	c := newCompiler(t, "a", true)
	c.analyzers.setScheme(schemeOf(t, `{"analyzer": {"a": {"tokenizer": "whitespace", "filter": [{"type": "edge_ngram", "max_gram": 20}]}}}`, "a"))
	if _, err := c.compile(plantest.Parse(t, `"abcdefghijkl abcdefghijkl abcdefghijkl"`), ModeOr, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("12 * 12 * 12 alternatives: %v", err)
	}
	if _, err := c.compile(&query.Words{Text: "abcdefghijkl abcdefghijkl abcdefghijkl"}, ModeOr, 1); err != nil {
		t.Errorf("3 * 12 alternatives: %v", err)
	}
}
