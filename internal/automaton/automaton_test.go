package automaton

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

func randomText(rng *rand.Rand, alphabet []rune, most int) string {
	var b strings.Builder
	for range rng.IntN(most + 1) {
		b.WriteRune(alphabet[rng.IntN(len(alphabet))])
	}
	return b.String()
}

// Expressions in the common syntax match the same texts as in Go.
func TestRegexpAsInGo(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	alphabet := []rune("ab1é日")
	var random func(depth int) string
	random = func(depth int) string {
		if depth == 0 {
			return []string{"a", "b", "1", "é", "日", ".", "[ab]", "[^a]", "[a-é]", `\d`, `\w`, `\D`, `\.`, "()"}[rng.IntN(14)]
		}
		switch rng.IntN(6) {
		case 0:
			return "(" + random(depth-1) + "|" + random(depth-1) + ")"
		case 1:
			return "(" + random(depth-1) + ")" + []string{"*", "+", "?", "{2}", "{1,}", "{0,2}"}[rng.IntN(6)]
		case 2:
			return random(depth - 1)
		}
		return random(depth-1) + random(depth-1)
	}
	matched := 0
	for range 2000 {
		pattern := random(4)
		p, err := Regexp(pattern, 10_000)
		if err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
		a, re := p.Automaton(), regexp.MustCompile("^(?s:"+pattern+")$")
		for range 30 {
			text := randomText(rng, alphabet, 6)
			want := re.MatchString(text)
			if got := a.Match(text); got != want {
				t.Fatalf("/%s/ matches %q: %t, want %t", pattern, text, got, want)
			}
			if want {
				matched++
			}
		}
		if err := a.Err(); err != nil {
			t.Fatalf("%s: %v", pattern, err)
		}
	}
	if matched < 5000 {
		t.Errorf("only %d of 60000 texts matched", matched)
	}
}

// What Go's syntax lacks.
func TestRegexp(t *testing.T) {
	for _, test := range []struct{ pattern, matches, others string }{
		{"", "", "a"},
		{"a&b", "", "a b ab"},
		{".*a.*&.*b.*", "ab ba xaxbx", "a b xx"},
		{"~a", "b aa abc", "a"},
		{"~~a", "a", "b"},
		{"ab~c", "ab abcc abd", "abc a"},
		{"a@", "a abc", "ba b"},
		{"@", "a xyz", ""},
		{"a#b|c", "c", "ab a"},
		{`"a.b*"c`, "a.b*c", "axbc"},
		{`a\.b`, "a.b", "axb"},
		{"<5-12>", "5 12 7 07 012 0005", "4 13 x 120 1"},
		{"<05-12>", "05 12 07", "5 7 012 13 04"},
		{"<0-0>", "0", "00 1"},
		{"<0-10>", "0 00 10 010 9", "11 100"},
		{"x<98-1002>y", "x98y x99y x100y x0999y x1002y", "x97y x1003y"},
		{"<12-5>", "5 12 7", "4"},
		{"[a-cx]", "a b c x", "d ab"},
		{"[]a]", "] a", "b"},
		{"[^]a]", "b x", "] a"},
		{`[\d_]+`, "1_2", "a"},
		{`\S+`, "ab", "\u0020"},
		{"(a|b){2,3}", "ab aab", "a aaaa"},
		{"^a$", "^a$", "a"},
		{"日.語", "日本語", "日語"},
	} {
		p, err := Regexp(test.pattern, 10_000)
		if err != nil {
			t.Errorf("%s: %v", test.pattern, err)
			continue
		}
		a := p.Automaton()
		for _, text := range strings.Fields(test.matches) {
			if !a.Match(text) {
				t.Errorf("/%s/ does not match %q", test.pattern, text)
			}
		}
		for _, text := range strings.Fields(test.others) {
			if a.Match(text) {
				t.Errorf("/%s/ matches %q", test.pattern, text)
			}
		}
	}
}

func TestRegexpFaults(t *testing.T) {
	for _, test := range []struct {
		pattern, want string
	}{
		{"(a", "byte 2: a group is not closed"},
		{"a)", `byte 1: ")" ends no group`},
		{"a|", "byte 2: an expression is missing"},
		{"|a", "byte 0: an expression is missing"},
		{"a&", "byte 2: an expression is missing"},
		{"[a", "byte 2: a class is not closed"},
		{"[b-a]", "byte 4: no range of characters"},
		{"a{2", "byte 3: no repetition"},
		{"a{2,1}", "byte 6: no repetition"},
		{"a{x}", "byte 2: no repetition"},
		{`"a`, "byte 1: a quote is not closed"},
		{"<1-", "byte 1: an interval is not closed"},
		{"<a-b>", "byte 1: no interval"},
		{`a\`, "byte 2: a backslash at the end"},
		{"*", ""}, // a character, as in Lucene
		{"~", "byte 1: an expression is missing at the end"},
		{strings.Repeat("(", 300) + "a" + strings.Repeat(")", 300), "more than 200 groups"},
		{"a{100000000}", "too complex"},
		{"((((a{100}){100}){100}){100})", "too complex"},
	} {
		_, err := Regexp(test.pattern, 10_000)
		switch {
		case test.want == "":
			if err != nil {
				t.Errorf("%s: %v", test.pattern, err)
			}
		case err == nil || !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), test.want):
			t.Errorf("%.20s: error %v, want %q", test.pattern, err, test.want)
		}
	}
}

// A pattern that needs too many states has an error, and none of its terms match from then on.
func TestTooManyStates(t *testing.T) {
	p, err := Regexp("(a|b)*a(a|b){14}", 1000)
	if err != nil {
		t.Fatal(err)
	}
	a := p.Automaton()
	rng := rand.New(rand.NewPCG(2, 2))
	for range 2000 {
		a.Match(randomText(rng, []rune("ab"), 40))
	}
	if err := a.Err(); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "more than 1000 states") {
		t.Errorf("error %v", err)
	}
	if a.Match("aaaaaaaaaaaaaaa") {
		t.Error("a term matches after the error")
	}
	if other := p.Automaton(); !other.Match("aaaaaaaaaaaaaaa") || other.Err() != nil {
		t.Error("another automaton of the pattern has the error too")
	}
}

func TestWildcard(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	var match func(p, s []rune) bool
	match = func(p, s []rune) bool {
		switch {
		case len(p) == 0:
			return len(s) == 0
		case p[0] == '*':
			return match(p[1:], s) || len(s) > 0 && match(p, s[1:])
		case len(s) == 0:
			return false
		case p[0] == '?':
			return match(p[1:], s[1:])
		}
		return p[0] == s[0] && match(p[1:], s[1:])
	}
	for range 3000 {
		pattern := randomText(rng, []rune("aaé日**?"), 6)
		p, err := Wildcard(pattern, 10_000)
		if err != nil {
			t.Fatal(err)
		}
		if literal, _, _ := strings.Cut(strings.ReplaceAll(pattern, "?", "*"), "*"); p.Prefix() != literal {
			t.Fatalf("%s: prefix %q", pattern, p.Prefix())
		}
		a := p.Automaton()
		for range 20 {
			text := randomText(rng, []rune("aé日"), 6)
			if got, want := a.Match(text), match([]rune(pattern), []rune(text)); got != want {
				t.Fatalf("%s matches %q: %t, want %t", pattern, text, got, want)
			}
		}
	}
	p, err := Wildcard(`a\*b\?\\c*`, 100)
	if err != nil {
		t.Fatal(err)
	}
	if a := p.Automaton(); !a.Match(`a*b?\cd`) || a.Match(`axb?\cd`) || p.Prefix() != `a*b?\c` {
		t.Errorf("escapes: prefix %q", p.Prefix())
	}
}

// osa is the optimal string alignment distance by the whole table.
func osa(a, b []rune, swaps bool) int {
	table := make([][]int, len(a)+1)
	for i := range table {
		table[i] = make([]int, len(b)+1)
		for j := range table[i] {
			if i == 0 || j == 0 {
				table[i][j] = i + j
				continue
			}
			changed := table[i-1][j-1]
			if a[i-1] != b[j-1] {
				changed++
			}
			table[i][j] = min(changed, table[i-1][j]+1, table[i][j-1]+1)
			if swaps && i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				table[i][j] = min(table[i][j], table[i-2][j-2]+1)
			}
		}
	}
	return table[len(a)][len(b)]
}

func TestSimilar(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	alphabet := []rune("abé日")
	within := 0
	for range 3000 {
		word := randomText(rng, alphabet, 7)
		edits, prefix, swaps := rng.IntN(4), rng.IntN(3), rng.IntN(3) > 0
		s := NewSimilar(word, edits, prefix, swaps)
		for range 40 {
			text := randomText(rng, alphabet, 8)
			want := osa([]rune(word), []rune(text), swaps)
			n := min(prefix, utf8.RuneCountInString(word))
			if runes := []rune(text); len(runes) < n || string(runes[:n]) != string([]rune(word)[:n]) {
				want = edits + 1
			}
			got := s.Distance(text)
			if got != want && (got <= edits || want <= edits) {
				t.Fatalf("%q and %q, at most %d edits, prefix %d, swaps %t: %d, want %d", word, text, edits, prefix, swaps, got, want)
			}
			if want <= edits {
				within++
			}
		}
	}
	if within < 5000 {
		t.Errorf("only %d texts are within the edits", within)
	}
	if s := NewSimilar("ab", 1, 0, true); s.Distance("a\xff") <= 1 || s.Distance("a\xe9") <= 1 {
		t.Error("texts that are not UTF-8 are similar")
	}
}

func FuzzRegexp(f *testing.F) {
	for _, s := range []string{"a|b&~c*", `<1-20>"x"[^a-z\d]{2,3}`, "(((", "@#.", "日+?"} {
		f.Add(s, "ab1")
	}
	f.Fuzz(func(t *testing.T, pattern, text string) {
		p, err := Regexp(pattern, 200)
		if err != nil {
			if !errors.Is(err, base.ErrBadInput) {
				t.Fatal(err)
			}
			return
		}
		a := p.Automaton()
		first := a.Match(text)
		if a.Err() == nil && a.Match(text) != first {
			t.Fatalf("/%s/ matches %q differently the second time", pattern, text)
		}
		if len(a.states) > 201 {
			t.Fatalf("%d states", len(a.states))
		}
		if not, err := Regexp("~("+pattern+")", 200); err == nil && pattern != "" {
			if b := not.Automaton(); b.Match(text) == first && a.Err() == nil && b.Err() == nil {
				t.Fatalf("/%s/ and its complement agree on %q", pattern, text)
			}
		}
	})
}

func ExampleRegexp() {
	p, err := Regexp("gr[ae]y|colou?r", 1000)
	if err != nil {
		panic(err)
	}
	a := p.Automaton()
	fmt.Println(a.Match("grey"), a.Match("color"), a.Match("colours"))
	// Output: true true false
}
