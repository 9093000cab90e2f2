//go:build !invariants

package invariant

// Enabled reports whether Check checks. It is a constant, so that the compiler removes code
// under "if invariant.Enabled" from release builds.
const Enabled = false

// Check does nothing in release builds.
func Check(bool, string, ...any) {}
