// Package gputest provides a GPU for tests: a real one if GRIFFIN_REQUIRE_GPU
// is 1, otherwise the emulator (internal/gpu/emulator), built on first use and
// kept in the user's cache directory. It never skips a test: if neither is
// available, the test fails.
//
//	d := gputest.Open(t) // *cuda.Device, closed when the test ends
//
// Only tests and benchmarks import it.
//
// NewSession adds a stream and memory until the end of the test; Fail and
// EachFault make driver calls fail, on any machine; OpenEmulated provides
// several devices, or small ones; Lose loses an emulated device; Report reads
// the emulator's findings. An unexpected report fails the running test.
//
// Several goroutines of one test may call the functions. Tests that call
// OpenEmulated, Lose or Report must not run in parallel with other tests of
// their package.
package gputest
