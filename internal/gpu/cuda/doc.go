// Package cuda calls an NVIDIA GPU's driver library, loaded at run time: no
// cgo, no CUDA toolkit, no CUDA runtime library.
//
// It is a thin typed layer over the driver API: a [Library] has devices; a
// [Device] has memory, modules, streams and events; a [Kernel] of a [Module] is
// launched on a [Stream]. It does not know posting lists; the kernel packages
// above it do. Kernels are written in CUDA C++ and embedded as PTX. Every call
// that waits documents it.
//
// # Goroutines and threads
//
// The driver keeps a current context per OS thread, and goroutines move between
// threads. So each call here locks its goroutine to its thread, makes the
// device's primary context current, makes one driver call and unlocks; users of
// the package need not lock threads. BenchmarkLaunchCall measures the overhead
// without a driver: 60 ns for the bare call of a C function, 115 ns with the
// context and the lock, no heap allocation.
//
//   - [Library], [Device], [Module] and [Kernel] are safe for concurrent use.
//     [Kernel.SetMaxShared] applies to launches that begin after it returns.
//   - A [Stream] belongs to one goroutine at a time; it may be passed on. Work on
//     one stream runs in the order in which it was enqueued; work on two streams
//     runs in any order unless [Stream.Wait] orders it.
//   - An [Event] may be queried and waited for by many goroutines; only the
//     goroutine that owns the stream records it.
//   - A [Buffer] and a [HostBuffer] are values that refer to memory. The code
//     that allocated the memory frees it, once, when no stream uses it any more.
//   - Calls that wait ([Stream.Synchronize], [Event.Synchronize], [Buffer.Free],
//     [Device.Close]) hold an OS thread while they wait. All others return when
//     the driver has accepted the work.
//
// # Lifetimes
//
// Nothing is freed by a finaliser. Every Alloc, New, Load and Open has its
// Free, Close or Unload. Freeing twice, and use after free, are bugs of the
// caller: a panic in builds with the tag "invariants", an [*Error] otherwise.
// [Device.Live] counts the objects that have not been freed.
//
// # Errors
//
// A failed call returns an [*Error] with the driver function and the driver's
// code. [errors.Is] with [ErrUnavailable], [ErrOutOfMemory], [ErrLaunch] and
// [ErrDeviceLost] classifies it. After an error that the driver calls
// sticky (an illegal address, a lost device) the device is marked failed:
// [Device.Err] and every later call on the device return the error at once,
// without a driver call. From then on the CPU answers.
//
// # Builds
//
// The first [Load] searches for the library, never start-up. On systems other
// than Linux on amd64 and arm64, and with the build tag "nogpu", the same API
// exists and Load returns the reason; such a binary is static.
package cuda
