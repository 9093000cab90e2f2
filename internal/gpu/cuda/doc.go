// Package cuda reaches an NVIDIA GPU through the driver library, loaded at run
// time: no cgo, no CUDA toolkit, no runtime library.
//
// It is the driver API with Go's types on it and nothing more: a [Library] has
// devices, a [Device] has memory, modules, streams and events, and a [Kernel]
// of a [Module] is launched into a [Stream]. It knows nothing of posting lists;
// the kernel families above it do. It is not a way to write kernels (those are
// CUDA C++, embedded as PTX) and has no call that waits without saying so in
// its comment.
//
// # Goroutines and threads
//
// The driver keeps a current context per OS thread, and goroutines move between
// threads. So each call here locks its goroutine to its thread, makes the
// device's primary context current, does its one driver call and unlocks;
// nothing outside the package has to lock a thread. BenchmarkLaunchCall measures
// what that costs without a driver behind it: 60 ns for the bare call of a C
// function, 115 ns with the context and the lock, nothing of it on the heap.
//
//   - [Library], [Device], [Module] and [Kernel] may be used by many goroutines
//     at once. [Kernel.SetMaxShared] takes effect for launches that begin after
//     it has returned.
//   - A [Stream] belongs to one goroutine at a time; it may be handed on. Work in
//     one stream runs in the order in which it was put in; work in two streams
//     runs in any order unless [Stream.Wait] orders it.
//   - An [Event] may be queried and waited for by many goroutines; it is recorded
//     by the one that owns the stream.
//   - A [Buffer] and a [HostBuffer] are values that name memory. Whoever allocated
//     the memory frees it, once, when no stream uses it any more.
//   - Calls that wait ([Stream.Synchronize], [Event.Synchronize], [Buffer.Free],
//     [Device.Close]) hold an OS thread while they wait. All others return when
//     the driver has taken the work.
//
// # Lifetimes
//
// Nothing is freed by a finaliser. Every Alloc, New, Load and Open has its Free,
// Close or Unload. A second Free, and a use of what was freed, is a bug of the
// caller: a panic in builds with the tag "invariants", an [*Error] otherwise.
// [Device.Live] counts what has not been freed.
//
// # Errors
//
// A failed call is an [*Error] that names the driver function and the driver's
// code, and tells by [errors.Is] with [ErrUnavailable], [ErrOutOfMemory],
// [ErrLaunch] and [ErrDeviceLost] what is left to do. After an error that the
// driver calls sticky (an illegal address, a lost device) the device is marked
// failed: [Device.Err] returns the error, and so does every later call on the
// device at once, without a call into the driver. The CPU answers from then on.
//
// # Builds
//
// The library is looked for by the first [Load], never at start-up. On systems
// other than Linux on amd64 and arm64, and with the build tag "nogpu", the same
// API exists and Load says why there is no GPU; such a binary is static.
package cuda
