package cuda

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/invariant"
)

// Kinds of errors, for errors.Is. One error can be of several kinds.
var (
	// ErrUnavailable means that there is no usable driver or device in this
	// process.
	ErrUnavailable = errors.New("no usable GPU")
	// ErrOutOfMemory means that device or page-locked memory ran out; retry after
	// memory was freed.
	ErrOutOfMemory = errors.New("out of GPU memory")
	// ErrLaunch means that a kernel could not be started or crashed.
	ErrLaunch = errors.New("kernel launch failed")
	// ErrDeviceLost means that the device's context is unusable, because the
	// device is gone or a kernel crashed.
	ErrDeviceLost = errors.New("GPU lost")
	// ErrMisuse means a bug: the caller broke a contract of this package.
	ErrMisuse = errors.New("misuse of the GPU")
)

// Error is a failed call.
type Error struct {
	// The driver function, with its subject: "cuLaunchKernel decode_simdbp".
	Call string
	Code Code
	// Such as CUDA_ERROR_OUT_OF_MEMORY; "" for this package's own codes.
	Name string
	// A description, or the log of the driver's PTX compiler.
	Detail string
}

// Error returns "cuLaunchKernel decode_simdbp: CUDA_ERROR_…: text".
func (e *Error) Error() string {
	if e.Name == "" {
		return e.Call + ": " + e.Detail
	}
	return e.Call + ": " + e.Name + ": " + e.Detail
}

// Is matches the sentinels of this package.
func (e *Error) Is(target error) bool {
	switch target {
	case ErrUnavailable:
		return e.Unavailable()
	case ErrOutOfMemory:
		return e.Code == OutOfMemory
	case ErrLaunch:
		return e.Code.kernelFault() || e.Code == LaunchOutOfResources || e.launchCall()
	case ErrDeviceLost:
		return e.Code.sticky()
	case ErrMisuse:
		return e.Code == Misuse
	}
	return false
}

func (e *Error) launchCall() bool {
	for _, f := range [...]function{fnLaunchKernel, fnGraphLaunch} {
		name := f.String()
		if len(e.Call) >= len(name) && e.Call[:len(name)] == name && (len(e.Call) == len(name) || e.Call[len(name)] == ' ') {
			return e.Code != Misuse
		}
	}
	return false
}

// Unavailable reports whether there is no usable driver or device.
func (e *Error) Unavailable() bool { return e.Code.unavailable() }

// Sticky reports whether the device is unusable after this error.
func (e *Error) Sticky() bool { return e.Code.sticky() }

// RetryValid reports whether the same call may succeed later on the same device: after
// memory was freed, or with fewer resources.
func (e *Error) RetryValid() bool { return e.Code == OutOfMemory }

// CPUValid reports whether the CPU can do the work instead, with the same result: true
// for all errors except a misuse, which is a bug.
func (e *Error) CPUValid() bool { return e.Code != Misuse }

// misuse reports a broken contract: a panic in builds that check invariants, an error in
// all other builds.
func misuse(call, format string, args ...any) error {
	e := &Error{Call: call, Code: Misuse, Detail: fmt.Sprintf(format, args...)}
	invariant.Check(false, "%v", e)
	return e
}

func unavailable(call, format string, args ...any) *Error {
	return &Error{Call: call, Code: NoDriver, Detail: fmt.Sprintf(format, args...)}
}
