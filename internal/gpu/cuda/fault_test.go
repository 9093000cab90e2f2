package cuda_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// openAlone opens a Device that may fail without affecting other tests.
func openAlone(t *testing.T) *cuda.Device {
	t.Helper()
	d, err := gputest.Open(t).Library().Open(0)
	must(t, err)
	t.Cleanup(func() {
		d.InjectFaults(nil)
		must(t, d.Close())
	})
	return d
}

func TestFaultsHitTheCallThatWasMeant(t *testing.T) {
	d := openAlone(t)
	gputest.Fail(t, d, "cuMemAlloc_v2", 2, cuda.OutOfMemory)
	for n := 1; n <= 3; n++ {
		b, err := cuda.Alloc[uint32](d, 10)
		if (n == 2) != errors.Is(err, cuda.ErrOutOfMemory) || (n != 2 && err != nil) {
			t.Errorf("allocation %d: %v, want an error for the second only", n, err)
		}
		must(t, b.Free())
	}
	if err := d.Err(); err != nil {
		t.Errorf("out of memory made the device failed: %v", err)
	}
	if calls := gputest.Faults(t, d).Calls(); calls["cuMemAlloc_v2"] != 3 || calls["cuMemFree_v2"] != 2 {
		t.Errorf("calls %v, want 3 allocations and 2 frees", calls)
	}
}

func TestFaultsCountFromNow(t *testing.T) {
	d := openAlone(t)
	f := gputest.Faults(t, d)
	must(t, d.Synchronize())
	f.Fail("", 2, cuda.InvalidValue) // of any function
	must(t, d.Synchronize())
	if _, _, err := d.MemInfo(); err == nil || !strings.Contains(err.Error(), "cuMemGetInfo_v2: CUDA_ERROR_INVALID_VALUE: ") {
		t.Errorf("the second call = %v, want CUDA_ERROR_INVALID_VALUE, named with its call", err)
	}
	f.Fail("cuCtxSynchronize", 0, cuda.OutOfMemory) // each
	for range 3 {
		if err := d.Synchronize(); !errors.Is(err, cuda.ErrOutOfMemory) {
			t.Errorf("Synchronize = %v, want an error each time", err)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("Fail of a function that does not exist did not panic")
			}
		}()
		f.Fail("cuMemAlloc", 1, cuda.OutOfMemory)
	}()
}

func TestALostDeviceStaysLost(t *testing.T) {
	for _, code := range []cuda.Code{cuda.DeviceUnavailable, cuda.ECCUncorrectable, cuda.Unknown, cuda.IllegalAddress, cuda.LaunchFailed} {
		d := openAlone(t)
		s, err := d.NewStream()
		must(t, err)
		b, err := cuda.Alloc[uint32](d, 4)
		must(t, err)
		f := gputest.Faults(t, d)
		f.Fail("cuStreamSynchronize", 1, code)
		first := s.Synchronize()
		e := new(cuda.Error)
		if !errors.Is(first, cuda.ErrDeviceLost) || !errors.As(first, &e) || !e.Sticky() || !e.CPUValid() || e.RetryValid() || e.Code != code {
			t.Errorf("code %d: %v, want a lost device that leaves the CPU", code, first)
		}
		if kernel := code == cuda.IllegalAddress || code == cuda.LaunchFailed; errors.Is(first, cuda.ErrLaunch) != kernel {
			t.Errorf("code %d: launch failure = %t, want %t", code, !kernel, kernel)
		}
		calls := f.Calls()
		for what, call := range map[string]func() error{
			"Err":         d.Err,
			"Synchronize": s.Synchronize,
			"Fill":        func() error { return cuda.Fill(s, b, 1) },
			"Alloc":       func() error { _, err := cuda.Alloc[uint32](d, 4); return err },
			"Free":        b.Free,
			"Close":       s.Close,
		} {
			t.Run(what, func(t *testing.T) {
				if err := call(); err != error(e) { //nolint:errorlint // the very same error is meant
					t.Errorf("code %d: %s after the loss = %v, want %v", code, what, err, first)
				}
			})
		}
		if after := f.Calls(); len(after) != len(calls) || after["cuStreamSynchronize"] != 1 {
			t.Errorf("calls went on after the loss: %v, then %v", calls, after)
		}
	}
}

// The workload must return the error and free everything that can be freed.
func TestEveryCallMayFail(t *testing.T) {
	gputest.EachFault(t, cuda.OutOfMemory, nil, func(t *testing.T, d *cuda.Device) {
		failing := strings.Count(t.Name(), "/") > 1
		objects, _ := d.Live()
		err := work(d)
		if (err != nil) != failing {
			t.Errorf("error %v, want one: %t", err, failing)
		}
		if failing && !errors.Is(err, cuda.ErrOutOfMemory) {
			t.Errorf("error %v, want the one that was ordered", err)
		}
		if n, _ := d.Live(); n != objects {
			t.Errorf("%d objects are left", n-objects)
		}
		if err := d.Err(); err != nil {
			t.Errorf("the device was marked failed: %v", err)
		}
	})
}

// work uses every kind of object and releases all of them, whatever fails.
func work(d *cuda.Device) (err error) {
	leave := func(free func() error) { err = errors.Join(err, free()) }
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer leave(s.Close)
	e, err := d.NewEvent(true)
	if err != nil {
		return err
	}
	defer leave(e.Close)
	a, err := cuda.Alloc[uint32](d, 100)
	if err != nil {
		return err
	}
	defer leave(a.Free)
	h, err := cuda.AllocHost[uint32](d, 100)
	if err != nil {
		return err
	}
	defer leave(h.Free)
	m, err := d.LoadImage("gputest", gputest.Image())
	if err != nil {
		return err
	}
	defer leave(m.Unload)
	k, err := cuda.LoadKernel[gputest.AddParams](m, "gputest_add")
	if err != nil {
		return err
	}
	if err := cuda.FillWords(s, a, 1); err != nil {
		return err
	}
	if err := cuda.Launch(s, k, cuda.D1(1), cuda.D1(128), 0, &gputest.AddParams{Source: a.Ptr(), Target: h.DevicePtr(), NumWords: 100, Addend: 1}); err != nil {
		return err
	}
	if err := s.Record(e); err != nil {
		return err
	}
	return e.Synchronize()
}

const faultChild = "GRIFFIN_TEST_KERNEL_FAULT"

// In a separate process: on a GPU all users in the process lose the context.
func TestAKernelThatDies(t *testing.T) {
	if os.Getenv(faultChild) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestAKernelThatDies$", "-test.v")
		cmd.Env = append(os.Environ(), faultChild+"=1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "lost as it should be: ") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	d := gputest.Open(t)
	s, err := d.NewStream()
	must(t, err)
	k := gputest.Kernel[gputest.StoreParams](t, d, "gputest_store")
	must(t, cuda.Launch(s, k, cuda.D1(1), cuda.D1(1), 0, &gputest.StoreParams{Target: 16, Value: 1}))
	err = s.Synchronize()
	if !errors.Is(err, cuda.ErrDeviceLost) || !errors.Is(err, cuda.ErrLaunch) {
		t.Fatalf("Synchronize after a store to nowhere = %v, want a launch failure and a lost device", err)
	}
	if d.Err() == nil {
		t.Fatal("the device is not marked failed")
	}
	wantReport(t, "null pointer")
	t.Logf("lost as it should be: %v", err)
}
