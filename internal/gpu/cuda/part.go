package cuda

import "unsafe"

// Part is a part of a device's multiprocessors (a green context). Kernels on its
// streams run on no other multiprocessor; other streams use all of them.
type Part struct {
	device          *Device
	handle          uintptr
	multiprocessors int
}

// smResource mirrors a CUdevResource of multiprocessors.
type smResource struct {
	kind  uint32
	_     [92]byte
	count uint32
	_     [44]byte
}

const (
	resourceSM         = 1
	greenDefaultStream = 1
)

// NewPart reserves at least n multiprocessors, in the numbers that the device can
// separate: 8, 16, … or all of a GPU of compute capability 9.0. NoDriver means that the
// driver is older than 12.5.
func (d *Device) NewPart(n int) (*Part, error) {
	if n < 1 || n > d.info.Multiprocessors {
		return nil, misuse("NewPart", "%d multiprocessors of %d", n, d.info.Multiprocessors)
	}
	all, part := new(smResource), new(smResource)
	err := d.call(fnDeviceGetDevResource, "", d.handle, uintptr(unsafe.Pointer(all)), resourceSM)
	if n == int(all.count) {
		*part = *all
	} else if err == nil {
		groups := new(uint32)
		*groups = 1
		err = d.call(fnDevSmResourceSplitByCount, "", uintptr(unsafe.Pointer(part)), uintptr(unsafe.Pointer(groups)), uintptr(unsafe.Pointer(all)), 0, 0, uintptr(n))
		if err == nil && *groups == 0 {
			err = misuse("NewPart", "the device cannot separate %d of %d multiprocessors", n, all.count)
		}
	}
	description := new(uintptr)
	if err == nil {
		err = d.call(fnDevResourceGenerateDesc, "", uintptr(unsafe.Pointer(description)), uintptr(unsafe.Pointer(part)), 1)
	}
	p := &Part{device: d, multiprocessors: int(part.count)}
	if err == nil {
		err = d.call(fnGreenCtxCreate, "", uintptr(unsafe.Pointer(&p.handle)), *description, d.handle, greenDefaultStream)
	}
	if err != nil {
		return nil, err
	}
	d.created(1)
	return p, nil
}

// Multiprocessors returns the number of multiprocessors of the part.
func (p *Part) Multiprocessors() int { return p.multiprocessors }

// NewStream creates a stream whose kernels run on the part. Close it before the
// part.
func (p *Part) NewStream() (*Stream, error) {
	s := newStream(p.device)
	if err := p.device.call(fnGreenCtxStreamCreate, "", uintptr(unsafe.Pointer(&s.handle)), p.handle, streamNonBlocking, 0); err != nil {
		return nil, err
	}
	p.device.created(1)
	return s, nil
}

// Close releases the multiprocessors.
func (p *Part) Close() error {
	handle := p.handle
	if handle == 0 {
		return misuse("Close", "part was closed before")
	}
	p.handle = 0
	p.device.created(-1)
	return p.device.call(fnGreenCtxDestroy, "", handle)
}
