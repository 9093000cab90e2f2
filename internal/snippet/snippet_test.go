package snippet

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/griffin-search/griffin/internal/analysis"
)

func newAnalyzer(t testing.TB, name string) analysis.Analyzer {
	t.Helper()
	a, err := analysis.New(name)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func marked(t testing.TB, text string, query Query, options Options) string {
	t.Helper()
	fragments := New(newAnalyzer(t, "english"), query, options).Make(text)
	return mark(join(fragments))
}

func terms(words ...string) Query {
	var q Query
	for _, w := range words {
		q.Terms = append(q.Terms, Term{Text: w})
	}
	return q
}

const whale = `Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of the world.

It is a way I have of driving off the spleen and regulating the circulation. Whenever I find myself growing grim about the mouth; whenever it is a damp, drizzly November in my soul; whenever I find myself involuntarily pausing before coffin warehouses, and bringing up the rear of every funeral I meet; and especially whenever my hypos get such an upper hand of me, that it requires a strong moral principle to prevent me from deliberately stepping into the street, and methodically knocking people's hats off, then, I account it high time to get to sea as soon as I can.

This is my substitute for pistol and ball. With a philosophical flourish Cato throws himself upon his sword; I quietly take to the ship.`

func TestMake(t *testing.T) {
	for _, tc := range []struct {
		name    string
		query   Query
		options Options
		want    string
	}{
		{
			"the sentence of the match begins the passage", terms("sword", "cato"),
			Options{MaxChars: 110},
			"With a philosophical flourish [Cato] throws himself upon his [sword]; I quietly take to the ship.",
		},
		{
			"what is left of the budget goes before the last sentence", terms("ship"),
			Options{MaxChars: 160},
			"This is my substitute for pistol and ball. With a philosophical flourish Cato throws himself upon his sword; I quietly take to the [ship].",
		},
		{
			"long sentences are cut at words", terms("hat", "knock"),
			Options{MaxChars: 60},
			"… and methodically [knocking] people's [hats] off, then, I account …",
		},
		{
			"no match: the beginning", terms("albatross"),
			Options{MaxChars: 60},
			"Call me Ishmael. Some years ago, never mind how long …",
		},
		{
			"more distinct terms win over repeats", terms("whenev", "soul", "damp"),
			Options{MaxChars: 70},
			"… [whenever] it is a [damp], drizzly November in my [soul]; [whenever] I find …",
		},
		{
			"weights decide",
			Query{Terms: []Term{{"ishmael", 1}, {"ship", 5}}},
			Options{MaxChars: 40},
			"… his sword; I quietly take to the [ship].",
		},
		{
			"two fragments", terms("ishmael", "ship"),
			Options{MaxChars: 40, MaxFragments: 2},
			"Call me [Ishmael]. Some years ago, never … his sword; I quietly take to the [ship].",
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := marked(t, whale, tc.query, tc.options); got != tc.want {
				t.Errorf("\n got %s\nwant %s", got, tc.want)
			}
		})
	}
}

func TestMakePhrase(t *testing.T) {
	text := "The sea and the old man. " + strings.Repeat("Nothing at all happens here. ", 10) + "An old man of the sea, it is."
	q := terms("old", "man", "sea")
	options := Options{MaxChars: 40}
	if got, want := marked(t, text, q, options), "The [sea] and the [old] [man]."; got != want {
		t.Errorf("without a phrase:\n got %s\nwant %s", got, want)
	}
	q.Phrases = [][]string{{"man", "sea"}}
	if got, want := marked(t, text, q, options), "An [old] [man] of the [sea], it is."; got != want {
		t.Errorf("with a phrase:\n got %s\nwant %s", got, want)
	}
}

// Tokens that overlap are highlighted as one.
func TestMakeOverlaps(t *testing.T) {
	for _, tc := range []struct{ analyzer, query, text, want string }{
		{"code", "parseURL", "x = net.parseURL(s); url parse", "x = net.[parseURL](s); [url] [parse]"},
		{"code", "url", "x = net.parseURL(s)", "x = net.parse[URL](s)"},
		{"cjk", "東京都", "私は東京都に", "私は[東京都]に"},
		{"keyword", "a b", "a b", "[a b]"},
	} {
		a := newAnalyzer(t, tc.analyzer)
		var query Query
		for _, token := range a.Tokens(nil, []byte(tc.query)) {
			query.Terms = append(query.Terms, Term{Text: string(token.Term)})
		}
		fragments := New(a, query, Options{}).Make(tc.text)
		checkFragments(t, tc.text, fragments, query, Options{MaxChars: 220, MaxFragments: 1})
		if got := mark(join(fragments)); got != tc.want {
			t.Errorf("%s: %q in %q: %q, want %q", tc.analyzer, tc.query, tc.text, got, tc.want)
		}
	}
}

func TestMakeCleansText(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"", ""},
		{" \n\t\u00a0\x00 ", ""},
		{"  a\t\tcat\r\n\r\nsat\u3000there  ", "a [cat] sat there"},
		{"cat\x1b[31m\x9b\u009bred\x7f", "[cat] [31m\ufffd red"},
		{"\xffcat\xc3 \xe4\xb8", "\ufffd[cat]\ufffd \ufffd\ufffd"},
		{"日本cat語", "日本[cat]語"},
	} {
		if got := marked(t, tc.text, terms("cat"), Options{}); got != tc.want {
			t.Errorf("snippet of %q: got %q, want %q", tc.text, got, tc.want)
		}
	}
	if fragments := New(newAnalyzer(t, "english"), terms("cat"), Options{}).Make(" "); fragments != nil {
		t.Errorf("fragments of a blank text: %v, want none", fragments)
	}
}

func TestMakeWithoutSpaces(t *testing.T) {
	text := strings.Repeat("日本語", 200) + "山" + strings.Repeat("中国人", 200)
	got := marked(t, text, terms("山"), Options{MaxChars: 30})
	if !strings.Contains(got, "[山]") || utf8.RuneCountInString(got) > 40 {
		t.Errorf("got %s", got)
	}
	long := strings.Repeat("x", 5000)
	if got := marked(t, long, terms("cat"), Options{MaxChars: 30}); got != long[:30]+" …" {
		t.Errorf("got %s", got)
	}
}

// Reading stops soon after every term has been seen, and at MaxScanBytes.
func TestScanIsBounded(t *testing.T) {
	filler := strings.Repeat("nothing to see here ", 1<<20/20)
	m := New(newAnalyzer(t, "english"), terms("cat", "dog"), Options{})
	for _, tc := range []struct {
		text       string
		atLeast    int
		atMost     int
		highlights int
	}{
		{"cat dog " + filler, pieceBytes, pieceBytes + 4*defaultMaxChars, 2},
		{"cat " + filler[:40<<10] + "dog " + filler, 40 << 10, 40<<10 + pieceBytes + 4*defaultMaxChars + 8, 1},
		{"cat " + filler, defaultMaxScanBytes - 20, defaultMaxScanBytes, 1},
		{filler, defaultMaxScanBytes - 20, defaultMaxScanBytes, 0},
		{"cat " + strings.Repeat("x", 1<<20), defaultMaxScanBytes - 20 - pieceBytes, defaultMaxScanBytes, 1},
	} {
		if n := m.scan(tc.text); n < tc.atLeast || n > tc.atMost {
			t.Errorf("%.30s…: read %d bytes, want %d to %d", tc.text, n, tc.atLeast, tc.atMost)
		}
		fragments := m.Make(tc.text)
		if len(fragments) != 1 || len(fragments[0].Highlights) != tc.highlights {
			t.Errorf("%.30s…: got %+v, want one fragment with %d highlights", tc.text, fragments, tc.highlights)
		}
	}
}

// Characters and words are counted across pieces.
// Several fragments are filled although the first pieces have every term.
func TestScanFillsFragments(t *testing.T) {
	filler := strings.Repeat("nothing to see here ", 3*pieceBytes/20)
	text := "cat " + filler + "cat " + filler + "cat " + filler
	m := New(newAnalyzer(t, "english"), terms("cat"), Options{MaxChars: 30, MaxFragments: 2})
	if got := m.Make(text); len(got) != 2 {
		t.Errorf("got %+v, want two fragments", got)
	}
	if n := m.scan(text); n > 5*pieceBytes {
		t.Errorf("read %d bytes, more than two fragments need", n)
	}
}

func TestMatchAfterPieceBorder(t *testing.T) {
	text := strings.Repeat("é nothing ", 3*pieceBytes/11) + "cat and dog " + strings.Repeat("nothing ", 100)
	m := New(newAnalyzer(t, "english"), terms("cat", "dog"), Options{})
	m.scan(text)
	clean := string(m.text.clean)
	for _, match := range m.matches {
		words := len(strings.Fields(clean[:match.start]))
		if want := utf8.RuneCountInString(clean[:match.start]); match.char != want {
			t.Errorf("match at character %d, want %d", match.char, want)
		}
		if match.position != words {
			t.Errorf("match at position %d, want %d", match.position, words)
		}
	}
	if len(m.matches) != 2 {
		t.Errorf("%d matches, want 2", len(m.matches))
	}
}

func checkFragments(t *testing.T, text string, fragments []Fragment, query Query, options Options) {
	t.Helper()
	if len(fragments) > options.MaxFragments {
		t.Fatalf("%d fragments, more than %d", len(fragments), options.MaxFragments)
	}
	joined := join(fragments)
	for _, f := range append(slices.Clone(fragments), joined) {
		if !utf8.ValidString(f.Text) || strings.ContainsFunc(f.Text, unicode.IsControl) || strings.Contains(f.Text, "  ") || strings.TrimSpace(f.Text) != f.Text || f.Text == "" && len(fragments) > 0 {
			t.Fatalf("fragment %q of %q is not clean", f.Text, text)
		}
		end := 0
		for _, h := range f.Highlights {
			if h.Start < end || h.End <= h.Start || h.End > len(f.Text) || !utf8.ValidString(f.Text[h.Start:h.End]) {
				t.Fatalf("fragment %q of %q: bad highlights %v", f.Text, text, f.Highlights)
			}
			end = h.End
		}
	}
	longest := 0
	for _, term := range query.Terms {
		longest = max(longest, len(term.Text))
	}
	if n := utf8.RuneCountInString(joined.Text); n > options.MaxFragments*(options.MaxChars+1024+3)+4 {
		t.Fatalf("%d characters of %d fragments of %d", n, options.MaxFragments, options.MaxChars)
	}
}

func FuzzMake(f *testing.F) {
	f.Add(whale, "soul whenever sea", 60, 2)
	f.Add("日本語 <b>cat</b>\x1b[1m\xff\n\n cat. Dog! cat?", "cat 日 dog", 5, 3)
	f.Add(strings.Repeat("a. ", 300)+strings.Repeat("cat", 200), "cat a", 1, 1)
	f.Add(strings.Repeat("ก", 400), "ก", 10, 1)
	analyzers := map[string]analysis.Analyzer{}
	for _, name := range []string{"english", "simple", "whitespace", "code", "cjk"} {
		analyzers[name] = newAnalyzer(f, name)
	}
	f.Fuzz(func(t *testing.T, text, words string, maxChars, maxFragments int) {
		options := Options{MaxChars: 1 + abs(maxChars)%500, MaxFragments: 1 + abs(maxFragments)%4, MaxScanBytes: 1 + abs(maxChars)}
		for name, a := range analyzers {
			overlapping := name == "code" || name == "cjk"
			var query Query
			var phrase []string
			for i, token := range a.Tokens(nil, []byte(words)) {
				query.Terms = append(query.Terms, Term{string(token.Term), float64(i%3) + 0.5})
				phrase = append(phrase, string(token.Term))
			}
			query.Phrases = [][]string{phrase}
			m := New(a, query, options)
			fragments := m.Make(text)
			checkFragments(t, text, fragments, query, options)
			for _, fragment := range fragments {
				if len(m.matches) > 0 && len(fragment.Highlights) == 0 {
					t.Fatalf("text %q, query %q: nothing is highlighted in %q", text, words, fragment.Text)
				}
				for _, h := range fragment.Highlights {
					if overlapping {
						break // a highlight can be of several tokens
					}
					surface := fragment.Text[h.Start:h.End]
					tokens := a.Tokens(nil, []byte(surface))
					if len(tokens) != 1 || !slices.Contains(phrase, string(tokens[0].Term)) {
						t.Fatalf("text %q, query %q: %q is highlighted", text, words, surface)
					}
				}
			}
			if again := m.Make(text); !slices.EqualFunc(fragments, again, func(a, b Fragment) bool {
				return a.Text == b.Text && slices.Equal(a.Highlights, b.Highlights)
			}) {
				t.Fatalf("the second call made %v, the first %v", again, fragments)
			}
		}
	})
}

func abs(n int) int { return max(n, -(n + 1)) }
