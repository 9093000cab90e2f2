package cuda

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/invariant"
)

// What an error of this package is, for errors.Is. One error can be several: a
// kernel that read an illegal address is ErrLaunch and ErrDeviceLost.
var (
	// ErrUnavailable says that there is no usable driver or device. The CPU
	// answers; asking again in this process does not help.
	ErrUnavailable = errors.New("no usable GPU")
	// ErrOutOfMemory says that device or page-locked memory ran out. The device
	// is well: the call may be repeated after memory was freed.
	ErrOutOfMemory = errors.New("out of GPU memory")
	// ErrLaunch says that a kernel could not be started or died.
	ErrLaunch = errors.New("kernel launch failed")
	// ErrDeviceLost says that the device's context is of no more use, because the
	// device is gone or a kernel died on it. Device.Err returns such an error.
	ErrDeviceLost = errors.New("GPU lost")
	// ErrMisuse says that the caller broke a contract of this package: a bug of
	// Griffin, not of the machine.
	ErrMisuse = errors.New("misuse of the GPU")
)

// Error is a failed call.
type Error struct {
	// Call is the driver function that failed, with what it was about:
	// "cuLaunchKernel decode_simdbp".
	Call string
	Code Code
	// Name is the driver's name of the code, such as CUDA_ERROR_OUT_OF_MEMORY;
	// "" for this package's own codes.
	Name string
	// Detail is the driver's sentence about the code, the log of its PTX
	// compiler, or what this package has to say.
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

// Unavailable reports whether there is no usable driver or device at all.
func (e *Error) Unavailable() bool { return e.Code.unavailable() }

// Sticky reports whether the device is of no more use after this error.
func (e *Error) Sticky() bool { return e.Code.sticky() }

// RetryValid reports whether the same call may succeed on the same device later:
// after memory was freed, or with fewer resources asked for.
func (e *Error) RetryValid() bool { return e.Code == OutOfMemory }

// CPUValid reports whether the work may be done by the CPU instead, with the
// same result. It is false for a misuse only: that is a bug, and shows one.
func (e *Error) CPUValid() bool { return e.Code != Misuse }

// misuse is how a broken contract is reported: a panic in builds that check
// invariants, an error in all others.
func misuse(call, format string, args ...any) error {
	e := &Error{Call: call, Code: Misuse, Detail: fmt.Sprintf(format, args...)}
	invariant.Check(false, "%v", e)
	return e
}

func unavailable(call, format string, args ...any) *Error {
	return &Error{Call: call, Code: NoDriver, Detail: fmt.Sprintf(format, args...)}
}
