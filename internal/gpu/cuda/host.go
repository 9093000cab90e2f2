package cuda

import (
	"fmt"
	"unsafe"
)

// Of cuMemHostAlloc and cuMemHostRegister: usable by all contexts, mapped for
// kernels, read-only for kernels.
const (
	hostPortable  = 1
	hostDeviceMap = 2
	hostReadOnly  = 8
)

// HostBuffer refers to page-locked host memory. Copies from and to it are
// asynchronous, and kernels can access it over the bus.
type HostBuffer[T any] struct {
	device *Device
	data   []T
	mapped Ptr[T]
}

// AllocHost allocates page-locked host memory for n values. It takes about a
// millisecond for 4 MiB. The error is ErrOutOfMemory if the system refuses to
// lock it.
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

// after undoes a first step after the second failed with err.
func (d *Device) after(err error, undo function, arg uintptr) error {
	d.try(undo, arg)
	return err
}

// Data returns the memory, which is valid until Free and must not be touched after it.
func (h HostBuffer[T]) Data() []T { return h.data }

// Bytes returns the same memory as bytes.
func (h HostBuffer[T]) Bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(h.data))), h.SizeBytes())
}

// Len returns the number of values.
func (h HostBuffer[T]) Len() int { return len(h.data) }

// SizeBytes returns the size of the memory.
func (h HostBuffer[T]) SizeBytes() int64 { return int64(len(h.data)) * int64(unsafe.Sizeof(*new(T))) }

// DevicePtr returns the address of the memory for kernels.
func (h HostBuffer[T]) DevicePtr() Ptr[T] { return h.mapped }

// IsZero reports whether h refers to no memory.
func (h HostBuffer[T]) IsZero() bool { return len(h.data) == 0 }

// Free releases the memory, which no work may use any more.
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

// Register page-locks existing memory (heap memory, or a mapped file where the
// system allows it), so that it behaves like a HostBuffer until unregister is
// called. If the system refuses, the error is not sticky. Whole pages are
// locked; parts of one page cannot be registered twice. data must not be
// unmapped before unregister, which also keeps heap memory alive.
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
	// Not every device supports the read-only flag that a read-only mapping needs.
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

// MappedPtr returns the address of registered memory for kernels.
func MappedPtr[T any](d *Device, data []T) (Ptr[T], error) {
	out := new(uint64)
	err := d.call(fnMemHostGetDevicePointer, "", uintptr(unsafe.Pointer(out)), uintptr(unsafe.Pointer(unsafe.SliceData(data))), 0)
	return Ptr[T](*out), err
}
