// Package gputest provides a GPU for tests: a real one if GRIFFIN_REQUIRE_GPU
// is 1, otherwise the emulator (see internal/gpu/emulator), which it builds
// from the sources of all kernels on first use and keeps in the user's cache
// directory. It never skips a test: if neither is available, the test fails and
// reports the reason.
//
//	d := gputest.Open(t) // *cuda.Device, closed when the test ends
//
// Only tests and benchmarks import it.
//
// Besides Open: NewSession adds a stream, with Alloc, Upload and Download for
// memory that is freed at the end of the test; Fail and EachFault make driver
// calls fail, on any machine; OpenEmulated provides several devices, or small
// ones; Lose loses an emulated device while it works; Report reads the
// emulator's findings, for tests that expect them. An unexpected report fails
// the running test.
//
// Several goroutines of one test may call the functions. Tests that call
// OpenEmulated, Lose or Report share the one emulator of their process and must
// not run in parallel with other tests of their package.
package gputest
