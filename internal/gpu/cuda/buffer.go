package cuda

import (
	"fmt"
	"unsafe"
)

// Ptr is the device address of values of type T, for a kernel's parameter
// struct: 8 bytes; zero is null.
type Ptr[T any] uint64

// Buffer refers to device memory for Len values of type T (a number of fixed
// size, or a struct or array of such numbers), or to a slice of such memory.
// The zero Buffer has length 0 and may be freed.
type Buffer[T any] struct {
	device *Device
	ptr    Ptr[T]
	length int
	part   bool // made by Slice: cannot be freed
}

// kind determines how memory is freed.
type kind uint8

const (
	deviceMemory kind = iota
	hostMemory
	registeredMemory
)

func (k kind) String() string { return [...]string{"device", "page-locked", "registered"}[k] }

type allocation struct {
	kind      kind
	sizeBytes int64
}

// Alloc allocates uninitialised device memory for n values; n may be 0. It
// waits for the device and takes tens of microseconds: use it for long-lived
// memory. The error may be ErrOutOfMemory.
func Alloc[T any](d *Device, n int) (Buffer[T], error) {
	return alloc[T](d, nil, n)
}

// AllocAsync allocates device memory for n values from the device's pool, in
// stream order, in about a microsecond if the pool has room. Other streams may
// use it after they wait for an event recorded on s after this call.
func AllocAsync[T any](s *Stream, n int) (Buffer[T], error) {
	return alloc[T](s.device, s, n)
}

func alloc[T any](d *Device, s *Stream, n int) (Buffer[T], error) {
	if err := checkPlain[T]("Alloc"); err != nil {
		return Buffer[T]{}, err
	}
	size := unsafe.Sizeof(*new(T))
	if n < 0 || uint64(n) > (1<<48)/uint64(size) {
		return Buffer[T]{}, misuse("Alloc", "%d elements of %d bytes", n, size)
	}
	if err := d.Err(); err != nil || n == 0 {
		return Buffer[T]{device: d}, err
	}
	sizeBytes := uintptr(n) * size
	out := new(uint64)
	about := fmt.Sprintf("of %d bytes", sizeBytes)
	var err error
	if s == nil {
		err = d.call(fnMemAlloc, about, uintptr(unsafe.Pointer(out)), sizeBytes)
	} else {
		err = d.call(fnMemAllocAsync, about, uintptr(unsafe.Pointer(out)), sizeBytes, s.handle)
	}
	if err != nil {
		return Buffer[T]{}, err
	}
	d.remember(*out, allocation{deviceMemory, int64(sizeBytes)})
	return Buffer[T]{device: d, ptr: Ptr[T](*out), length: n}, nil
}

// Free releases the memory, after all work enqueued on the device before.
// Freeing twice, or freeing a slice, is a misuse.
func (b Buffer[T]) Free() error { return b.free(nil) }

// FreeAsync releases the memory, without waiting, when the work that is already
// enqueued on s has completed. No other stream may use it after that.
func (b Buffer[T]) FreeAsync(s *Stream) error { return b.free(s) }

func (b Buffer[T]) free(s *Stream) error {
	if b.part {
		return misuse("Free", "a slice of a buffer cannot be freed")
	}
	if b.ptr == 0 {
		return nil
	}
	if s != nil && s.device != b.device {
		return misuse("FreeAsync", "the buffer and the stream belong to different devices")
	}
	if err := b.device.forget(uint64(b.ptr), deviceMemory); err != nil {
		return err
	}
	if s == nil {
		return b.device.call(fnMemFree, "", uintptr(b.ptr))
	}
	return b.device.call(fnMemFreeAsync, "", uintptr(b.ptr), s.handle)
}

// Slice returns the range [from, to) of b, which shares its memory and must not
// be freed. It panics if the range is out of bounds.
func (b Buffer[T]) Slice(from, to int) Buffer[T] {
	if from < 0 || to < from || to > b.length {
		panic(fmt.Sprintf("cuda: slice bounds out of range [%d:%d] with length %d", from, to, b.length))
	}
	b.ptr += Ptr[T](uintptr(from) * unsafe.Sizeof(*new(T)))
	b.length = to - from
	b.part = true
	return b
}

// Bytes returns the same memory as bytes, which must not be freed.
func (b Buffer[T]) Bytes() Buffer[byte] {
	return Buffer[byte]{device: b.device, ptr: Ptr[byte](b.ptr), length: int(b.SizeBytes()), part: true}
}

// Ptr returns the device address, for a kernel's parameters.
func (b Buffer[T]) Ptr() Ptr[T] { return b.ptr }

// Len returns the number of values.
func (b Buffer[T]) Len() int { return b.length }

// SizeBytes returns the size of the memory.
func (b Buffer[T]) SizeBytes() int64 { return int64(b.length) * int64(unsafe.Sizeof(*new(T))) }

// IsZero reports whether b refers to no memory.
func (b Buffer[T]) IsZero() bool { return b.ptr == 0 }

// remember registers memory that the caller has to free.
func (d *Device) remember(address uint64, a allocation) {
	d.mutex.Lock()
	d.live[address] = a
	d.mutex.Unlock()
}

// forget removes memory from the register; it is a misuse if it is not registered with
// kind k.
func (d *Device) forget(address uint64, k kind) error {
	d.mutex.Lock()
	a, ok := d.live[address]
	if ok && a.kind == k {
		delete(d.live, address)
	}
	d.mutex.Unlock()
	switch {
	case !ok:
		return misuse("Free", "%s memory at %#x is not allocated, or was freed before", k, address)
	case a.kind != k:
		return misuse("Free", "memory at %#x is %s memory, not %s", address, a.kind, k)
	}
	return nil
}
