package experiments

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/lab"
)

// holder occupies multiprocessors, so that other kernels run on the rest. A block of its kernel takes all shared memory
// of a multiprocessor, of which every other block needs some. The kernel ends by itself after holdLimit.
type holder struct {
	deviceMemory
	stream *cuda.Stream
	kernel *cuda.Kernel
	shared int // bytes of a block
	// A word for each block, 1 when it runs, then the word that ends them.
	words cuda.HostBuffer[uint32]
}

// errNotHeld means that multiprocessors were not occupied all the time.
var errNotHeld = errors.New("multiprocessors were free")

const holdLimit = 10 * time.Second

// The parameter of the kernel.
type holdParams struct {
	running     cuda.Ptr[uint32] // [blocks]
	stop        cuda.Ptr[uint32]
	nanoseconds uint64
}

// Thread 0 of each block sets its word, then waits until stop is 1 or the time is over.
const holdImage = `.version 8.0
.target sm_80
.address_size 64
.extern .shared .align 16 .b8 lab_held_bytes[];
.visible .entry lab_hold(
	.param .align 8 .b8 lab_hold_param_0[24]
)
.maxntid 32, 1, 1
{
	.reg .pred 	%p<4>;
	.reg .b32 	%r<5>;
	.reg .b64 	%rd<9>;
	ld.param.u64 	%rd1, [lab_hold_param_0];
	ld.param.u64 	%rd2, [lab_hold_param_0+8];
	ld.param.u64 	%rd3, [lab_hold_param_0+16];
	mov.u32 	%r1, %tid.x;
	setp.ne.u32 	%p1, %r1, 0;
	@%p1 bra 	$L_end;
	mov.u64 	%rd4, %globaltimer;
	add.s64 	%rd5, %rd4, %rd3;
	mov.u32 	%r2, %ctaid.x;
	mul.wide.u32 	%rd6, %r2, 4;
	add.s64 	%rd7, %rd1, %rd6;
	mov.u32 	%r3, 1;
	st.volatile.global.u32 	[%rd7], %r3;
	membar.sys;
$L_wait:
	nanosleep.u32 	100000;
	ld.volatile.global.u32 	%r4, [%rd2];
	setp.ne.u32 	%p2, %r4, 0;
	@%p2 bra 	$L_end;
	mov.u64 	%rd8, %globaltimer;
	setp.lt.u64 	%p3, %rd8, %rd5;
	@%p3 bra 	$L_wait;
$L_end:
	ret;
}
`

func newHolder(d *lab.Device) (*holder, error) {
	h := &holder{deviceMemory: deviceMemory{device: d}, shared: d.Info().MaxSharedBytes}
	err := h.load()
	if err == nil {
		h.stream, err = d.NewStream()
	}
	if err == nil {
		h.frees = append(h.frees, h.stream.Close)
		h.words, err = cuda.AllocHost[uint32](d.Device, d.Info().Multiprocessors+1)
	}
	if err != nil {
		return nil, errors.Join(err, h.free())
	}
	h.frees = append(h.frees, h.words.Free)
	return h, nil
}

func (h *holder) load() error {
	m, err := h.device.LoadModule("lab", []byte(holdImage))
	if err != nil {
		return err
	}
	h.frees = append(h.frees, m.Unload)
	if h.kernel, err = cuda.LoadKernel[holdParams](m, "lab_hold"); err != nil {
		return err
	}
	return h.kernel.SetMaxShared(h.shared)
}

// with calls do while n multiprocessors are occupied. It fails if they were not, from the beginning to the end. do must
// not allocate memory on the device, which would wait for them.
func (h *holder) with(n int, do func() error) error {
	if n == 0 {
		return do()
	}
	words := h.words.Data()
	clear(words)
	stop := &words[len(words)-1]
	base := h.words.DevicePtr()
	p := holdParams{running: base, stop: base + cuda.Ptr[uint32](4*(len(words)-1)), nanoseconds: uint64(holdLimit.Nanoseconds())}
	if err := cuda.Launch(h.stream, h.kernel, cuda.D1(n), cuda.D1(32), h.shared, &p); err != nil {
		return err
	}
	err := h.await(words[:n])
	if err == nil {
		err = do()
	}
	ended, queryErr := h.stream.Query()
	atomic.StoreUint32(stop, 1)
	if err = errors.Join(err, queryErr, h.stream.Synchronize()); err != nil {
		return err
	}
	if ended {
		return fmt.Errorf("the kernel that occupies %d of them ended before the measurement: %w", n, errNotHeld)
	}
	return nil
}

// await waits until all blocks run.
func (h *holder) await(running []uint32) error {
	for from := time.Now(); time.Since(from) < holdLimit/2; time.Sleep(100 * time.Microsecond) {
		waiting := 0
		for i := range running {
			if atomic.LoadUint32(&running[i]) == 0 {
				waiting++
			}
		}
		if waiting == 0 {
			return nil
		}
	}
	return fmt.Errorf("not all of %d blocks run at the same time: %w", len(running), errNotHeld)
}
