package cuda

import "unsafe"

// keepAll is a release threshold that gives nothing back to the system.
const keepAll = ^uint64(0)

// Attributes of a memory pool (CUmemPool_attribute).
const (
	poolReleaseThreshold = 4
	poolReservedCurrent  = 5
	poolUsedCurrent      = 7
)

// SetPoolThreshold sets how many bytes the pool behind AllocAsync keeps when the
// device is synchronised; what is above goes back to the system. Open sets it to
// all, so that steady work never asks the system for memory.
func (d *Device) SetPoolThreshold(sizeBytes uint64) error {
	value := new(uint64)
	*value = sizeBytes
	return d.call(fnMemPoolSetAttribute, "release threshold", d.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(value)))
}

// TrimPool gives the unused memory of the pool back to the system, but for keep bytes.
func (d *Device) TrimPool(keepBytes uint64) error {
	return d.call(fnMemPoolTrimTo, "", d.pool, uintptr(keepBytes))
}

// PoolUsage returns the bytes of the pool that are allocated, and those that it
// holds from the system.
func (d *Device) PoolUsage() (usedBytes, reservedBytes uint64, err error) {
	value := new(uint64)
	if err := d.call(fnMemPoolGetAttribute, "used", d.pool, poolUsedCurrent, uintptr(unsafe.Pointer(value))); err != nil {
		return 0, 0, err
	}
	usedBytes = *value
	if err := d.call(fnMemPoolGetAttribute, "reserved", d.pool, poolReservedCurrent, uintptr(unsafe.Pointer(value))); err != nil {
		return 0, 0, err
	}
	return usedBytes, *value, nil
}
