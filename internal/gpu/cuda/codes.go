package cuda

import "strconv"

// Code is a result of the driver (CUresult), or a negative code of this
// package.
type Code int32

// The codes that this package or its callers distinguish.
const (
	// Misuse: the caller broke a contract, and the driver was not called.
	Misuse Code = -1
	// NoDriver: there is no driver library, it lacks a function, or it is too old.
	NoDriver Code = -2

	Success               Code = 0
	InvalidValue          Code = 1
	OutOfMemory           Code = 2
	NotInitialized        Code = 3
	Deinitialized         Code = 4
	StubLibrary           Code = 34
	DeviceUnavailable     Code = 46
	NoDevice              Code = 100
	InvalidDevice         Code = 101
	InvalidImage          Code = 200
	InvalidContext        Code = 201
	ECCUncorrectable      Code = 214
	InvalidPTX            Code = 218
	NVLinkUncorrectable   Code = 220
	UnsupportedPTXVersion Code = 222
	OperatingSystem       Code = 304
	InvalidHandle         Code = 400
	NotFound              Code = 500
	NotReady              Code = 600
	IllegalAddress        Code = 700
	LaunchOutOfResources  Code = 701
	LaunchTimeout         Code = 702
	ContextIsDestroyed    Code = 709
	Assert                Code = 710
	HardwareStackError    Code = 714
	IllegalInstruction    Code = 715
	MisalignedAddress     Code = 716
	InvalidAddressSpace   Code = 717
	InvalidPC             Code = 718
	LaunchFailed          Code = 719
	TensorMemoryLeak      Code = 721
	Contained             Code = 722
	NotPermitted          Code = 800
	NotSupported          Code = 801
	SystemNotReady        Code = 802
	SystemDriverMismatch  Code = 803
	CompatNotSupported    Code = 804
	ExternalDevice        Code = 911
	Unknown               Code = 999
)

// kernelFault reports whether a kernel died, which also loses the context.
func (c Code) kernelFault() bool {
	switch c {
	case IllegalAddress, LaunchTimeout, Assert, HardwareStackError, IllegalInstruction, MisalignedAddress,
		InvalidAddressSpace, InvalidPC, LaunchFailed, TensorMemoryLeak, Contained:
		return true
	}
	return false
}

// sticky reports whether the context is unusable and every later call would fail. For
// these codes the driver's documentation says that "the process must be terminated and
// relaunched", or that the device is gone.
func (c Code) sticky() bool {
	switch c {
	case Deinitialized, DeviceUnavailable, NoDevice, ECCUncorrectable, NVLinkUncorrectable,
		ContextIsDestroyed, SystemNotReady, ExternalDevice, Unknown:
		return true
	}
	return c.kernelFault()
}

// unavailable reports whether the driver cannot be used at all.
func (c Code) unavailable() bool {
	switch c {
	case NoDriver, NotInitialized, StubLibrary, NoDevice, SystemNotReady, SystemDriverMismatch, CompatNotSupported:
		return true
	}
	return false
}

// String returns the number; the driver provides names (Error.Name).
func (c Code) String() string { return strconv.Itoa(int(c)) }
