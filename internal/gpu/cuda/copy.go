package cuda

import (
	"runtime"
	"strconv"
	"unsafe"
)

// CopyToDevice enqueues a copy of src to the first len(src) values of dst. It
// is asynchronous if src lies in a HostBuffer or in registered memory; then src
// must not change until the copy has completed. Otherwise it waits for s and
// has read src when it returns.
func CopyToDevice[T any](s *Stream, dst Buffer[T], src []T) error {
	if err := s.checkCopy("CopyToDevice", dst.device, dst.length, len(src)); err != nil || len(src) == 0 {
		return err
	}
	size := uintptr(len(src)) * unsafe.Sizeof(src[0])
	s.scratch.host = unsafe.Pointer(unsafe.SliceData(src))
	return s.copy(fnMemcpyHtoDAsync, uintptr(dst.ptr), uintptr(s.scratch.host), size)
}

// CopyToHost enqueues a copy of src to the first Len values of dst. It is
// asynchronous if dst lies in a HostBuffer or in registered memory; otherwise
// it waits for s.
func CopyToHost[T any](s *Stream, dst []T, src Buffer[T]) error {
	if err := s.checkCopy("CopyToHost", src.device, len(dst), src.length); err != nil || src.length == 0 {
		return err
	}
	size := uintptr(src.SizeBytes())
	s.scratch.host = unsafe.Pointer(unsafe.SliceData(dst))
	return s.copy(fnMemcpyDtoHAsync, uintptr(s.scratch.host), uintptr(src.ptr), size)
}

// CopyDevice enqueues a copy of src to the first src.Len values of dst, which
// must not overlap.
func CopyDevice[T any](s *Stream, dst, src Buffer[T]) error {
	if err := s.checkCopy("CopyDevice", dst.device, dst.length, src.length); err != nil {
		return err
	}
	if err := s.checkCopy("CopyDevice", src.device, 0, 0); err != nil || src.length == 0 {
		return err
	}
	return s.copy(fnMemcpyDtoDAsync, uintptr(dst.ptr), uintptr(src.ptr), uintptr(src.SizeBytes()))
}

// Fill enqueues setting every byte of b to value.
func Fill[T any](s *Stream, b Buffer[T], value uint8) error {
	if err := s.checkCopy("Fill", b.device, 0, 0); err != nil || b.length == 0 {
		return err
	}
	return s.copy(fnMemsetD8Async, uintptr(b.ptr), uintptr(value), uintptr(b.SizeBytes()))
}

// FillWords enqueues setting every word of b to value.
func FillWords(s *Stream, b Buffer[uint32], value uint32) error {
	if err := s.checkCopy("FillWords", b.device, 0, 0); err != nil || b.length == 0 {
		return err
	}
	return s.copy(fnMemsetD32Async, uintptr(b.ptr), uintptr(value), uintptr(b.length))
}

// checkCopy returns an error if n values exceed room or d is another device.
func (s *Stream) checkCopy(call string, d *Device, room, n int) error {
	switch {
	case n > room:
		return misuse(call, "%d values into room for %d", n, room)
	case d != nil && d != s.device:
		return misuse(call, "the buffer and the stream belong to different devices")
	}
	return nil
}

// copy calls a driver function that takes two addresses (or an address and a
// value), a size and a stream.
func (s *Stream) copy(f function, to, from, n uintptr) error {
	code := s.invoke(f, to, from, n, s.handle)
	runtime.KeepAlive(s)
	s.scratch.host = nil
	if code == Success {
		return nil
	}
	unit := " bytes"
	if f == fnMemsetD32Async {
		unit = " words"
	}
	return s.device.fail(f, "of "+strconv.FormatUint(uint64(n), 10)+unit, code)
}
