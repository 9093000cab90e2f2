package intersect

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// TestFaults makes each driver call of a conjunction fail in turn: the answer is right,
// or there is an error of the driver and all memory is freed.
func TestFaults(t *testing.T) {
	first, second := rising(300, 0, 3), rising(700, 0, 2)
	want := mergeLists(first, second, second)
	run := func(t *testing.T, d *cuda.Device) {
		got, err := conjunction(t, d, first, second)
		var driver *cuda.Error
		switch {
		case errors.As(err, &driver):
			if !driver.CPUValid() {
				t.Errorf("the CPU may not answer after %v", err)
			}
		case err != nil:
			t.Errorf("error %v, which is none of the driver", err)
		case !got.equal(want):
			t.Error(difference(got, want))
		}
	}
	gputest.EachFault(t, cuda.OutOfMemory, []string{"cuMemAlloc_v2", "cuModuleLoadDataEx"}, run)
	gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel"}, run)
}

// conjunction intersects a with b and again with b on a device, and frees what it took.
func conjunction(t *testing.T, d *cuda.Device, a, b []uint32) (got candidates, err error) {
	var frees []func() error
	defer func() {
		for _, free := range frees {
			if e := free(); err == nil {
				err = e
			}
		}
	}()
	x, err := New(d)
	if err != nil {
		return got, err
	}
	frees = append(frees, x.Close)
	s, err := d.NewStream()
	if err != nil {
		return got, err
	}
	frees = append(frees, s.Close)
	var lists []Operand
	for _, docIDs := range [][]uint32{a, b, b} {
		memory, err := cuda.Alloc[uint32](d, len(docIDs))
		if err != nil {
			return got, err
		}
		frees = append(frees, memory.Free)
		if err := cuda.CopyToDevice(s, memory, docIDs); err != nil {
			return got, err
		}
		lists = append(lists, Operand{List: List{DocIDs: memory}})
	}
	c, err := NewChain(d, len(lists), len(a), len(b), 7)
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { c.Free(); return nil })
	out, err := NewCandidates(d, len(lists), len(a))
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { out.Free(); return nil })
	if err := x.All(s, c, lists, out); err != nil {
		return got, err
	}
	if err := s.Synchronize(); err != nil {
		return got, err
	}
	r := &rig{t: t, d: d, x: x, s: s}
	return r.candidates(out, len(lists)), nil
}
