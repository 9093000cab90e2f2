package cuda

// Memory is a Buffer or a HostBuffer.
type Memory interface {
	Len() int
	Free() error
}

// Grow makes *m hold at least n values, if it does not yet, by alloc: Alloc or AllocHost.
// It then holds a quarter more, so that it need not grow again soon, and what it held is
// lost: nothing may use it. After an error *m is empty.
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
