package experiments

import (
	"errors"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
)

type deviceMemory struct {
	device *lab.Device
	frees  []func() error
}

func (m *deviceMemory) free() error {
	var errs []error
	for i := range m.frees {
		errs = append(errs, m.frees[len(m.frees)-1-i]())
	}
	m.frees = nil
	return errors.Join(errs...)
}

// room allocates at least one value.
func room[T any](m *deviceMemory, n int) (cuda.Buffer[T], error) {
	b, err := cuda.Alloc[T](m.device.Device, max(n, 1))
	if err == nil {
		m.frees = append(m.frees, b.Free)
	}
	return b, err
}

func upload[T any](m *deviceMemory, values []T) (cuda.Buffer[T], error) {
	b, err := room[T](m, len(values))
	if err == nil && len(values) > 0 {
		if err = cuda.CopyToDevice(m.device.Stream, b, values); err == nil {
			err = m.device.Stream.Synchronize()
		}
	}
	return b, err
}

func download[T any](m *deviceMemory, b cuda.Buffer[T]) ([]T, error) {
	values := make([]T, b.Len())
	err := cuda.CopyToHost(m.device.Stream, values, b)
	if err == nil {
		err = m.device.Stream.Synchronize()
	}
	return values, err
}
