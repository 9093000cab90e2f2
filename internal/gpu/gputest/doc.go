// Package gputest gives tests a GPU: a real one where GRIFFIN_REQUIRE_GPU is 1,
// and otherwise the emulator (see internal/gpu/emulator), which it builds from the
// sources of all kernels on first use and keeps under .build/emulator. It never
// skips a test: where neither is to be had, the test fails and says what is missing.
//
//	d := gputest.Open(t) // *cuda.Device, closed when the test ends
//
// It is not for the product: nothing but tests and benchmarks imports it.
//
// Besides Open: NewSession adds a stream, with Alloc, Upload and Download for memory that
// lasts as long as the test; Fail and EachFault make calls of the driver fail, on any machine;
// OpenEmulated gives several devices, or small ones; Lose loses an emulated device
// while it works; Report reads what the emulator found wrong, for tests that
// expect it. A report that no test expects fails the test that was running.
//
// The functions may be called by several goroutines of one test. Tests that call
// OpenEmulated, Lose or Report share the one emulator of their process and must not
// run in parallel with other tests of their package.
package gputest
