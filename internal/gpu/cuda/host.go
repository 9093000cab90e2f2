package cuda

import (
	"fmt"
	"unsafe"
)

// Flags of cuMemHostAlloc and cuMemHostRegister: usable by all contexts, mapped
// for kernels, only ever read by them.
const (
	hostPortable  = 1
	hostDeviceMap = 2
	hostReadOnly  = 8
)

// HostBuffer is page-locked host memory of T's: copies from and to it run while
// the CPU goes on, and kernels can read and write it over the bus. A value that
// names the memory, as Buffer.
type HostBuffer[T any] struct {
	device *Device
	data   []T
	mapped Ptr[T]
}

// AllocHost allocates page-locked host memory for n T's. It takes about a
// millisecond for 4 MiB: for what lives long. The error is ErrOutOfMemory when
// the system refuses to lock so much.
func AllocHost[T any](d *Device, n int) (HostBuffer[T], error) {
	if err := checkPlain[T]("AllocHost"); err != nil {
		return HostBuffer[T]{}, err
	}
	size := unsafe.Sizeof(*new(T))
	if n < 0 || uint64(n) > (1<<46)/uint64(size) {
		return HostBuffer[T]{}, misuse("AllocHost", "%d elements of %d bytes", n, size)
	}
	if err := d.Err(); err != nil || n == 0 {
		return HostBuffer[T]{device: d}, err
	}
	sizeBytes := uintptr(n) * size
	about := fmt.Sprintf("of %d bytes", sizeBytes)
	p := new(unsafe.Pointer)
	if err := d.call(fnMemHostAlloc, about, uintptr(unsafe.Pointer(p)), sizeBytes, hostPortable|hostDeviceMap); err != nil {
		return HostBuffer[T]{}, err
	}
	mapped := new(uint64)
	if err := d.call(fnMemHostGetDevicePointer, about, uintptr(unsafe.Pointer(mapped)), uintptr(*p), 0); err != nil {
		return HostBuffer[T]{}, d.after(err, fnMemFreeHost, uintptr(*p))
	}
	d.remember(uint64(uintptr(*p)), allocation{hostMemory, int64(sizeBytes)})
	return HostBuffer[T]{device: d, data: unsafe.Slice((*T)(*p), n), mapped: Ptr[T](*mapped)}, nil
}

// after undoes a first step when a second has failed with err.
func (d *Device) after(err error, undo function, arg uintptr) error {
	d.try(undo, arg)
	return err
}

// Data is the memory. It is valid until Free, and must not be touched after.
func (h HostBuffer[T]) Data() []T { return h.data }

// Bytes is the same memory as bytes.
func (h HostBuffer[T]) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(h.data))), h.SizeBytes())
}

// Len is the number of T's.
func (h HostBuffer[T]) Len() int { return len(h.data) }

// SizeBytes is the size of the memory.
func (h HostBuffer[T]) SizeBytes() int64 { return int64(len(h.data)) * int64(unsafe.Sizeof(*new(T))) }

// DevicePtr is the address by which kernels reach the memory.
func (h HostBuffer[T]) DevicePtr() Ptr[T] { return h.mapped }

// IsZero reports whether h names no memory at all.
func (h HostBuffer[T]) IsZero() bool { return len(h.data) == 0 }

// Free gives the memory back. No work on the device may use it any more.
func (h HostBuffer[T]) Free() error {
	if len(h.data) == 0 {
		return nil
	}
	address := uintptr(unsafe.Pointer(unsafe.SliceData(h.data)))
	if err := h.device.forget(uint64(address), hostMemory); err != nil {
		return err
	}
	return h.device.call(fnMemFreeHost, "", address)
}

// Register page-locks memory that exists, so that it is as a HostBuffer until
// unregister is called: heap memory, or a mapped file where the system allows it.
// Where it does not, the error is not sticky, and the caller copies. The whole
// pages that data touches are locked; parts of one page cannot be registered
// twice. data must not be unmapped before unregister, which keeps heap memory
// alive.
func Register[T any](d *Device, data []T) (unregister func() error, err error) {
	if err := checkPlain[T]("Register"); err != nil {
		return nil, err
	}
	if len(data) == 0 {
		return func() error { return nil }, d.Err()
	}
	address := uintptr(unsafe.Pointer(unsafe.SliceData(data)))
	size := uintptr(len(data)) * unsafe.Sizeof(data[0])
	f := fnMemHostRegister
	// A mapping that may not be written needs the read-only flag, which not every
	// device takes: so it is the second try.
	code := d.try(f, uintptr(unsafe.Pointer(unsafe.SliceData(data))), size, hostPortable|hostDeviceMap)
	if code != Success && !code.sticky() && code != Misuse && code != OutOfMemory {
		code = d.try(f, uintptr(unsafe.Pointer(unsafe.SliceData(data))), size, hostPortable|hostDeviceMap|hostReadOnly)
	}
	if code != Success {
		return nil, d.fail(f, fmt.Sprintf("of %d bytes", size), code)
	}
	d.remember(uint64(address), allocation{registeredMemory, int64(size)})
	return func() error {
		pinned := uintptr(unsafe.Pointer(unsafe.SliceData(data))) // also keeps data alive until here
		if err := d.forget(uint64(pinned), registeredMemory); err != nil {
			return err
		}
		return d.call(fnMemHostUnregister, "", pinned)
	}, nil
}

// MappedPtr is the address by which kernels reach registered memory.
func MappedPtr[T any](d *Device, data []T) (Ptr[T], error) {
	out := new(uint64)
	err := d.call(fnMemHostGetDevicePointer, "", uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(unsafe.SliceData(data))), 0)
	return Ptr[T](*out), err
}
