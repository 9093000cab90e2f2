//go:build invariants

package invariant

import "fmt"

// Enabled says whether Check checks. It is a constant, so that code under
// "if invariant.Enabled" is left out of release builds.
const Enabled = true

// Check panics with the formatted message if ok is false.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}
