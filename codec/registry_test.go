package codec

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFamiliesAreSorted(t *testing.T) {
	if names := Names(); !slices.IsSorted(names) {
		t.Errorf("families are not sorted by name: %v", names)
	}
}

func TestParams(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "size=4,share=0.5"},
		{"size=8", "size=8,share=0.5"},
		{"share=0.25,size=1", "size=1,share=0.25"},
		{"size=9", "want a whole number in 1..8"},
		{"size=two", "want a whole number in 1..8"},
		{"share=NaN", "want a number in 0..1"},
		{"colour=1", "there are: size, share"},
		{"size", "is not key=value"},
		{"size=", "is not key=value"},
		{"size=2,size=3", "twice"},
	} {
		p, err := parseParams(c.text, c.text != "")
		got := ""
		if err == nil {
			size, share := p.int("size", 4, 1, 8), p.float("share", 0.5, 0, 1)
			got, err = fmt.Sprintf("size=%d,share=%g", size, share), p.err()
		}
		if err != nil {
			if got = err.Error(); !errors.Is(err, ErrUnknown) {
				t.Errorf("%q: error of another kind: %v", c.text, err)
			}
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%q: %s, want %s", c.text, got, c.want)
		}
	}
	if _, err := Lookup("raw:size=1"); !errors.Is(err, ErrUnknown) {
		t.Errorf("Lookup of a codec with a parameter that it does not have: %v", err)
	}
	if got, want := spec("x", given("size", 4, 4), given("share", 0.25, 0.5)), "x:share=0.25"; got != want {
		t.Errorf("spec: %q, want %q", got, want)
	}
}
