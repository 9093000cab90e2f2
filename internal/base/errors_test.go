package base

import (
	"errors"
	"fmt"
	"testing"
)

func TestMessage(t *testing.T) {
	for want, err := range map[string]error{
		"zone: no such zone":             fmt.Errorf("zone: %w: %w", fmt.Errorf("no such zone: %w", ErrBadInput), ErrBadInput),
		"a: b: c":                        fmt.Errorf("a: %w: %w: %w", ErrBadInput, fmt.Errorf("%w: b", ErrBadInput), errors.New("c")),
		"k is -1":                        fmt.Errorf("k is -1: %w", ErrBadInput),
		"query a: k is -1":               fmt.Errorf("query a: %w", fmt.Errorf("k is -1: %w", ErrBadInput)),
		"line 1: 2 columns":              fmt.Errorf("line 1: %w: 2 columns", ErrBadInput),
		"2 columns":                      fmt.Errorf("%w: 2 columns", ErrBadInput),
		"a: one\nb: two":                 fmt.Errorf("a: %w", errors.Join(fmt.Errorf("one: %w", ErrBadInput), fmt.Errorf("b: two: %w", ErrBadInput))),
		"bad input":                      ErrBadInput,
		"seek: bad input":                errors.New("seek: bad input"),
		"no query for it's bad input: x": fmt.Errorf("no query for it's bad input: x: %w", ErrBadInput),
		"file: corrupt data":             fmt.Errorf("file: %w", ErrCorrupt),
	} {
		t.Run(want, func(t *testing.T) {
			if got := Message(err); got != want {
				t.Errorf("%q, want %q", got, want)
			}
		})
	}
}
