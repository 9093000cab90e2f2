package query

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestBuild(t *testing.T) {
	term := func(text string) Node { return &Term{Text: text} }
	tests := []struct {
		name string
		node Node
		want string
	}{
		{"term", &Term{Field: "title", Text: "whale", Boost: 2}, "title:whale^2"},
		{"boost 0 is 1", &Phrase{Text: "white whale"}, `"white whale"`},
		{"all", All(term("a"), term("b")), "+a +b"},
		{"any", Any(term("a"), term("b")), "a OR b"},
		{"group", Group(term("a"), term("b")), "a b"},
		{"exclude", Exclude(Any(term("a"), term("b")), term("c"), term("d")), "+(a OR b) -c -d"},
		{"excluded between alternatives", &Boolean{Clauses: []Clause{
			{Should, term("a")}, {MustNot, term("c")}, {Should, term("b")},
		}}, "a OR b -c"},
		{"words are escaped", &Words{Text: " -a  b:c AND\u3000d"}, `\-a b\:c \AND d`},
		{"words in a group", All(&Words{Text: "a b", Field: "title", Boost: 3}, term("c")), "+(title:a title:b)^3 +c"},
		{"word that ends in a parenthesis", Group(term("a("), term("b")), `a\( b`},
		{"blank in a term", term("a\u00a0b c"), "a\\\u00a0b\\ c"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if err := Validate(test.node); err != nil {
				t.Fatal(err)
			}
			text := test.node.String()
			if text != test.want {
				t.Fatalf("got %q, want %q", text, test.want)
			}
			again, err := Parse(text, testFields)
			if err != nil {
				t.Fatal(err)
			}
			if got := again.String(); got != text && !strings.Contains(test.name, "excluded") {
				t.Errorf("parsed and formatted again: %q", got)
			}
		})
	}
}

func TestValidate(t *testing.T) {
	deep := Node(&Term{Text: "a"})
	for range maxNodeDepth + 1 {
		deep = Group(deep, &Term{Text: "a"})
	}
	wide := make([]Node, MaxClauses+1)
	for i := range wide {
		wide[i] = &Term{Text: "a"}
	}
	tests := []struct {
		name string
		node Node
		kind error
	}{
		{"nil", nil, ErrSyntax},
		{"nil term", (*Term)(nil), ErrSyntax},
		{"nil in a group", All(nil), ErrSyntax},
		{"empty term", &Term{}, ErrSyntax},
		{"empty nested group", All(Group()), ErrSyntax},
		{"unknown occur", &Boolean{Clauses: []Clause{{Filter + 1, &Term{Text: "a"}}}}, ErrSyntax},
		{"negative boost", &Term{Text: "a", Boost: -1}, ErrSyntax},
		{"NaN", &Phrase{Text: "a", Boost: math.NaN()}, ErrSyntax},
		{"boosts multiply", &Boolean{Boost: 100, Clauses: []Clause{{Must, &Term{Text: "a", Boost: 100}}}}, ErrSyntax},
		{"boost of a group", &Boolean{Boost: 2 * MaxBoost}, ErrSyntax},
		{"weights in a group", All(&Weights{}), ErrSyntax},
		{"negative weight", &Weights{Terms: []TermWeight{{"a", -1}}}, ErrSyntax},
		{"large weight", &Weights{Terms: []TermWeight{{"a", MaxBoost + 1}}}, ErrSyntax},
		{"too many weights", &Weights{Terms: make([]TermWeight, MaxClauses+1)}, ErrTooManyClauses},
		{"too deep", deep, ErrTooDeep},
		{"too wide", Any(wide...), ErrTooManyClauses},
		{"too long", &Words{Text: strings.Repeat("a", MaxBytes+1)}, ErrTooLong},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := Validate(test.node)
			var e *Error
			if !errors.As(err, &e) || !errors.Is(err, test.kind) || !errors.Is(err, base.ErrBadInput) {
				t.Errorf("error %v, want %v", err, test.kind)
			}
		})
	}
	t.Run("empty query", func(t *testing.T) {
		if err := Validate(Group()); err != nil {
			t.Error(err)
		}
	})
}

// Canonical text and tree match the same documents in both modes.
func TestCanonicalTextMatchesTheSame(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20_000 {
		node := randomNode(rng, 3)
		again, err := Parse(node.String(), nil)
		if err != nil {
			t.Fatalf("%q: %v", node, err)
		}
		for words := range uint(1 << len(alphabet)) {
			for _, mode := range []Occur{Must, Should} {
				if got, want := matches(again, words, mode), matches(node, words, mode); got != want {
					t.Fatalf("%#v is written %q, which in mode %d matches %b: %v, want %v", node, node, mode, words, got, want)
				}
			}
		}
	}
}

const alphabet = "abcd"

func randomNode(rng *rand.Rand, depth int) Node {
	if depth == 0 || rng.IntN(3) == 0 {
		word := alphabet[rng.IntN(len(alphabet)):][:1]
		if rng.IntN(2) == 0 {
			return &Phrase{Text: word, Boost: float64(rng.IntN(3))}
		}
		return &Term{Text: word, Boost: float64(rng.IntN(3))}
	}
	b := &Boolean{Boost: float64(rng.IntN(3))}
	occurs := [][]Occur{{Plain, Must, MustNot}, {Should, MustNot}}[rng.IntN(2)]
	for range 1 + rng.IntN(3) {
		b.Clauses = append(b.Clauses, Clause{occurs[rng.IntN(len(occurs))], randomNode(rng, depth-1)})
	}
	return b
}

// A document has a set of words; mode is the Occur of Plain clauses.
func matches(node Node, words uint, mode Occur) bool {
	has := func(word string) bool { return words>>strings.Index(alphabet, word)&1 != 0 }
	switch n := node.(type) {
	case *Term:
		return has(n.Text)
	case *Phrase:
		return has(n.Text)
	case *Boolean:
		required, optional := 0, false
		for _, c := range n.Clauses {
			occur, found := c.Occur, matches(c.Node, words, mode)
			if occur == Plain {
				occur = mode
			}
			switch {
			case occur == MustNot && found, occur == Must && !found:
				return false
			case occur == Must:
				required++
			case occur == Should:
				optional = optional || found
			}
		}
		return required > 0 || optional
	}
	return false
}
