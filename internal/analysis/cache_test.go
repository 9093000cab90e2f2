package analysis

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// More distinct words than the cache holds: terms must stay correct until the call ends, and
// memory bounded.
func TestTermCacheOverflow(t *testing.T) {
	const numWords = maxCacheSlots // twice the capacity
	var b strings.Builder
	for i := range numWords {
		fmt.Fprintf(&b, "Word%d averyverylongword%d ", i, i)
	}
	text := []byte(b.String())
	a := newWordAnalyzer("test", true /* foldASCII */, lowerTerms{})
	var tokens []Token
	for call := range 3 {
		tokens = a.Tokens(tokens[:0], text)
		if len(tokens) != 2*numWords {
			t.Fatalf("call %d: %d tokens, want %d", call, len(tokens), 2*numWords)
		}
		for i := range numWords {
			short, long := fmt.Sprintf("word%d", i), fmt.Sprintf("averyverylongword%d", i)
			if string(tokens[2*i].Term) != short || string(tokens[2*i+1].Term) != long {
				t.Fatalf("call %d: terms %q and %q, want %q and %q", call, tokens[2*i].Term, tokens[2*i+1].Term, short, long)
			}
		}
		if n := len(a.terms.slots); n > maxCacheSlots {
			t.Fatalf("%d slots, more than %d", n, maxCacheSlots)
		}
		if n := len(a.terms.arena); n > maxArenaBytes {
			t.Fatalf("%d bytes of terms, more than %d", n, maxArenaBytes)
		}
	}
}

// A sweep keeps words seen again.
func TestTermCacheKeepsFrequentWords(t *testing.T) {
	maker := &countingTerms{made: map[string]int{}}
	a := newWordAnalyzer("test", true /* foldASCII */, maker)
	var text []byte
	var tokens []Token
	for i := range 2 * maxCacheSlots { // sweeps twice
		text = strconv.AppendInt(append(text[:0], "often internationalisation rare"...), int64(i), 10)
		tokens = a.Tokens(tokens[:0], text)
		if string(tokens[0].Term) != "often" || string(tokens[1].Term) != "internationalisation" {
			t.Fatalf("terms %q and %q of %q", tokens[0].Term, tokens[1].Term, text)
		}
	}
	for _, word := range []string{"often", "internationalisation"} {
		if n := maker.made[word]; n != 1 {
			t.Errorf("the term of %q was made %d times, want once", word, n)
		}
	}
}

type countingTerms struct{ made map[string]int }

func (c *countingTerms) appendTerm(dst, word []byte) []byte {
	c.made[string(word)]++
	return append(dst, word...)
}

type lowerTerms struct{}

func (lowerTerms) appendTerm(dst, word []byte) []byte { return appendLower(dst, word) }

func TestFoldASCII8(t *testing.T) {
	for c := range 256 {
		for place := range 8 {
			x := uint64(c) << (8 * place)
			want := x
			if 'A' <= c && c <= 'Z' {
				want = uint64(c+'a'-'A') << (8 * place)
			}
			// Bytes beside must not change and have no effect.
			beside := uint64(0x7aff00416180c35b) &^ (0xff << (8 * place))
			folded := foldASCII8(beside | x)
			if got := folded & (0xff << (8 * place)); got != want {
				t.Fatalf("byte %#x at %d became %#x", c, place, got>>(8*place))
			}
		}
	}
}

func TestLoadWord(t *testing.T) {
	text := []byte("0123456789abcdefghijklmnop")
	for start := range text {
		for n := 1; n <= 16 && start+n <= len(text); n++ {
			lo, hi := loadWord(text, start, n)
			var got []byte
			for i := range 16 {
				x := lo
				if i >= 8 {
					x = hi
				}
				got = append(got, byte(x>>(8*(i%8))))
			}
			if want := string(text[start:start+n]) + strings.Repeat("\x00", 16-n); string(got) != want {
				t.Fatalf("loadWord(%d, %d) = %q, want %q", start, n, got, want)
			}
		}
	}
}
