package griffin

import "github.com/griffin-search/griffin/internal/plan"

// Mode is the meaning of the words of a query without + and -. Its text form, also in JSON, is
// "or", "and", "and+or" or "saat".
type Mode uint8

// The modes.
const (
	// ModeOr, the default, finds documents with any of the words.
	ModeOr = Mode(plan.ModeOr)
	// ModeAnd finds documents with all of the words.
	ModeAnd = Mode(plan.ModeAnd)
	// ModeAndOr finds documents with all of the words or, if these are fewer than
	// K plus Offset, with any.
	ModeAndOr = Mode(plan.ModeAndOr)
	// ModeSaat finds documents with any of the words of the default field, with boosts, by
	// impact-ordered lists (Index.BuildImpacts), score at a time. Scores are sums of 8-bit
	// impacts; their order is close to the order of ModeOr.
	ModeSaat = Mode(plan.ModeSaat)
)

// ParseMode returns the mode of a name. The error wraps ErrBadInput and lists the names.
func ParseMode(name string) (Mode, error) {
	m, err := plan.ParseMode(name)
	return Mode(m), err
}

// String returns the name.
func (m Mode) String() string { return plan.Mode(m).String() }

// MarshalText returns the name.
func (m Mode) MarshalText() ([]byte, error) { return plan.Mode(m).MarshalText() }

// UnmarshalText is ParseMode.
func (m *Mode) UnmarshalText(name []byte) (err error) {
	*m, err = ParseMode(string(name))
	return err
}
