package analysis

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/words"

	"github.com/griffin-search/griffin/internal/simd/letters"
)

// Without shortcuts: uax29 over each stretch of valid UTF-8, one word at a time, then
// StandardTokenizer's rules. An ASCII character that is not a word character never starts a
// word.
func referenceWords(text []byte) (ranges [][2]int) {
	for start := 0; start < len(text); {
		end := start
		for end < len(text) {
			r, size := utf8.DecodeRune(text[end:])
			if r == utf8.RuneError && size == 1 {
				break
			}
			end += size
		}
		ranges = append(ranges, referenceStretch(text[start:end], start)...)
		start = end + 1
	}
	return ranges
}

func referenceStretch(text []byte, offset int) (ranges [][2]int) {
	for i := 0; i < len(text); {
		if c := text[i]; c < utf8.RuneSelf && c != '_' && !unicode.IsLetter(rune(c)) && !unicode.IsDigit(rune(c)) {
			i++
			continue
		}
		n := referenceWord(text[i:])
		for r, _ := utf8.DecodeRune(text[i:]); isSoutheastAsian(r) && i+n < len(text); {
			next, _ := utf8.DecodeRune(text[i+n:])
			more := referenceWord(text[i+n:])
			if !isSoutheastAsian(next) || len(utf16.Encode([]rune(string(text[i:i+n+more])))) > maxWordUnits {
				break
			}
			n += more
		}
		isTermRune := func(r rune) bool {
			return unicode.In(r, unicode.L, unicode.Nd, unicode.Nl) || unicode.In(r, unicode.S) && unicode.In(r, unicode.Other_Alphabetic)
		}
		if bytes.IndexFunc(text[i:i+n], isTermRune) >= 0 {
			ranges = append(ranges, [2]int{offset + i, offset + i + n})
		}
		i += n
	}
	return ranges
}

// It does not read beyond maxWordUnits.
func referenceWord(text []byte) int {
	n, _, _ := words.SplitFunc(text, true)
	units := 0
	for i, r := range string(text[:n]) {
		if units += utf16.RuneLen(r); units > maxWordUnits {
			n, _, _ = words.SplitFunc(text[:i], true)
			break
		}
	}
	return n
}

func segmentedWords(text []byte) (ranges [][2]int) {
	var s segmenter
	s.reset(text)
	for {
		start, end, ok := s.next()
		if !ok {
			return ranges
		}
		ranges = append(ranges, [2]int{start, end})
	}
}

func checkSegmenter(t *testing.T, text []byte) {
	t.Helper()
	got, want := segmentedWords(text), referenceWords(text)
	if !slices.Equal(got, want) {
		t.Fatalf("words of %q:\n got %q\nwant %q", text, cut(text, got), cut(text, want))
	}
	// The end of the text is read in another way.
	for _, padding := range []string{"", "; in the words after it", "and letters right after it"} {
		padded := append(text[:len(text):len(text)], padding...)
		checkKeys(t, padded, false /* fold */)
		checkKeys(t, padded, true /* fold */)
	}
}

// Words of all lengths, at all places of the window that easyKeys reads, before all kinds of characters.
func TestKeysAtWindowEnds(t *testing.T) {
	const filled = 2 * letters.WindowLen
	word, behind := "abcdefghijklmnopqrstuvwxyz", strings.Repeat(" of others", letters.WindowLen/5)
	for start := range filled {
		for length := 1; length <= maxEasy+2; length++ {
			for _, next := range []string{" ", ". ", ".x ", "' ", "'x ", "1 ", "_ ", "é ", ".é ", ":1 ", "-x "} {
				for _, before := range []byte{' ', 'x'} {
					text := bytes.Repeat([]byte{before}, start)
					if before == 'x' { // short words
						for i := 1; i < start; i += 2 {
							text[i] = ' '
						}
						if start > 0 {
							text[start-1] = ' '
						}
					}
					text = append(append(append(text, word[:length]...), next...), behind...)
					checkKeys(t, text, false /* fold */)
				}
			}
		}
	}
}

// checkKeys compares keys, a few at a time, with next and makeKey.
func checkKeys(t *testing.T, text []byte, fold bool) {
	t.Helper()
	var s segmenter
	s.reset(text)
	var keys [3]wordKey
	n, at := len(keys), len(keys)
	for _, r := range segmentedWords(text) {
		if at == n && n == len(keys) {
			n, at = s.keys(keys[:], fold), 0
		}
		want := makeKey(text, r[0], r[1], fold)
		if at == n || keys[at] != want {
			t.Fatalf("%d keys of %q: %+v, want at %d %+v", n, text, keys[:n], at, want)
		}
		at++
	}
	if at == n && n == len(keys) {
		n, at = s.keys(keys[:], fold), 0
	}
	if at != n {
		t.Fatalf("keys of %q: %+v, want %d", text, keys[:n], at)
	}
}

func cut(text []byte, ranges [][2]int) (words []string) {
	for _, r := range ranges {
		words = append(words, string(text[r[0]:r[1]]))
	}
	return words
}

// Every string of six characters over one of each ASCII class of UAX #29, every ASCII character
// between two word characters, and every pair.
func TestSegmenterASCIIExhaustive(t *testing.T) {
	var text []byte
	var extend func(alphabet string, n int)
	extend = func(alphabet string, n int) {
		if n == 0 {
			checkSegmenter(t, text)
			return
		}
		for i := range len(alphabet) {
			text = append(text, alphabet[i])
			extend(alphabet, n-1)
			text = text[:len(text)-1]
		}
	}
	length := 6
	if testing.Short() {
		length = 5
	}
	extend("a1_:,.' -", length)
	var ascii strings.Builder
	for c := range utf8.RuneSelf {
		ascii.WriteByte(byte(c))
	}
	for _, neighbours := range []string{"a?a", "1?1", "a?1", "1?a", "_?_", "a?_", "_?1"} {
		for c := range utf8.RuneSelf {
			checkSegmenter(t, []byte(strings.Replace(neighbours, "?", string(rune(c)), 1)))
		}
	}
	extend(ascii.String(), 2)
}

func TestSegmenterMatchesUAX29(t *testing.T) {
	for _, text := range segmenterSeeds {
		checkSegmenter(t, []byte(text))
	}
}

var segmenterSeeds = []string{
	"", " ", "a", "é", "\xff", "a\xffb", "abc\xe4", "abc\xe4\xb8", "\xe4\xb8x", "\xed\xa0\x80", "\xf4\x90\x80\x80a", "\x00a\x00",
	"dog’s café’s l'été e\u0301te\u0301 \u0301x x\u0301'\u0301y 3.\u03014",
	"naïve.word a.é é.a 1.٣ ٣.1 a:é 1,٣ 1;٣ a’1 _é é_ __é a'\u200db",
	"日本語カタカナひらがな한국어 ｶﾀｶﾅ カタ_カナ ㈱ Ⅷ Ⓐ ² ½ ªº",
	"ไทยภาษา๑๒๓ ລາວ ខ្មែរ မြန်မာ กิก",
	"עברית ג\"ב ג'א ג' צה\"ל", "؟عربي\u200cفارسی", "🇩🇪🇫🇷 👩‍👩‍👧 a👍b ❤️ 1️⃣ #️⃣",
	"-\u0301a \u200ba \u00ada\u00adb a\u2060b \ufeffa", "\r\n\u0085\u2028a\u2029b",
	"𐐀𐐨𝐀𝟘 𩬅艱", strings.Repeat("é", 300) + " x", strings.Repeat("𝐀", 300), strings.Repeat("x", 600), strings.Repeat("x", 254) + ".yy", strings.Repeat("x", 253) + ".yy",
	strings.Repeat("a\u0301", 300), strings.Repeat("ก", 300), strings.Repeat("กิ", 200), strings.Repeat("_", 300) + "a", strings.Repeat("\u0301", 2000) + "a",
	"a" + strings.Repeat("\u0301", 2000) + "a", strings.Repeat("1,", 400) + "1", strings.Repeat("é'", 400) + "é",
}

func FuzzSegmenter(f *testing.F) {
	for _, text := range segmenterSeeds {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) { checkSegmenter(t, text) })
}

// A word of 256 KiB is read once.
func TestSegmenterLongWordsAreLinear(t *testing.T) {
	for _, unit := range []string{"x", "é", "ก", "_", "\u0301", "a'", "é'", "カ"} {
		text := bytes.Repeat([]byte(unit), 256<<10/len(unit))
		for _, r := range segmentedWords(text) {
			if units := len(utf16.Encode([]rune(string(text[r[0]:r[1]])))); units > maxWordUnits {
				t.Fatalf("a word of %d units in a run of %q", units, unit)
			}
		}
	}
}

// From the tests of Lucene's StandardTokenizer.
func TestSegmenterKeepsWordsOfStandardTokenizer(t *testing.T) {
	for _, tc := range []struct{ text, want string }{
		{"O'Reilly's you're she's Jim's don't", "O'Reilly's|you're|she's|Jim's|don't"},
		{"21.35 R2D2 C3PO 216.239.63.104", "21.35|R2D2|C3PO|216.239.63.104"},
		{"some-dashed-phrase", "some|dashed|phrase"},
		{"foo      bar .  FOO <> BAR \"QUOTED\" word", "foo|bar|FOO|BAR|QUOTED|word"},
		{"A:B A::B 1.2 A.B 1..2 A..B 1,2 1,,2", "A:B|A|B|1.2|A.B|1|2|A|B|1,2|1|2"},
		{"A.:B A:.B 1,.2 1.,2", "A|B|A|B|1|2|1|2"},
		{"A:B_A:B A:B_A::B 1.2_1.2 A.B_A.B 1.2_1..2 A.B_A..B", "A:B_A:B|A:B_A|B|1.2_1.2|A.B_A.B|1.2_1|2|A.B_A|B"},
		{"1,2_1,2 1,2_1,,2 C_A.:B C_A:.B 3_1,.2 3_1.,2", "1,2_1,2|1,2_1|2|C_A|B|C_A|B|3_1|2|3_1|2"},
		{"การที่ได้ต้องแสดงว่างานดี. แล้วเธอจะไปไหน? ๑๒๓๔", "การที่ได้ต้องแสดงว่างานดี|แล้วเธอจะไปไหน|๑๒๓๔"},
		{"ສາທາລະນະລັດ ປະຊາທິປະໄຕ ປະຊາຊົນລາວ", "ສາທາລະນະລັດ|ປະຊາທິປະໄຕ|ປະຊາຊົນລາວ"},
		{"我是中国人。 １２３４ Ｔｅｓｔｓ ", "我|是|中|国|人|１２３４|Ｔｅｓｔｓ"},
		{"안녕하세요 한글입니다", "안녕하세요|한글입니다"},
		{"훈민정음", "훈민정음"},
		{"仮名遣い カタカナ", "仮|名|遣|い|カタカナ"},
		{"𩬅艱鍟䇹愯瀛", "𩬅|艱|鍟|䇹|愯|瀛"},
		{"さ\u3099 サ\u3099 壹\u3099 아\u3099", "さ\u3099|サ\u3099|壹\u3099|아\u3099"},
		{"Вместе с тем о силе электромагнитной энергии", "Вместе|с|тем|о|силе|электромагнитной|энергии"},
		{"Γράφεται σε συνεργασία από εθελοντές", "Γράφεται|σε|συνεργασία|από|εθελοντές"},
	} {
		text := []byte(tc.text)
		if got := strings.Join(cut(text, segmentedWords(text)), "|"); got != tc.want {
			t.Errorf("words of %q:\n got %s\nwant %s", tc.text, got, tc.want)
		}
	}
}

func ExampleNew() {
	a, err := New("english")
	if err != nil {
		panic(err)
	}
	for _, token := range a.Tokens(nil, []byte("The dog's tail is wagging.")) {
		fmt.Printf("%d %s [%d:%d]\n", token.Position, token.Term, token.Start, token.End)
	}
	// Output:
	// 1 dog [4:9]
	// 2 tail [10:14]
	// 4 wag [18:25]
}
