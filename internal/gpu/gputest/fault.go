package gputest

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Fail makes the nth call from now on of a driver function on d fail with code,
// on any machine: see cuda.Faults.Fail. It lasts until the test ends; further
// calls of Fail in the same test add to it.
//
//	gputest.Fail(t, d, "cuMemAlloc_v2", 3, cuda.OutOfMemory) // the third allocation
//	gputest.Fail(t, d, "cuLaunchKernel", 1, cuda.LaunchFailed) // loses the device
func Fail(t testing.TB, d *cuda.Device, call string, nth int, code cuda.Code) {
	t.Helper()
	Faults(t, d).Fail(call, nth, code)
}

// Faults returns the faults of d, none at first, for a test that counts calls or
// orders many. They are taken away when the test ends.
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

// EachFault runs a piece of work once as it is, to count its driver calls, and
// then once for each of these calls (of those functions that are named, or of all
// if none is) with that one failing with code. Each run has a device of its own,
// opened for it and closed after it, so that nothing may be left on it unless it was
// lost, and is a subtest: "cuMemAlloc_v2/3" is the run whose third
// allocation fails. run must give the right result every time.
//
// Where a function is called more than 8 times, the first 4 and the last 2 calls
// fail, and 2 between.
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

// Survived reports whether a run of EachFault has an answer, which is to be right: err is
// what it returned. An error that is none of the driver's, or behind which the CPU may not
// answer, is one of the test.
func Survived(t testing.TB, err error) bool {
	t.Helper()
	var driver *cuda.Error
	switch {
	case err == nil:
		return true
	case !errors.As(err, &driver):
		t.Errorf("error %v, which is none of the driver", err)
	case !driver.CPUValid():
		t.Errorf("the CPU may not answer after %v", err)
	}
	return false
}

// someOf returns which of n calls fail.
func someOf(n int) []int {
	nths := make([]int, 0, 8)
	for nth := 1; nth <= n; nth++ {
		if n <= 8 || nth <= 4 || nth > n-2 || nth == n/3+2 || nth == 2*n/3+1 {
			nths = append(nths, nth)
		}
	}
	return nths
}

// openAnew opens the device of Open once more, as a Device of its own that can
// fail alone. What memory the test leaves on it, unless the device has failed, is an error.
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
