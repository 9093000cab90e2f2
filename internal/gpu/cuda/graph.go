package cuda

import "unsafe"

// Graph is a recorded sequence of work.
type Graph struct {
	device *Device
	handle uintptr
}

// Executable is a graph made ready to launch. One goroutine at a time.
type Executable struct {
	device *Device
	handle uintptr
}

// BeginCapture makes the work put into s from now on, until EndCapture, be
// recorded instead of done. The mode is the driver's "relaxed": the other modes
// tie a capture to one OS thread, which a goroutine does not keep. So nothing
// stops calls that must not happen during a capture (Synchronize, Alloc); those
// on s itself end the capture with an error.
func (s *Stream) BeginCapture() error {
	if err := s.device.call(fnStreamBeginCapture, "", s.handle, captureRelaxed); err != nil {
		return err
	}
	s.graph = true
	return nil
}

// EndCapture returns what was recorded since BeginCapture. Memory that the
// recorded work uses must stay allocated for as long as the graph is launched;
// the parameters of its kernels were copied.
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

// Instantiate makes the graph ready to launch. The graph may be closed afterwards.
func (g *Graph) Instantiate() (*Executable, error) {
	x := &Executable{device: g.device}
	if err := g.device.call(fnGraphInstantiate, "", uintptr(unsafe.Pointer(&x.handle)), g.handle, 0); err != nil {
		return nil, err
	}
	g.device.created(1)
	return x, nil
}

// Close gives the graph back.
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
// the others.
func (x *Executable) Upload(s *Stream) error {
	return x.device.call(fnGraphUpload, "", x.handle, s.handle)
}

// Launch puts the whole graph into s as one piece of work. A second launch waits
// for the first. It allocates nothing.
func (x *Executable) Launch(s *Stream) error {
	return x.device.check(fnGraphLaunch, "", s.invoke(fnGraphLaunch, x.handle, s.handle, 0, 0))
}

// Close gives the executable graph back. A launch that still runs is not ended.
func (x *Executable) Close() error {
	handle := x.handle
	if handle == 0 {
		return misuse("Close", "executable graph was closed before")
	}
	x.handle = 0
	x.device.created(-1)
	return x.device.call(fnGraphExecDestroy, "", handle)
}
