package cuda

// Memory is a Buffer or a HostBuffer.
type Memory interface {
	Len() int
	Free() error
}

// Grow makes *m hold at least n values: if it is too small, Grow frees it and
// allocates n + n/4 values with alloc (Alloc or AllocHost). The old content is
// lost, and no work may use it. After an error *m is empty.
func Grow[M Memory](d *Device, m *M, n int, alloc func(d *Device, n int) (M, error)) error {
	if n <= (*m).Len() {
		return nil
	}
	old := *m
	*m = *new(M)
	if err := old.Free(); err != nil {
		return err
	}
	grown, err := alloc(d, n+n/4)
	if err != nil {
		return err
	}
	*m = grown
	return nil
}
