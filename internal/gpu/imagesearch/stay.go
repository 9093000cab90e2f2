package imagesearch

import (
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// stay is the host's side of a kernel that stays on the device after a query, for the next ones. The host writes them
// into page-locked memory, the mailbox, which the kernel polls. That saves the launch, about 4 µs
// (docs/benchmarks/gpu-imagesearch.md). The kernel leaves after stayIdle without a query, after stayMost at all, and
// when another kernel is launched on the device. A query that it no longer sees is launched. See stay.cuh.
//
// It belongs to one goroutine at a time, except for leave.
type stay struct {
	device  *cuda.Device
	kernel  *cuda.Kernel
	mailbox cuda.HostBuffer[uint64] // mailWords words and two more, each with a number in the high half
	left    cuda.HostBuffer[uint64] // written by the kernel when it leaves: generation, number of its last query
	command cuda.Buffer[uint32]     // for the blocks of the kernel
	filled  bool                    // command has the generation of no kernel

	generation atomic.Uint32 // of the last launch; 0: none
	posted     bool          // the last query went into the mailbox
	// Of the last launch.
	blocks   int
	capacity uint32

	leaving func() // leave
	mutex   sync.Mutex
	closed  bool // guarded by mutex
}

// stayKernel is the kernel that stays, and how many of its blocks can run at the same time.
type stayKernel struct {
	kernel *cuda.Kernel
	blocks int
}

func newStay(k *Kernels) (_ *stay, err error) {
	s := &stay{device: k.device, kernel: k.stays.kernel}
	s.leaving = s.leave
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	if s.mailbox, err = cuda.AllocHost[uint64](k.device, mailLeave+1); err != nil {
		return nil, err
	}
	clear(s.mailbox.Data())
	if s.left, err = cuda.AllocHost[uint64](k.device, 1); err != nil {
		return nil, err
	}
	clear(s.left.Data())
	if s.command, err = cuda.Alloc[uint32](k.device, commandParams+mailWords); err != nil {
		return nil, err
	}
	return s, nil
}

// close asks the kernel to leave, waits for that, and frees the memory. A lost device does not let it wait for long.
func (s *stay) close() error {
	s.device.Left(&s.leaving)
	if s.generation.Load() != 0 {
		s.leave()
		for start := time.Now(); time.Since(start) < singleWait; {
			if _, left := s.hasLeft(); left {
				break
			}
		}
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.closed = true
	return errors.Join(s.mailbox.Free(), s.left.Free(), s.command.Free())
}

// leave asks the kernel to leave, and does not wait. Safe for concurrent use.
func (s *stay) leave() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if !s.closed {
		atomic.StoreUint64(&s.mailbox.Data()[mailLeave], uint64(s.generation.Load()))
	}
}

// stays reports whether the kernel may take another query.
func (s *stay) stays() bool {
	generation := s.generation.Load()
	_, left := s.hasLeft()
	return generation != 0 && !left && atomic.LoadUint64(&s.mailbox.Data()[mailLeave]) != uint64(generation)
}

// hasLeft reports whether the kernel has left, and the number of its last query.
func (s *stay) hasLeft() (last uint32, left bool) {
	v := atomic.LoadUint64(&s.left.Data()[0])
	return uint32(v), uint32(v>>32) == s.generation.Load()
}

// search hands a query to the kernel, or launches one.
func (s *stay) search(stream *cuda.Stream, few *fewParams, blocks int) error {
	if s.blocks == blocks && s.capacity == few.search.capacity && s.stays() {
		s.post(few)
		return nil
	}
	return s.launch(stream, few, blocks)
}

func (s *stay) post(few *fewParams) {
	words := cuda.Words(few)
	words = words[:len(words)-(maxFewTerms-int(few.query.numTerms))*termBytes/4]
	mail := s.mailbox.Data()
	tag := uint64(few.search.launch) << 32
	for i, w := range words {
		mail[i] = tag | uint64(w)
	}
	atomic.StoreUint64(&mail[mailHead], tag|uint64(len(words)))
	s.posted = true
}

// launch begins with a query in the parameters. A kernel that stays in the stream is asked to leave before.
func (s *stay) launch(stream *cuda.Stream, few *fewParams, blocks int) error {
	s.posted = false
	if !s.filled {
		if err := cuda.Fill(stream, s.command, 0); err != nil {
			return err
		}
		s.filled = true
	}
	generation := max(s.generation.Load()+1, 1)
	p := stayParams{
		mailbox: s.mailbox.DevicePtr(), left: s.left.DevicePtr(), command: s.command.Ptr(),
		idle: stayIdle, most: stayMost, generation: generation, first: *few,
	}
	shared := sharedBytes(maxFewTerms, 0, int(few.search.capacity))
	if err := s.kernel.SetMaxShared(shared); err != nil {
		return err
	}
	if err := cuda.Launch(stream, s.kernel, cuda.D1(blocks), cuda.D1(threads), shared, &p); err != nil {
		return err
	}
	s.generation.Store(generation)
	s.blocks, s.capacity = blocks, few.search.capacity
	s.device.Stay(&s.leaving)
	return nil
}

// missed reports whether the kernel has left without the last query.
func (s *stay) missed(number uint32) bool {
	last, left := s.hasLeft()
	return left && last != number
}
