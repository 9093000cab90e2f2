package cuda

import "unsafe"

// keepAll is a release threshold that returns nothing to the system.
const keepAll = ^uint64(0)

// Attributes of a memory pool (CUmemPool_attribute).
const (
	poolReleaseThreshold = 4
	poolReservedCurrent  = 5
	poolUsedCurrent      = 7
)

// SetPoolThreshold sets how many bytes the pool of AllocAsync keeps when the
// device is synchronised; the excess returns to the system. Open sets it to
// unlimited, so that a steady load never asks the system for memory.
func (d *Device) SetPoolThreshold(sizeBytes uint64) error {
	value := new(uint64)
	*value = sizeBytes
	return d.call(fnMemPoolSetAttribute, "release threshold", d.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(value)))
}

// TrimPool returns the pool's unused memory to the system, except keepBytes.
func (d *Device) TrimPool(keepBytes uint64) error {
	return d.call(fnMemPoolTrimTo, "", d.pool, uintptr(keepBytes))
}

// PoolUsage returns the allocated bytes of the pool and the bytes that it
// reserves from the system.
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
