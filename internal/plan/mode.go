package plan

import (
	"fmt"
	"slices"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/traverse"
)

// Mode determines the meaning of clauses without + and -.
type Mode uint8

const (
	// ModeOr makes them optional: a document needs at least one of them, unless another clause
	// of the group is required.
	ModeOr Mode = iota
	// ModeAnd makes them required.
	ModeAnd
	// ModeAndOr is ModeAnd, or ModeOr if that gives fewer than K hits: Ding et
	// al., WWW 2009, §8.3.
	ModeAndOr
	// ModeSaat is ModeOr over the impact-ordered lists of the index, score at a time (package
	// saat). Scores are sums of impacts, integers from 1 to 255 a term, so their order
	// approximates ModeOr.
	ModeSaat
)

var modeNames = [...]string{ModeOr: "or", ModeAnd: "and", ModeAndOr: "and+or", ModeSaat: "saat"}

// ParseMode returns the named mode. For an unknown name the error wraps
// base.ErrBadInput.
func ParseMode(name string) (Mode, error) {
	for m, n := range modeNames {
		if n == name {
			return Mode(m), nil
		}
	}
	return 0, fmt.Errorf("mode %q is none of %q: %w", name, modeNames, base.ErrBadInput)
}

func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return fmt.Sprintf("Mode(%d)", uint8(m))
}

// MarshalText returns the name.
func (m Mode) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// UnmarshalText is ParseMode.
func (m *Mode) UnmarshalText(name []byte) (err error) {
	*m, err = ParseMode(string(name))
	return err
}

// Traversals returns the sorted names of the algorithms for flat queries of a mode: for
// ModeAndOr of both modes, for ModeSaat none but accumulators (saat.Accumulators).
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
