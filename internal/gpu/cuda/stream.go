package cuda

import "unsafe"

// maxParamBytes is the driver's limit.
const maxParamBytes = 4096

// Stream is a queue of work on a device. It does not wait for the driver's
// default stream, which Griffin never uses. A Stream belongs to one goroutine
// at a time.
type Stream struct {
	device  *Device
	handle  uintptr
	scratch *scratch
	graph   bool // between BeginCapture and EndCapture
}

// scratch holds the arguments of calls on one stream, on the heap, where they
// do not move.
type scratch struct {
	args     [11]uintptr    // of the driver function
	host     unsafe.Pointer // of a copy: on the heap and alive
	pointers [1]uintptr     // kernelParams: the address of params
	params   [maxParamBytes / 8]uint64
}

const (
	streamNonBlocking  = 1
	eventBlockingSync  = 1
	eventDisableTiming = 2
	captureRelaxed     = 2
)

// NewStream creates a stream.
func (d *Device) NewStream() (*Stream, error) {
	s := newStream(d)
	if err := d.call(fnStreamCreate, "", uintptr(unsafe.Pointer(&s.handle)), streamNonBlocking); err != nil {
		return nil, err
	}
	d.created(1)
	return s, nil
}

func newStream(d *Device) *Stream {
	s := &Stream{device: d, scratch: new(scratch)}
	s.scratch.pointers[0] = uintptr(unsafe.Pointer(&s.scratch.params))
	return s
}

// Device returns the device that the stream belongs to.
func (s *Stream) Device() *Device { return s.device }

// Synchronize waits for all work on the stream, and returns the error of the first that
// failed.
func (s *Stream) Synchronize() error {
	return s.device.check(fnStreamSynchronize, "", s.invoke(fnStreamSynchronize, s.handle, 0, 0, 0))
}

// invoke calls a driver function of up to four arguments, which ignores surplus
// ones.
func (s *Stream) invoke(f function, a, b, c, d uintptr) Code {
	args := s.scratch.args[:4]
	args[0], args[1], args[2], args[3] = a, b, c, d
	return s.device.invoke(f, args)
}

// Query reports, without waiting, whether all work on the stream has completed.
func (s *Stream) Query() (done bool, err error) {
	return s.device.done(fnStreamQuery, s.invoke(fnStreamQuery, s.handle, 0, 0, 0))
}

// Wait makes work enqueued on s from now on wait for the latest recording of e. The
// calling goroutine does not wait.
func (s *Stream) Wait(e *Event) error {
	return s.device.check(fnStreamWaitEvent, "", s.invoke(fnStreamWaitEvent, s.handle, e.args[0], 0, 0))
}

// Record makes e complete when the work already enqueued on s has completed.
func (s *Stream) Record(e *Event) error {
	return s.device.check(fnEventRecord, "", s.invoke(fnEventRecord, e.args[0], s.handle, 0, 0))
}

// Close does not wait: the driver releases the stream when its work has
// completed.
func (s *Stream) Close() error {
	handle := s.handle
	if handle == 0 {
		return misuse("Close", "stream was closed before")
	}
	s.handle = 0
	s.device.created(-1)
	return s.device.call(fnStreamDestroy, "", handle)
}

// done interprets the result of a query function: NotReady means false without an error.
func (d *Device) done(f function, code Code) (bool, error) {
	switch code {
	case Success:
		return true, nil
	case NotReady:
		return false, nil
	default:
		return false, d.fail(f, "", code)
	}
}
