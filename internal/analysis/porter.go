package analysis

import (
	"unicode/utf16"
	"unicode/utf8"
)

// The stemmer of M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with
// its author's two changes (bli → ble instead of abli → able, and logi → log), words of one or
// two letters unchanged: identical to Lucene's PorterStemFilter. Snowball's program lacks these
// rules and has fewer double consonants, so the stems of "possibly" and "trekking" differ;
// blevesearch/go-porterstemmer stems "ies" to "ie".
//
// A word beyond ASCII is stemmed as UTF-16, Java's characters. Letters other than a, e, i, o, u
// and y are consonants.

// A character of a word.
type porterLetter interface{ byte | uint16 }

// word must be in lower case. Stems are never longer, and not empty if the word is not.
func appendPorterStem(dst, word []byte) []byte {
	for _, c := range word {
		if c >= utf8.RuneSelf {
			return appendPorterStemUTF16(dst, word)
		}
	}
	n := len(dst)
	dst = append(dst, word...)
	return dst[:n+len(porterStem(dst[n:]))]
}

func appendPorterStemUTF16(dst, word []byte) []byte {
	var buffer [maxWordUnits]uint16
	units := buffer[:0]
	for _, r := range string(word) {
		units = utf16.AppendRune(units, r)
	}
	units = porterStem(units)
	for i := 0; i < len(units); i++ {
		r := rune(units[i])
		if utf16.IsSurrogate(r) && i+1 < len(units) {
			i++
			r = utf16.DecodeRune(r, rune(units[i]))
		}
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

type porterRule struct{ suffix, with string }

// Steps 2 to 4. Each tries only the first rule that matches; a suffix stands before all that it
// ends with.
var (
	porterStep2 = []porterRule{
		{"ational", "ate"},
		{"tional", "tion"},
		{"enci", "ence"},
		{"anci", "ance"},
		{"izer", "ize"},
		{"bli", "ble"},
		{"alli", "al"},
		{"entli", "ent"},
		{"eli", "e"},
		{"ousli", "ous"},
		{"ization", "ize"},
		{"ation", "ate"},
		{"ator", "ate"},
		{"alism", "al"},
		{"iveness", "ive"},
		{"fulness", "ful"},
		{"ousness", "ous"},
		{"aliti", "al"},
		{"iviti", "ive"},
		{"biliti", "ble"},
		{"logi", "log"},
	}
	porterStep3 = []porterRule{
		{"icate", "ic"},
		{"ative", ""},
		{"alize", "al"},
		{"iciti", "ic"},
		{"ical", "ic"},
		{"ful", ""},
		{"ness", ""},
	}
	porterStep4 = []porterRule{
		{"al", ""},
		{"ance", ""},
		{"ence", ""},
		{"er", ""},
		{"ic", ""},
		{"able", ""},
		{"ible", ""},
		{"ant", ""},
		{"ement", ""},
		{"ment", ""},
		{"ent", ""},
		{"sion", "s"},
		{"tion", "t"},
		{"ou", ""},
		{"ism", ""},
		{"ate", ""},
		{"iti", ""},
		{"ous", ""},
		{"ive", ""},
		{"ize", ""},
	}
)

// In place.
func porterStem[T porterLetter](w []T) []T {
	if len(w) <= 2 {
		return w
	}
	w = porterPlural(w)
	w = porterPast(w)
	if n := len(w) - 1; n >= 0 && w[n] == 'y' && hasVowel(w[:n]) { // step 1c
		w[n] = 'i'
	}
	w = porterReplace(w, porterStep2, 0)
	w = porterReplace(w, porterStep3, 0)
	w = porterReplace(w, porterStep4, 1)
	return porterFinal(w)
}

// Step 1a: caresses → caress, ponies → poni, cats → cat.
func porterPlural[T porterLetter](w []T) []T {
	n := len(w)
	switch {
	case hasSuffix(w, "sses"), hasSuffix(w, "ies"):
		return w[:n-2]
	case w[n-1] == 's' && w[n-2] != 's':
		return w[:n-1]
	}
	return w
}

// Step 1b: agreed → agree, plastered → plaster, hopping → hop, filing → file.
func porterPast[T porterLetter](w []T) []T {
	n := len(w)
	switch {
	case hasSuffix(w, "eed"):
		if measure(w[:n-3]) > 0 {
			n--
		}
		return w[:n]
	case hasSuffix(w, "ed") && hasVowel(w[:n-2]):
		n -= 2
	case hasSuffix(w, "ing") && hasVowel(w[:n-3]):
		n -= 3
	default:
		return w
	}
	stem := w[:n]
	switch last := stem[n-1]; {
	case hasSuffix(stem, "at"), hasSuffix(stem, "bl"), hasSuffix(stem, "iz"):
	case endsInDoubleConsonant(stem):
		if last != 'l' && last != 's' && last != 'z' {
			return stem[:n-1]
		}
		return stem
	case measure(stem) != 1 || !endsInCVC(stem):
		return stem
	}
	return append(stem, 'e') // within the suffix that was removed
}

// Steps 2 to 4: the first rule that matches applies if the measure before it exceeds
// minMeasure.
func porterReplace[T porterLetter](w []T, rules []porterRule, minMeasure int) []T {
	for _, rule := range rules {
		if !hasSuffix(w, rule.suffix) {
			continue
		}
		stem := w[:len(w)-len(rule.suffix)]
		// The s or t of -sion and -tion belongs to the measured stem.
		measured := stem
		if rule.suffix == "sion" || rule.suffix == "tion" {
			measured = w[:len(stem)+1]
		}
		if measure(measured) <= minMeasure {
			return w
		}
		for i := range len(rule.with) {
			stem = append(stem, T(rule.with[i]))
		}
		return stem
	}
	return w
}

// Step 5: probate → probat, cease → ceas, enroll → enrol.
func porterFinal[T porterLetter](w []T) []T {
	n := len(w)
	if n == 0 {
		return w
	}
	if w[n-1] == 'e' {
		if m := measure(w[:n-1]); m > 1 || m == 1 && !endsInCVC(w[:n-1]) {
			n--
		}
	}
	if w[n-1] == 'l' && endsInDoubleConsonant(w[:n]) && measure(w[:n]) > 1 {
		n--
	}
	return w[:n]
}

func hasSuffix[T porterLetter](w []T, suffix string) bool {
	d := len(w) - len(suffix)
	if d < 0 {
		return false
	}
	for i := len(suffix) - 1; i >= 0; i-- {
		if w[d+i] != T(suffix[i]) {
			return false
		}
	}
	return true
}

// Not a, e, i, o or u, nor a y after a consonant.
func isConsonant[T porterLetter](w []T, i int) bool {
	switch w[i] {
	case 'a', 'e', 'i', 'o', 'u':
		return false
	case 'y':
		return i == 0 || !isConsonant(w, i-1)
	}
	return true
}

// m of the form [C](VC)^m[V]: tree 0, trouble 1, private 2.
func measure[T porterLetter](w []T) int {
	m, afterConsonant := 0, true
	for i := range w {
		consonant := w[i] != 'a' && w[i] != 'e' && w[i] != 'i' && w[i] != 'o' && w[i] != 'u' &&
			(w[i] != 'y' || i == 0 || !afterConsonant)
		if consonant && !afterConsonant {
			m++
		}
		afterConsonant = consonant
	}
	return m
}

func hasVowel[T porterLetter](w []T) bool {
	for i := range w {
		if !isConsonant(w, i) {
			return true
		}
	}
	return false
}

// The paper's *d.
func endsInDoubleConsonant[T porterLetter](w []T) bool {
	n := len(w)
	return n >= 2 && w[n-1] == w[n-2] && isConsonant(w, n-1)
}

// The paper's *o: consonant, vowel, consonant, the last not w, x or y.
func endsInCVC[T porterLetter](w []T) bool {
	n := len(w)
	if n < 3 || !isConsonant(w, n-1) || isConsonant(w, n-2) || !isConsonant(w, n-3) {
		return false
	}
	last := w[n-1]
	return last != 'w' && last != 'x' && last != 'y'
}
