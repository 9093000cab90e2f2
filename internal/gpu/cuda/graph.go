package cuda

import "unsafe"

// Graph is a recorded sequence of work.
type Graph struct {
	device *Device
	handle uintptr
}

// Executable is a graph that is ready to launch. One goroutine at a time may
// use it.
type Executable struct {
	device *Device
	handle uintptr
}

// BeginCapture makes s record work instead of doing it, until EndCapture. The
// mode is the driver's "relaxed": the other modes tie a capture to one OS
// thread, which a goroutine does not keep. So the driver does not detect
// forbidden calls during a capture (Synchronize, Alloc), except calls on s
// itself, which end the capture with an error.
func (s *Stream) BeginCapture() error {
	if err := s.device.call(fnStreamBeginCapture, "", s.handle, captureRelaxed); err != nil {
		return err
	}
	s.graph = true
	return nil
}

// EndCapture returns the work recorded since BeginCapture. Memory that the
// recorded work uses must stay allocated while the graph is in use; kernel
// parameters were copied.
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

// Instantiate makes an executable graph. The graph may be closed afterwards.
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

// Upload moves the graph to the device, so that the first Launch is as fast as
// later ones.
func (x *Executable) Upload(s *Stream) error {
	return x.device.call(fnGraphUpload, "", x.handle, s.handle)
}

// Launch enqueues the whole graph on s as one unit. A second launch waits for
// the first. It allocates nothing.
func (x *Executable) Launch(s *Stream) error {
	return x.device.check(fnGraphLaunch, "", s.invoke(fnGraphLaunch, x.handle, s.handle, 0, 0))
}

// Close releases the executable graph. A running launch continues.
func (x *Executable) Close() error {
	handle := x.handle
	if handle == 0 {
		return misuse("Close", "executable graph was closed before")
	}
	x.handle = 0
	x.device.created(-1)
	return x.device.call(fnGraphExecDestroy, "", handle)
}
