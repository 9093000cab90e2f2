package analysis

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/blevesearch/snowballstem"
	"github.com/blevesearch/snowballstem/porter"
)

// The paper's examples, each through all steps, and its author's two changes.
func TestPorterStemPaper(t *testing.T) {
	for word, want := range map[string]string{
		"caresses": "caress", "ponies": "poni", "ties": "ti", "caress": "caress", "cats": "cat", // 1a
		"feed": "feed", "disagreed": "disagre", "plastered": "plaster", "bled": "bled", "motoring": "motor", "sing": "sing", // 1b
		"conflated": "conflat", "troubled": "troubl", "sized": "size", "hopping": "hop", "tanned": "tan", "falling": "fall",
		"hissing": "hiss", "fizzed": "fizz", "failing": "fail", "filing": "file", "trekking": "trek",
		"happy": "happi", "sky": "sky", // 1c
		"relational": "relat", "conditional": "condit", "rational": "ration", "valenci": "valenc", "hesitanci": "hesit",
		"digitizer": "digit", "conformabli": "conform", "radicalli": "radic", "differentli": "differ", "vileli": "vile",
		"analogousli": "analog", "vietnamization": "vietnam", "predication": "predic", "operator": "oper", "feudalism": "feudal",
		"decisiveness": "decis", "hopefulness": "hope", "callousness": "callous", "formaliti": "formal", "sensitiviti": "sensit",
		"sensibiliti": "sensibl", // 2
		"triplicate":  "triplic", "formative": "form", "formalize": "formal", "electriciti": "electr", "electrical": "electr",
		"hopeful": "hope", "goodness": "good", // 3
		"revival": "reviv", "allowance": "allow", "inference": "infer", "airliner": "airlin", "gyroscopic": "gyroscop",
		"adjustable": "adjust", "defensible": "defens", "irritant": "irrit", "replacement": "replac", "adjustment": "adjust",
		"dependent": "depend", "adoption": "adopt", "homologou": "homolog", "communism": "commun", "activate": "activ",
		"angulariti": "angular", "homologous": "homolog", "effective": "effect", "bowdlerize": "bowdler", // 4
		"probate": "probat", "rate": "rate", "cease": "ceas", "enroll": "enrol", "roll": "roll", // 5
		"generalizations": "gener", "oscillators": "oscil",
		"possibly": "possibl", "archaeology": "archaeolog", // departures
		"ies": "i", "is": "is", "ion": "ion", "s": "s", "eed": "eed", "ing": "ing", "ed": "ed", "sion": "sion", "yyy": "yyi",
		"café": "café", "cafés": "café", "fooääed": "fooä", "𝐀s": "𝐀",
	} {
		t.Run(word, func(t *testing.T) {
			if got := string(appendPorterStem(nil, []byte(word))); got != want {
				t.Errorf("stem of %q is %q, want %q", word, got, want)
			}
		})
	}
}

// The algorithm as in the paper: lists of rules, of which the longest suffix applies, and
// conditions over the form of the word, a v or c for each UTF-16 unit: a character beyond the
// basic plane is two different consonants.
func porterOracle(word string) string {
	w := []rune(word)
	if len(utf16.Encode(w)) <= 2 {
		return word
	}
	form := func(w []rune) string {
		var f []byte
		for i, r := range w {
			if strings.ContainsRune("aeiou", r) || r == 'y' && i > 0 && f[len(f)-1] == 'c' {
				f = append(f, 'v')
			} else if utf16.RuneLen(r) == 2 {
				f = append(f, "cc"...)
			} else {
				f = append(f, 'c')
			}
		}
		return string(f)
	}
	m := func(w []rune) int { return strings.Count(form(w), "vc") }
	vowel := func(w []rune) bool { return strings.Contains(form(w), "v") }
	double := func(w []rune) bool {
		n := len(w)
		return n > 1 && w[n-1] == w[n-2] && utf16.RuneLen(w[n-1]) == 1 && strings.HasSuffix(form(w), "c")
	}
	cvc := func(w []rune) bool {
		return strings.HasSuffix(form(w), "cvc") && !strings.ContainsRune("wxy", w[len(w)-1])
	}
	ends := func(suffix string) bool { return strings.HasSuffix(string(w), suffix) }
	stem := func(suffix string) []rune { return w[:len(w)-len(suffix)] }
	set := func(stem []rune, with string) { w = append(slices.Clone(stem), []rune(with)...) }
	// The longest suffix, as in the paper.
	apply := func(rules string, condition func(stem []rune) bool) {
		best, with := "", ""
		for _, rule := range strings.Fields(rules) {
			if from, to, _ := strings.Cut(rule, ">"); ends(from) && len(from) > len(best) {
				best, with = from, to
			}
		}
		if best != "" && condition(stem(best)) {
			set(stem(best), with)
		}
	}
	always := func([]rune) bool { return true }
	apply("sses>ss ies>i ss>ss s>", always)
	switch {
	case ends("eed"):
		apply("eed>ee", func(s []rune) bool { return m(s) > 0 })
	case ends("ed") && vowel(stem("ed")), ends("ing") && vowel(stem("ing")):
		apply("ed> ing>", always)
		switch {
		case ends("at"), ends("bl"), ends("iz"):
			set(w, "e")
		case double(w) && !strings.ContainsRune("lsz", w[len(w)-1]):
			w = w[:len(w)-1]
		case m(w) == 1 && cvc(w):
			set(w, "e")
		}
	}
	apply("y>i", vowel)
	positive := func(s []rune) bool { return m(s) > 0 }
	apply("ational>ate tional>tion enci>ence anci>ance izer>ize bli>ble alli>al entli>ent eli>e ousli>ous ization>ize ation>ate ator>ate alism>al iveness>ive fulness>ful ousness>ous aliti>al iviti>ive biliti>ble logi>log", positive)
	apply("icate>ic ative> alize>al iciti>ic ical>ic ful> ness>", positive)
	apply("al> ance> ence> er> ic> able> ible> ant> ement> ment> ent> ion> ou> ism> ate> iti> ous> ive> ize>", func(s []rune) bool {
		return m(s) > 1 && (!ends("ion") || ends("sion") || ends("tion"))
	})
	if ends("e") && (m(stem("e")) > 1 || m(stem("e")) == 1 && !cvc(stem("e"))) {
		w = stem("e")
	}
	if ends("ll") && m(w) > 1 {
		w = stem("l")
	}
	return string(w)
}

func TestPorterStemMatchesOracle(t *testing.T) {
	vocabulary := wikiVocabulary(t)
	differ := 0
	env := snowballstem.NewEnv("")
	for _, word := range vocabulary {
		got := string(appendPorterStem(nil, []byte(word)))
		if want := porterOracle(word); got != want {
			t.Fatalf("stem of %q is %q, want %q", word, got, want)
		}
		// Snowball's program differs only in the cases listed in porter.go.
		env.SetCurrent(word)
		porter.Stem(env)
		if got != env.Current() {
			differ++
		}
	}
	if limit := len(vocabulary) / 100; differ > limit {
		t.Errorf("%d of %d stems differ from Snowball's, more than %d", differ, len(vocabulary), limit)
	}
}

// Distinct words, in lower case, sorted, of some megabytes of wiki passages.
func wikiVocabulary(t *testing.T) []string {
	seen := map[string]bool{}
	for _, text := range wikiTexts(t, 4<<20) {
		for _, r := range segmentedWords(text) {
			seen[string(appendLower(nil, text[r[0]:r[1]]))] = true
		}
	}
	return slices.Sorted(maps.Keys(seen))
}

func FuzzPorterStem(f *testing.F) {
	for _, seed := range []string{"", "relational", "yyying", "sses", "éés", "𝐀𝐀ed", "hopping", "bliing"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if !utf8.ValidString(word) || len(word) > maxWordUnits {
			return
		}
		if got, want := string(appendPorterStem(nil, []byte(word))), porterOracle(word); got != want {
			t.Fatalf("stem of %q is %q, want %q", word, got, want)
		}
	})
}
