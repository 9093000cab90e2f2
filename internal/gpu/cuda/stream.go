package cuda

import "unsafe"

// maxParamBytes is the most that the driver takes as parameters of a kernel.
const maxParamBytes = 4096

// Stream is a queue of work on a device. It is non-blocking: it does not wait for
// the driver's default stream, which Griffin never uses. A Stream belongs to one
// goroutine at a time.
type Stream struct {
	device  *Device
	handle  uintptr
	scratch *scratch
	graph   bool // between BeginCapture and EndCapture
}

// scratch is the memory that a launch passes its parameters in: on the heap, where
// it does not move, and the stream's own, so that a launch allocates nothing.
type scratch struct {
	pointers [1]uintptr // kernelParams: the address of params
	params   [maxParamBytes / 8]uint64
}

const (
	streamNonBlocking  = 1
	eventBlockingSync  = 1
	eventDisableTiming = 2
	captureRelaxed     = 2
)

// NewStream makes a stream.
func (d *Device) NewStream() (*Stream, error) {
	s := &Stream{device: d, scratch: new(scratch)}
	s.scratch.pointers[0] = uintptr(unsafe.Pointer(&s.scratch.params))
	if err := d.call(fnStreamCreate, "", uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking); err != nil {
		return nil, err
	}
	d.created(1)
	return s, nil
}

// Device returns the device that the stream belongs to.
func (s *Stream) Device() *Device { return s.device }

// Synchronize waits until all work in the stream has ended, and returns the error
// of the first that failed.
func (s *Stream) Synchronize() error { return s.device.call(fnStreamSynchronize, "", s.handle) }

// Query reports whether all work in the stream has ended. It does not wait.
func (s *Stream) Query() (done bool, err error) {
	return s.device.done(fnStreamQuery, s.handle)
}

// Wait makes the work put into s from now on wait for e, as e was last recorded.
// The calling goroutine does not wait.
func (s *Stream) Wait(e *Event) error {
	return s.device.call(fnStreamWaitEvent, "", s.handle, e.handle, 0)
}

// Record makes e happen when the work now in s has ended.
func (s *Stream) Record(e *Event) error {
	return s.device.call(fnEventRecord, "", e.handle, s.handle)
}

// Close waits for nothing: the driver releases the stream when its work has ended.
func (s *Stream) Close() error {
	handle := s.handle
	if handle == 0 {
		return misuse("Close", "stream was closed before")
	}
	s.handle = 0
	s.device.created(-1)
	return s.device.call(fnStreamDestroy, "", handle)
}

// done calls a function that answers whether work has ended.
func (d *Device) done(f function, handle uintptr) (bool, error) {
	switch code := d.try(f, handle); code {
	case Success:
		return true, nil
	case NotReady:
		return false, nil
	default:
		return false, d.fail(f, "", code)
	}
}
