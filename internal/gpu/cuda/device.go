package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"unsafe"
)

// Device is an opened device with its retained primary context. All methods are
// safe for concurrent use; each makes the context current on its OS thread.
type Device struct {
	lib     *Library
	info    Info
	handle  uintptr   // CUdevice
	context []uintptr // CUcontext, as the argument list of cuCtxSetCurrent
	pool    uintptr   // CUmemoryPool, the default pool

	failed atomic.Pointer[Error]  // the first sticky error, or of a closed device
	faults atomic.Pointer[Faults] // injected by a test, or nil
	stays  atomic.Pointer[func()] // leave of the kernel that stays, or nil

	mutex sync.Mutex
	live  map[uint64]allocation // by address
	items int                   // modules, streams, events and graphs not yet closed
}

// Open retains the primary context of a device. The error is ErrUnavailable if
// the device cannot be used (Info.Unusable), otherwise the driver's.
func (l *Library) Open(ordinal int) (*Device, error) {
	info, handle, err := l.describe(ordinal)
	if err != nil {
		return nil, err
	}
	if why := info.Unusable(); why != "" {
		return nil, unavailable("open", "device %d (%s) is not used: %s", ordinal, info.Name, why)
	}
	d := &Device{lib: l, info: info, handle: handle, live: map[uint64]allocation{}}
	out := new(uintptr)
	if err := l.check(fnPrimaryCtxRetain, d.name(), l.call(fnPrimaryCtxRetain, uintptr(unsafe.Pointer(out)), handle)); err != nil {
		return nil, err
	}
	d.context = []uintptr{*out}
	if err := d.call(fnDeviceGetDefaultMemPool, "", uintptr(unsafe.Pointer(out)), handle); err != nil {
		return nil, d.abandon(err)
	}
	d.pool = *out
	if err := d.SetPoolThreshold(keepAll); err != nil {
		return nil, d.abandon(err)
	}
	return d, nil
}

func (d *Device) abandon(err error) error {
	d.lib.call(fnPrimaryCtxRelease, d.handle)
	return err
}

func (d *Device) name() string { return fmt.Sprintf("device %d", d.info.Ordinal) }

// Info describes the device.
func (d *Device) Info() Info { return d.info }

// Library returns the library that opened the device.
func (d *Device) Library() *Library { return d.lib }

// Err returns the error that made the device unusable, or nil. Every later call
// on the device returns the same error at once.
func (d *Device) Err() error {
	e := d.failed.Load()
	if e == nil {
		return nil // not e: a nil *Error is not a nil error
	}
	return e
}

// Close waits for the device's work and releases the context, also of a failed
// device. Memory that is still allocated is a misuse, reported after the
// release; modules, streams, parts, events and graphs are released with the context.
func (d *Device) Close() error {
	closed := &Error{Call: "close", Code: Misuse, Detail: d.name() + " is closed"}
	err := d.Synchronize()
	before := d.failed.Swap(closed)
	switch {
	case before == nil:
	case before.Code == Misuse:
		return misuse("close", "%s was closed before", d.name())
	default:
		err = nil
	}
	if e := d.lib.check(fnPrimaryCtxRelease, d.name(), d.lib.call(fnPrimaryCtxRelease, d.handle)); e != nil && before == nil && err == nil {
		err = e
	}
	if _, sizeBytes := d.Live(); before == nil && err == nil && sizeBytes > 0 {
		return misuse("close", "%s: %d bytes of memory are not freed", d.name(), sizeBytes)
	}
	return err
}

// MemInfo returns the free device memory, shared by all processes, and the
// total.
func (d *Device) MemInfo() (freeBytes, totalBytes uint64, err error) {
	out := new([2]uint64)
	if err := d.call(fnMemGetInfo, "", uintptr(unsafe.Pointer(&out[0])), uintptr(unsafe.Pointer(&out[1]))); err != nil {
		return 0, 0, err
	}
	return out[0], out[1], nil
}

// Synchronize waits until all work of the context has completed.
func (d *Device) Synchronize() error { return d.call(fnCtxSynchronize, "") }

// Live returns the number of buffers, modules, streams, parts, events and graphs not
// yet freed, and the bytes of the buffers, including page-locked host memory.
func (d *Device) Live() (objects int, sizeBytes int64) {
	d.mutex.Lock()
	defer d.mutex.Unlock()
	for _, a := range d.live {
		sizeBytes += a.sizeBytes
	}
	return len(d.live) + d.items, sizeBytes
}

func (d *Device) created(n int) {
	d.mutex.Lock()
	d.items += n
	d.mutex.Unlock()
}

// call calls f in the device's context. about is for the error message.
// Pointers in args are treated as by Library.call.
//
//go:uintptrescapes
func (d *Device) call(f function, about string, args ...uintptr) error {
	return d.check(f, about, d.invoke(f, args))
}

// try is call for callers that expect some codes; they pass others to fail.
//
//go:uintptrescapes
func (d *Device) try(f function, args ...uintptr) Code { return d.invoke(f, args) }

// check returns nil for Success; about is the subject of the call, or "".
func (d *Device) check(f function, about string, code Code) error {
	if code == Success {
		return nil
	}
	return d.fail(f, about, code)
}

// invoke makes the context current on this thread and calls f, without
// allocation. The caller keeps args and the memory they point to in place and
// alive. Misuse means that the device failed earlier.
func (d *Device) invoke(f function, args []uintptr) Code {
	if d.failed.Load() != nil {
		return Misuse
	}
	if faults := d.faults.Load(); faults != nil {
		if code := faults.take(f); code != Success {
			return code
		}
	}
	runtime.LockOSThread()
	code := d.lib.invoke(fnCtxSetCurrent, d.context)
	if code == Success {
		code = d.lib.invoke(f, args)
	}
	runtime.UnlockOSThread()
	return code
}

// fail returns the error of a code, and marks the device failed if the code is sticky.
func (d *Device) fail(f function, about string, code Code) error {
	if code == Misuse {
		return d.failed.Load()
	}
	err := d.lib.check(f, about, code)
	if code.sticky() {
		d.failed.CompareAndSwap(nil, err)
	}
	return err
}
