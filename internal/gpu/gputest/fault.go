package gputest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Fail is cuda.Faults.Fail on d until the end of the test; further calls in the
// same test add to it.
//
//	gputest.Fail(t, d, "cuMemAlloc_v2", 3, cuda.OutOfMemory) // the third allocation
//	gputest.Fail(t, d, "cuLaunchKernel", 1, cuda.LaunchFailed) // loses the device
func Fail(t testing.TB, d *cuda.Device, call string, nth int, code cuda.Code) {
	t.Helper()
	Faults(t, d).Fail(call, nth, code)
}

// Faults returns the faults of d, initially none, until the end of the test.
func Faults(t testing.TB, d *cuda.Device) *cuda.Faults {
	t.Helper()
	if f := d.InjectedFaults(); f != nil {
		return f
	}
	f := new(cuda.Faults)
	d.InjectFaults(f)
	t.Cleanup(func() { d.InjectFaults(nil) })
	return f
}

// EachFault runs a workload without faults, to count its driver calls, then
// once for each of these calls (of the given functions, or of all), with that
// call failing with code. Each run is a subtest with its own device, and must
// leave nothing allocated unless the device was lost; in "cuMemAlloc_v2/3" the
// third allocation fails. run must give the correct result every time.
//
// If a function is called more than 8 times, the first 4, the last 2 and 2
// calls in between fail.
func EachFault(t *testing.T, code cuda.Code, functions []string, run func(t *testing.T, d *cuda.Device)) {
	t.Helper()
	var calls map[string]int
	t.Run("none", func(t *testing.T) {
		d := openAnew(t)
		faults := Faults(t, d)
		run(t, d)
		calls = faults.Calls()
	})
	names := functions
	if len(names) == 0 {
		for name := range calls {
			names = append(names, name)
		}
		slices.Sort(names)
	}
	for _, name := range names {
		for _, nth := range someOf(calls[name]) {
			t.Run(fmt.Sprintf("%s/%d", name, nth), func(t *testing.T) {
				d := openAnew(t)
				Fail(t, d, name, nth, code)
				run(t, d)
			})
		}
	}
}

// Survived reports whether a run of EachFault with the error err has an answer
// to check. An error that is not a driver error, or after which the CPU may not
// answer, fails the test.
func Survived(t testing.TB, err error) bool {
	t.Helper()
	var driver *cuda.Error
	switch {
	case err == nil:
		return true
	case !errors.As(err, &driver):
		t.Errorf("error %v, which is not a driver error", err)
	case !driver.CPUValid():
		t.Errorf("the CPU may not answer after %v", err)
	}
	return false
}

func someOf(n int) []int {
	nths := make([]int, 0, 8)
	for nth := 1; nth <= n; nth++ {
		if n <= 8 || nth <= 4 || nth > n-2 || nth == n/3+2 || nth == 2*n/3+1 {
			nths = append(nths, nth)
		}
	}
	return nths
}

// openAnew opens the device of Open again, as a Device that can fail alone.
// Unless it has failed, memory that the test leaves on it is an error.
func openAnew(t *testing.T) *cuda.Device {
	t.Helper()
	shared := Open(t)
	d, err := shared.Library().Open(shared.Info().Ordinal)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.InjectFaults(nil)
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}
