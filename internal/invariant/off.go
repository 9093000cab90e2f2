//go:build !invariants

package invariant

// Enabled says whether Check checks. It is a constant, so that code under
// "if invariant.Enabled" is left out of release builds.
const Enabled = false

// Check does nothing in release builds.
func Check(bool, string, ...any) {}
