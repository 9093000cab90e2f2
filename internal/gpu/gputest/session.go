package gputest

import (
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Session is a test with a device and a stream, until its end.
type Session struct {
	testing.TB
	Device *cuda.Device
	Stream *cuda.Stream
}

// NewSession opens the device of Open and creates a stream.
func NewSession(t testing.TB) *Session {
	t.Helper()
	s := &Session{TB: t, Device: Open(t)}
	var err error
	s.Stream, err = s.Device.NewStream()
	s.Must(err)
	t.Cleanup(func() { s.Must(s.Stream.Close()) })
	return s
}

// Must ends the test on an error.
func (s *Session) Must(err error) {
	s.Helper()
	if err != nil {
		s.Fatal(err)
	}
}

// Alloc allocates n values until the end of the test.
func Alloc[T any](s *Session, n int) cuda.Buffer[T] {
	s.Helper()
	b, err := cuda.Alloc[T](s.Device, n)
	s.Must(err)
	s.Cleanup(func() { s.Must(b.Free()) })
	return b
}

// Upload copies data to the device until the end of the test.
func Upload[T any](s *Session, data []T) cuda.Buffer[T] {
	s.Helper()
	b := Alloc[T](s, len(data))
	s.Must(cuda.CopyToDevice(s.Stream, b, data))
	return b
}

// Download waits for the stream and returns a buffer's content.
func Download[T any](s *Session, b cuda.Buffer[T]) []T {
	s.Helper()
	data := make([]T, b.Len())
	s.Must(cuda.CopyToHost(s.Stream, data, b))
	s.Must(s.Stream.Synchronize())
	return data
}
