// Package selftest starts a test's own binary as another process, for tests that kill it or send
// it signals.
//
// If GRIFFIN_TEST_EXEC is set, as by .ci/arm64, its words come before the binary: an emulator of
// the processor for which the test was built. It takes "-0 NAME" as the child's first argument.
// The package is for tests only. Its functions are safe for concurrent use.
package selftest
