package cuda

import (
	"bytes"
	"fmt"
	"unsafe"
)

// minMajor is the lowest compute capability, 8.0, the target of the kernels.
const minMajor = 8

// Info describes a device.
type Info struct {
	Ordinal            int
	Name               string
	UUID               [16]byte
	BusID              string // PCI domain:bus:device.function
	TotalBytes         uint64
	Multiprocessors    int
	Major, Minor       int // compute capability
	DriverVersion      int // CUDA version of the driver, 1000*major + 10*minor
	WarpSize           int
	MaxThreadsPerBlock int
	// Shared memory per block with Kernel.SetMaxShared, and without it.
	MaxSharedBytes, SharedBytes int
	L2Bytes                     int
	// MappedHost: kernels can access page-locked host memory. Pools: AllocAsync
	// works.
	MappedHost, Pools bool
}

// attributes maps CUdevice_attribute to fields of Info.
var attributes = []struct {
	id  int
	set func(i *Info, v int)
}{
	{1, func(i *Info, v int) { i.MaxThreadsPerBlock = v }},
	{8, func(i *Info, v int) { i.SharedBytes = v }},
	{10, func(i *Info, v int) { i.WarpSize = v }},
	{16, func(i *Info, v int) { i.Multiprocessors = v }},
	{19, func(i *Info, v int) { i.MappedHost = v != 0 }},
	{38, func(i *Info, v int) { i.L2Bytes = v }},
	{75, func(i *Info, v int) { i.Major = v }},
	{76, func(i *Info, v int) { i.Minor = v }},
	{97, func(i *Info, v int) { i.MaxSharedBytes = v }},
	{115, func(i *Info, v int) { i.Pools = v != 0 }},
}

// Unusable returns why Griffin cannot use the device, or "".
func (i Info) Unusable() string {
	switch {
	case i.DriverVersion < minDriverVersion:
		return fmt.Sprintf("the driver is for CUDA %s; the kernels (PTX 8.0) need %s or later",
			Version(i.DriverVersion), Version(minDriverVersion))
	case i.Major < minMajor:
		return fmt.Sprintf("compute capability %d.%d; the kernels need %d.0 or later", i.Major, i.Minor, minMajor)
	case i.WarpSize != 32:
		return fmt.Sprintf("warps of %d threads; the kernels need 32", i.WarpSize)
	case !i.MappedHost:
		return "it cannot map host memory"
	case !i.Pools:
		return "it has no stream-ordered memory pools"
	}
	return ""
}

// Version formats a CUDA version of the driver: 12040 is "12.4".
func Version(v int) string { return fmt.Sprintf("%d.%d", v/1000, v%1000/10) }

// Driver returns the driver's version as text.
func (i Info) Driver() string { return Version(i.DriverVersion) }

// Devices lists all devices, including unusable ones.
func (l *Library) Devices() ([]Info, error) {
	count := new(int32)
	if err := l.check(fnDeviceGetCount, "", l.call(fnDeviceGetCount, uintptr(unsafe.Pointer(count)))); err != nil {
		return nil, err
	}
	infos := make([]Info, 0, *count)
	for i := range int(*count) {
		info, _, err := l.describe(i)
		if err != nil {
			return nil, err
		}
		infos = append(infos, info)
	}
	return infos, nil
}

func (l *Library) describe(ordinal int) (Info, uintptr, error) {
	info := Info{Ordinal: ordinal, DriverVersion: l.version}
	about := fmt.Sprintf("device %d", ordinal)
	handle := new(int32)
	if err := l.check(fnDeviceGet, about, l.call(fnDeviceGet, uintptr(unsafe.Pointer(handle)), uintptr(ordinal))); err != nil {
		return info, 0, err
	}
	device := uintptr(*handle)
	name := make([]byte, 256)
	if err := l.check(fnDeviceGetName, about, l.call(fnDeviceGetName, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), device)); err != nil {
		return info, 0, err
	}
	info.Name = untilNUL(name)
	if err := l.check(fnDeviceTotalMem, about, l.call(fnDeviceTotalMem, uintptr(unsafe.Pointer(&info.TotalBytes)), device)); err != nil {
		return info, 0, err
	}
	// A driver without bus id and UUID is accepted.
	clear(name)
	if l.call(fnDeviceGetPCIBusID, uintptr(unsafe.Pointer(&name[0])), uintptr(len(name)), device) == Success {
		info.BusID = untilNUL(name)
	}
	uuid := new([16]byte)
	if l.call(fnDeviceGetUUID, uintptr(unsafe.Pointer(uuid)), device) == Success {
		info.UUID = *uuid
	}
	value := new(int32)
	for _, a := range attributes {
		code := l.call(fnDeviceGetAttribute, uintptr(unsafe.Pointer(value)), uintptr(a.id), device)
		if code == InvalidValue { // unknown to an old driver
			*value = 0
		} else if err := l.check(fnDeviceGetAttribute, fmt.Sprintf("%d of device %d", a.id, ordinal), code); err != nil {
			return info, 0, err
		}
		a.set(&info, int(*value))
	}
	return info, device, nil
}

func untilNUL(b []byte) string {
	if i := bytes.IndexByte(b, 0); i >= 0 {
		b = b[:i]
	}
	return string(b)
}
