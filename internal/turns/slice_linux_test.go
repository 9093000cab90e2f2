package turns

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// All threads have short slices, also ones that are made later, and keep the rest of their attributes.
func TestShortSlices(t *testing.T) {
	before, err := unix.SchedGetAttr(0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if before.Runtime == 0 {
		t.Skip("before Linux 6.12, threads have no slices of their own")
	}
	defer setSlices(0) // the default
	ShortSlices()
	const later = 4
	ids, leave := make(chan int), make(chan struct{})
	for range later {
		go func() {
			runtime.LockOSThread() // another thread is made for the other goroutines
			ids <- unix.Gettid()
			<-leave
		}()
	}
	all := threads()
	for range later {
		all = append(all, <-ids)
	}
	for _, id := range all {
		attr, err := unix.SchedGetAttr(id, 0)
		if err == nil && (attr.Runtime != uint64(slice) || attr.Policy != before.Policy || attr.Nice != before.Nice) {
			t.Errorf("thread %d: %+v, before %+v", id, attr, before)
		}
	}
	close(leave)
}

// Long changes the slice of the thread until it returns.
func TestLong(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own := func() uint64 {
		attr, err := unix.SchedGetAttr(0, 0)
		if err != nil {
			t.Fatal(err)
		}
		return attr.Runtime
	}
	if own() == 0 {
		t.Skip("before Linux 6.12, threads have no slices of their own")
	}
	defer setSlices(0) // the default
	ShortSlices()
	within := uint64(0)
	Long(func() { within = own() })
	if after := own(); within != uint64(longSlice) || after != uint64(slice) {
		t.Errorf("slices of %d ns within and %d ns after", within, after)
	}
}
