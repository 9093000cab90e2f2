package analysis

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/base"
)

func TestRegistry(t *testing.T) {
	names := Names()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("Names() is not sorted or has duplicates: %q", names)
	}
	if !slices.Contains(names, Default) {
		t.Errorf("Names() lacks the default %q", Default)
	}
	for _, name := range names {
		a, err := New(name)
		if err != nil {
			t.Fatal(err)
		}
		if a.Name() != name {
			t.Errorf("New(%q).Name() = %q", name, a.Name())
		}
		if Describe(name) == "" {
			t.Errorf("Describe(%q) is empty", name)
		}
	}
	for _, name := range []string{"", "klingon", "English"} {
		if _, err := New(name); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("New(%q) = %v, want ErrBadInput", name, err)
		}
		if d := Describe(name); d != "" {
			t.Errorf("Describe(%q) = %q, want nothing", name, d)
		}
	}
}

// Invariants of every analyzer and text.
func checkTokens(t *testing.T, name string, text []byte, tokens []Token) {
	t.Helper()
	for i, token := range tokens {
		fail := func(format string, args ...any) {
			t.Helper()
			t.Fatalf("%s: token %d of %q (%q [%d:%d]): %s", name, i, text, token.Term, token.Start, token.End, fmt.Sprintf(format, args...))
		}
		if len(token.Term) == 0 || !utf8.Valid(token.Term) {
			fail("the term is empty or not UTF-8")
		}
		if token.Start < 0 || token.Start >= token.End || int(token.End) > len(text) {
			fail("offsets out of range")
		}
		if !utf8.Valid(text[token.Start:token.End]) && name != "keyword" {
			fail("the surface is not UTF-8")
		}
		overlapping := name == "code" || name == "cjk"
		if i > 0 && !overlapping && (token.Start < tokens[i-1].End || token.Position <= tokens[i-1].Position) {
			fail("it does not stand after the token before it")
		}
		if i > 0 && overlapping && (token.Start < tokens[i-1].Start || token.Position < tokens[i-1].Position) {
			fail("it stands before the token before it")
		}
		if int(token.Position) >= len(text) {
			fail("position %d", token.Position)
		}
	}
}

var tokenSeeds = append([]string{
	"The dog's tail, U.S.A. 3.14 don't CAN'T",
	strings.Repeat("The Quick brown fox jumps over 12 lazy dogs. ", 20),
	"aaaaaaaaaaaaaaaa AAAAAAAAAAAAAAAAA abcdefgh ABCDEFGHI aaaaaaaaaaaaaaaa1 aaaaaaaaaaaaaaaaa",
	"L'été d’hiver İI ıi'x ß ẞ ſ K Å",
}, segmenterSeeds...)

// The same tokens cold, warm and after earlier contents of dst.
func TestTokens(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			warm, _ := New(name)
			for _, text := range tokenSeeds {
				cold, _ := New(name)
				want := cold.Tokens(nil, []byte(text))
				checkTokens(t, name, []byte(text), want)
				prefix := Token{Term: []byte("kept"), Start: 1, End: 2, Position: 3}
				got := warm.Tokens([]Token{prefix}, []byte(text))
				sameTokens(t, got[:1], []Token{prefix})
				sameTokens(t, got[1:], want)
			}
		})
	}
}

func TestTokensAllocateNothingWhenWarm(t *testing.T) {
	text := []byte("The runners’ dogs were running; internationalisation (and straßenbahnhaltestellen) Книги в 3.14 日本語. ")
	for _, name := range Names() {
		a, _ := New(name)
		tokens := a.Tokens(nil, text)
		if n := testing.AllocsPerRun(100, func() { tokens = a.Tokens(tokens[:0], text) }); n != 0 {
			t.Errorf("%s: %v allocations a call, want 0", name, n)
		}
	}
}

func TestTokensOfHugeRuns(t *testing.T) {
	for _, name := range Names() {
		a, _ := New(name)
		for _, unit := range []string{"x", "ß", "İ", "й", "ப", "字", "ก", "'", "a'", "\xff", "a\xff", "_", "1,", "𝐀"} {
			text := bytes.Repeat([]byte(unit), 16<<10/len(unit))
			checkTokens(t, name, text, a.Tokens(nil, text))
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, text := range tokenSeeds {
		f.Add([]byte(text))
	}
	warm := map[string]Analyzer{}
	for _, name := range Names() {
		warm[name], _ = New(name)
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		for name, a := range warm {
			cold, err := New(name)
			if err != nil {
				t.Fatal(err)
			}
			want := cold.Tokens(nil, text)
			checkTokens(t, name, text, want)
			sameTokens(t, a.Tokens(nil, text), want)
		}
		english, _ := New("english")
		sameTokens(t, english.Tokens(nil, text), referenceEnglish(text))
	})
}
