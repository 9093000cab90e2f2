package cuda

import "unsafe"

// Graph is a recorded sequence of work.
type Graph struct {
	device *Device
	handle uintptr
}

// Executable is a graph that is ready to launch, for one goroutine at a time.
type Executable struct {
	device *Device
	handle uintptr
}

// BeginCapture makes s record work instead of doing it, until EndCapture. The
// mode is the driver's "relaxed", because the others tie a capture to an OS
// thread. So the driver does not detect forbidden calls during a capture
// (Synchronize, Alloc), except calls on s, which end the capture with an error.
func (s *Stream) BeginCapture() error {
	if err := s.device.call(fnStreamBeginCapture, "", s.handle, captureRelaxed); err != nil {
		return err
	}
	s.graph = true
	return nil
}

// EndCapture returns the recorded work. The memory that it uses must stay
// allocated; kernel parameters were copied.
func (s *Stream) EndCapture() (*Graph, error) {
	if !s.graph {
		return nil, misuse("EndCapture", "without BeginCapture")
	}
	s.graph = false
	g := &Graph{device: s.device}
	if err := s.device.call(fnStreamEndCapture, "", s.handle, uintptr(unsafe.Pointer(&g.handle))); err != nil {
		return nil, err
	}
	s.device.created(1)
	return g, nil
}

// Instantiate makes an executable graph; the graph may then be closed.
func (g *Graph) Instantiate() (*Executable, error) {
	x := &Executable{device: g.device}
	if err := g.device.call(fnGraphInstantiate, "", uintptr(unsafe.Pointer(&x.handle)), g.handle, 0); err != nil {
		return nil, err
	}
	g.device.created(1)
	return x, nil
}

// Close releases the graph.
func (g *Graph) Close() error {
	handle := g.handle
	if handle == 0 {
		return misuse("Close", "graph was closed before")
	}
	g.handle = 0
	g.device.created(-1)
	return g.device.call(fnGraphDestroy, "", handle)
}

// Upload moves the graph to the device, so that the first Launch is as fast as later
// ones.
func (x *Executable) Upload(s *Stream) error {
	return x.device.call(fnGraphUpload, "", x.handle, s.handle)
}

// Launch enqueues the graph on s as one unit, without allocation. A second
// launch waits for the first.
func (x *Executable) Launch(s *Stream) error {
	x.device.makeRoom()
	return x.device.check(fnGraphLaunch, "", s.invoke(fnGraphLaunch, x.handle, s.handle, 0, 0))
}

// Close releases x; a running launch continues.
func (x *Executable) Close() error {
	handle := x.handle
	if handle == 0 {
		return misuse("Close", "executable graph was closed before")
	}
	x.handle = 0
	x.device.created(-1)
	return x.device.call(fnGraphExecDestroy, "", handle)
}
