// Package cuda calls an NVIDIA GPU's driver library at run time, without cgo or a
// CUDA toolkit.
//
// A [Library] has devices; a [Device] has memory, modules, streams and events; a
// [Kernel] of a [Module] is launched on a [Stream]. The package does not know
// posting lists. Every call that waits documents it.
//
// # Goroutines and threads
//
// The driver keeps a current context per OS thread, and goroutines move between
// threads. So each call here locks its goroutine to its thread, makes the
// device's primary context current, and makes one driver call: 115 ns without a
// driver (BenchmarkLaunchCall), no heap allocation.
//
//   - [Library], [Device], [Module] and [Kernel] are safe for concurrent use.
//     [Kernel.SetMaxShared] applies to launches that begin after it returns.
//   - A [Stream] belongs to one goroutine at a time. Work on two streams runs in
//     any order unless [Stream.Wait] orders it.
//   - An [Event] may be queried and waited for by many goroutines; only the
//     goroutine that owns the stream records it.
//   - A [Buffer] and a [HostBuffer] are values that refer to memory. The code
//     that allocated it frees it, once, when no stream uses it any more.
//   - Calls that wait ([Stream.Synchronize], [Event.Synchronize], [Buffer.Free],
//     [Device.Close]) hold an OS thread while they wait. All others return at
//     once.
//
// # Lifetimes
//
// Nothing is freed by a finaliser. Freeing twice, and use after free, are bugs of
// the caller: a panic in builds with the tag "invariants", an [*Error] otherwise.
//
// # Errors
//
// A failed call returns an [*Error] with the driver function and the driver's
// code. [errors.Is] with [ErrUnavailable], [ErrOutOfMemory], [ErrLaunch] and
// [ErrDeviceLost] classifies it. After an error that the driver calls sticky (an
// illegal address, a lost device) the device is marked failed: [Device.Err] and
// every later call on the device return the error at once, without a driver call.
//
// # Builds
//
// On systems other than Linux on amd64 and arm64, and with the build tag "nogpu",
// [Load] returns the reason; such a binary is static.
package cuda
