package suggest

import (
	"strings"
	"unicode/utf8"
)

// Closest returns the first name with the smallest edit distance to word, ignoring case; "" if
// every distance exceeds a third of word's length, rounded up. The last part of a dotted name
// counts too: "author" suggests "meta.author".
func Closest(word string, names []string) string {
	word = strings.ToLower(word)
	best, least := "", (utf8.RuneCountInString(word)+2)/3+1
	for _, name := range names {
		candidate := strings.ToLower(name)
		d := Distance(word, candidate)
		if dot := strings.LastIndexByte(candidate, '.'); dot >= 0 {
			d = min(d, Distance(word, candidate[dot+1:]))
		}
		if d < least {
			best, least = name, d
		}
	}
	return best
}

// Distance returns the edit distance in characters, following Damerau and Levenshtein: the
// least number of insertions, deletions, replacements and exchanges of two neighbours, which do
// not overlap.
func Distance(word, name string) int {
	a, b := []rune(word), []rune(name)
	var before []int // the row before previous
	previous := make([]int, len(b)+1)
	for j := range previous {
		previous[j] = j
	}
	for i := range a {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range b {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			row[j+1] = min(previous[j]+cost, previous[j+1]+1, row[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, previous = previous, row
	}
	return previous[len(b)]
}
