package main

import "testing"

// A server gets the same words and vectors as an index in the process.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"posting  list":           "posting list",
		`"parser: +x (`:           `\"parser\: \+x \(`,
		`{"cat": 1.5, "dog": 2}`:  `{"cat": 1.5, "dog": 2}`,
		` {"cat": 1.5, "dog": 2}`: ` {"cat": 1.5, "dog": 2}`,
	} {
		t.Run(text, func(t *testing.T) {
			if got := plainText(text); got != want {
				t.Errorf("%q is asked as %q, want %q", text, got, want)
			}
		})
	}
}
