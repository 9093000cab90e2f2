package cuda

import "unsafe"

const keepAll = ^uint64(0)

// CUmemPool_attribute.
const (
	poolReleaseThreshold = 4
	poolReservedCurrent  = 5
	poolUsedCurrent      = 7
)

// SetPoolThreshold sets how many bytes the pool of AllocAsync keeps when the
// device is synchronised; the rest returns to the system. Open sets it to
// unlimited, for a steady load.
func (d *Device) SetPoolThreshold(sizeBytes uint64) error {
	value := new(uint64)
	*value = sizeBytes
	return d.call(fnMemPoolSetAttribute, "release threshold", d.pool, poolReleaseThreshold, uintptr(unsafe.Pointer(value)))
}

// TrimPool returns unused memory of the pool to the system, except keepBytes.
func (d *Device) TrimPool(keepBytes uint64) error {
	return d.call(fnMemPoolTrimTo, "", d.pool, uintptr(keepBytes))
}

// PoolUsage returns the pool's allocated bytes and the bytes that it reserves
// from the system.
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
