package exec

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Mode says what the Plain clauses of a query, those without + and -, ask for.
type Mode uint8

const (
	// ModeOr makes them optional: they add to the score. A document matches if
	// it has at least one of them, unless something else in its group is required.
	ModeOr Mode = iota
	// ModeAnd makes them required.
	ModeAnd
	// ModeAndOr asks as ModeAnd and, where that gives fewer hits than wanted,
	// takes the answer of ModeOr instead: Ding et al., WWW 2009, §8.3.
	ModeAndOr
	// ModeSaat asks as ModeOr, but of the impact-ordered lists of the index (if it
	// has them), score at a time: package saat. Scores are sums of impacts, whole
	// numbers from 1 to 255 a term, and so nearly, not exactly, in the order of
	// ModeOr.
	ModeSaat
)

var modeNames = [...]string{ModeOr: "or", ModeAnd: "and", ModeAndOr: "and+or", ModeSaat: "saat"}

// ParseMode returns the mode of a name. An unknown name is base.ErrBadInput.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("mode %q is none of %q: %w", name, modeNames, base.ErrBadInput)
}

// String returns the name of the mode.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// MarshalText returns the name, so that JSON holds it.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is ParseMode.
func (m *Mode) UnmarshalText(name []byte) (err error) {
	*m, err = ParseMode(string(name))
	return err
}

// Traversals returns the names of the algorithms that flat queries of a mode
// can run on, sorted. ModeAndOr takes those of both others; ModeSaat has none, but
// accumulators (saat.Accumulators).
func Traversals(m Mode) []string {
	switch m {
	case ModeOr:
		return traverse.Names(traverse.Or)
	case ModeAnd:
		return traverse.Names(traverse.And)
	case ModeSaat:
		return nil
	}
	names := append(traverse.Names(traverse.Or), traverse.Names(traverse.And)...)
	slices.Sort(names)
	return slices.Compact(names)
}
