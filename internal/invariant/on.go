//go:build invariants

package invariant

import "fmt"

// Enabled reports whether Check checks. It is a constant, so that the compiler removes code
// under "if invariant.Enabled" from release builds.
const Enabled = true

// Check panics with the formatted message if ok is false.
func Check(ok bool, format string, args ...any) {
	if !ok {
		panic("invariant: " + fmt.Sprintf(format, args...))
	}
}
