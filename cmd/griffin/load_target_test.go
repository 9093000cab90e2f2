package main

import "testing"

// What is asked of a server is asked as it would be of an index in the process: words
// are words whatever marks they have, and a vector is one.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"posting  list":           "posting list",
		`"parser: +x (`:           `\"parser\: \+x \(`,
		`{"cat": 1.5, "dog": 2}`:  `{"cat": 1.5, "dog": 2}`,
		` {"cat": 1.5, "dog": 2}`: ` {"cat": 1.5, "dog": 2}`,
	} {
		if got := plainText(text); got != want {
			t.Errorf("%q is asked as %q, want %q", text, got, want)
		}
	}
}
