package cuda

import (
	"math"
	"runtime"
	"unsafe"
)

// Dim is the shape of a grid in blocks, or of a block in threads.
type Dim struct{ X, Y, Z uint32 }

// D1 returns a one-dimensional shape, which the driver refuses if x is out of
// range.
func D1(x int) Dim {
	if x < 0 || int64(x) > math.MaxUint32 {
		return Dim{math.MaxUint32, 1, 1}
	}
	return Dim{uint32(x), 1, 1}
}

// Launch enqueues a kernel: grid blocks of block threads, each block with
// sharedBytes of dynamic shared memory. P mirrors the struct that is the
// kernel's only parameter; *params is copied. Launch does not wait and
// allocates nothing. A later call on the device reports a fault in the kernel.
func Launch[P any](s *Stream, k *Kernel, grid, block Dim, sharedBytes int, params *P) error {
	size := unsafe.Sizeof(*params)
	if int(size) != k.paramBytes {
		return misuse("Launch", "%s: parameters of %d bytes; the kernel takes %d", k.name, size, k.paramBytes)
	}
	copy(unsafe.Slice((*byte)(unsafe.Pointer(&s.scratch.params)), maxParamBytes), unsafe.Slice((*byte)(unsafe.Pointer(params)), size))
	return s.launch(k, grid, block, sharedBytes)
}

// launch takes the parameters from the stream's scratch memory.
func (s *Stream) launch(k *Kernel, grid, block Dim, sharedBytes int) error {
	if s.device != k.device {
		return misuse("Launch", "%s: the kernel and the stream belong to different devices", k.name)
	}
	s.device.makeRoom()
	s.scratch.args = [...]uintptr{
		k.handle,
		uintptr(grid.X), uintptr(grid.Y), uintptr(grid.Z), uintptr(block.X), uintptr(block.Y), uintptr(block.Z),
		uintptr(sharedBytes), s.handle, uintptr(unsafe.Pointer(&s.scratch.pointers)), 0,
	}
	code := s.device.invoke(fnLaunchKernel, s.scratch.args[:])
	runtime.KeepAlive(s)
	return s.device.check(fnLaunchKernel, k.name, code)
}

// Words returns the memory of a kernel's parameters, of numbers of fixed size, as words, for a kernel that reads them from
// elsewhere than from its launch.
func Words[P any](params *P) []uint32 {
	return unsafe.Slice((*uint32)(unsafe.Pointer(params)), unsafe.Sizeof(*params)/4)
}

// Stay tells the device that a kernel stays on it for work that no launch announces. Before the next launch of another
// kernel, in any stream, *leave is called, once: it asks the kernel to leave, and does not wait. It may run on any
// goroutine, until Left returns.
func (d *Device) Stay(leave *func()) { d.stays.Store(leave) }

// Left tells the device that the kernel of Stay has left, or will without being asked.
func (d *Device) Left(leave *func()) { d.stays.CompareAndSwap(leave, nil) }

func (d *Device) makeRoom() {
	if leave := d.stays.Load(); leave != nil && d.stays.CompareAndSwap(leave, nil) {
		(*leave)()
	}
}
