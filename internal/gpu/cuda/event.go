package cuda

import (
	"sync"
	"time"
	"unsafe"
)

// Event is a point in a stream's work.
type Event struct {
	device *Device
	args   []uintptr // the CUevent, as arguments of a call
	timing bool
}

// NewEvent creates an event. One with timing also records its time, for Elapsed, and
// costs more.
func (d *Device) NewEvent(timing bool) (*Event, error) { return d.newEvent(timing, 0) }

// NewSleepingEvent creates an event with timing whose Synchronize lets the thread sleep. Other events poll: their waits end
// some microseconds earlier, but take a processor.
func (d *Device) NewSleepingEvent() (*Event, error) {
	return d.newEvent(true /* timing */, eventBlockingSync)
}

func (d *Device) newEvent(timing bool, flags uintptr) (*Event, error) {
	e := &Event{device: d, args: make([]uintptr, 1), timing: timing}
	if !timing {
		flags |= eventDisableTiming
	}
	if err := d.call(fnEventCreate, "", uintptr(unsafe.Pointer(&e.args[0])), flags); err != nil {
		return nil, err
	}
	d.created(1)
	return e, nil
}

// interval holds the result and the arguments of cuEventElapsedTime on the
// heap, where they do not move, for reuse.
type interval struct {
	milliseconds float32
	args         [3]uintptr
}

var intervals = sync.Pool{New: func() any {
	i := new(interval)
	i.args[0] = uintptr(unsafe.Pointer(&i.milliseconds))
	return i
}}

// Elapsed returns the device time from one event to e, with a resolution of
// about half a microsecond. Both must have timing and be complete.
func (e *Event) Elapsed(from *Event) (time.Duration, error) {
	if !e.timing || !from.timing {
		return 0, misuse("Elapsed", "the event was made without timing")
	}
	i := intervals.Get().(*interval)
	defer intervals.Put(i)
	i.args[1], i.args[2] = from.args[0], e.args[0]
	if err := e.device.check(fnEventElapsedTime, "", e.device.invoke(fnEventElapsedTime, i.args[:])); err != nil {
		return 0, err
	}
	return time.Duration(float64(i.milliseconds) * float64(time.Millisecond)), nil
}

// Query reports whether e is complete; an event that was never recorded is.
func (e *Event) Query() (done bool, err error) {
	return e.device.done(fnEventQuery, e.device.invoke(fnEventQuery, e.args))
}

// Synchronize waits until e is complete.
func (e *Event) Synchronize() error {
	return e.device.check(fnEventSynchronize, "", e.device.invoke(fnEventSynchronize, e.args))
}

// Close releases the event.
func (e *Event) Close() error {
	handle := e.args[0]
	if handle == 0 {
		return misuse("Close", "event was closed before")
	}
	e.args[0] = 0
	e.device.created(-1)
	return e.device.call(fnEventDestroy, "", handle)
}
