package sched

import (
	"fmt"
	"math"
	"time"

	"github.com/griffin-search/griffin/internal/base"
)

// Place is a kind of processor.
type Place uint8

// The places.
const (
	CPU Place = iota
	GPU

	NumPlaces = 2
)

// String returns "cpu" or "gpu".
func (p Place) String() string {
	switch p {
	case CPU:
		return "cpu"
	case GPU:
		return "gpu"
	}
	return "no place"
}

// MarshalText returns the name, for JSON.
func (p Place) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// UnmarshalText parses a name. The error wraps base.ErrBadInput.
func (p *Place) UnmarshalText(name []byte) error {
	for q := range Place(NumPlaces) {
		if q.String() == string(name) {
			*p = q
			return nil
		}
	}
	return fmt.Errorf("place %q: %w", name, base.ErrBadInput)
}

// Other returns the other place.
func (p Place) Other() Place { return 1 - p }

// Never is a time that does not come: as a cost, the job cannot run there; as a
// deadline, there is none.
const Never = time.Duration(math.MaxInt64)

// plus adds times; Never plus anything is Never.
func plus(a, b time.Duration) time.Duration {
	if a == Never || b == Never || a > Never-b {
		return Never
	}
	return a + b
}
