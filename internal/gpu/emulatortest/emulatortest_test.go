package emulatortest

import (
	_ "embed"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

//go:embed image/emulatortest.ptx.zst
var image []byte

type params struct {
	data, other cuda.Ptr[uint32]
	numWords    uint32
	fault       uint32
}

type scene struct {
	kernel        string
	blocks, block int
	shared        int
	zero          bool // data is all zeros instead of 0, 1, 2, …
	null          bool // with the fault, data is null
	freed         bool // with the fault, data is freed
	want          []string
}

var scenes = []scene{
	{kernel: "past_end", blocks: 2, block: 64, want: []string{"block (1,0,0), thread (63,0,0): out of bounds: read of 4 bytes", "0 bytes after the end of allocation", "512 bytes, cuMemAlloc", "emulatortest.cu:19"}},
	{kernel: "before_begin", blocks: 1, block: 64, want: []string{"thread (0,0,0): out of bounds: write of 4 bytes", "4 bytes before allocation"}},
	{kernel: "null", blocks: 1, block: 32, null: true, want: []string{"null pointer: read of 4 bytes at 0"}},
	{kernel: "null", blocks: 1, block: 32, freed: true, want: []string{"out of bounds: read of 4 bytes"}},
	{kernel: "misaligned", blocks: 1, block: 32, want: []string{"emulatortest.cu", "multiple"}},
	{kernel: "uninitialised", blocks: 1, block: 64, want: []string{"uninitialised memory: read of 4 bytes", "bytes into allocation", "(256 bytes, cuMemAlloc)"}},
	{kernel: "uninitialised_shared", blocks: 3, block: 64, want: []string{"block (1,0,0)", "uninitialised memory: read of 4 bytes", "in shared memory"}},
	{kernel: "uninitialised_byte", blocks: 1, block: 32, want: []string{"uninitialised memory: read of 4 bytes", "0 bytes into allocation"}},
	{kernel: "dynamic_shared", blocks: 1, block: 64, shared: 256, want: []string{"thread (63,0,0): out of bounds: write of 4 bytes", "byte 256 of 256 of dynamic shared memory"}},
	{kernel: "race_read", blocks: 1, block: 64, want: []string{"data race: read of 4 bytes", "which thread (", "wrote with no barrier between"}},
	{kernel: "race_write", blocks: 1, block: 64, want: []string{"data race: write of 4 bytes", "reads with no barrier between"}},
	{kernel: "race_warp", blocks: 1, block: 64, want: []string{"data race", "with no barrier between"}},
	{kernel: "race_half_warp", blocks: 1, block: 32, want: []string{"data race: read of 4 bytes"}},
	{kernel: "race_global", blocks: 1, block: 64, want: []string{"data race", "bytes into allocation"}},
	{kernel: "race_atomic", blocks: 1, block: 64, want: []string{"data race: atomic update of 4 bytes", "wrote with no barrier between"}},
	{kernel: "race_bytes", blocks: 1, block: 64, want: []string{"data race: write of 1 bytes"}},
	{kernel: "race_blocks", blocks: 4, block: 64, zero: true, want: []string{"another block of the launch"}},
	{kernel: "barrier_half", blocks: 1, block: 128, want: []string{"divergence", "waits in __syncthreads at internal/gpu/emulatortest/emulatortest.cu:", "has ended"}},
	{kernel: "barrier_return", blocks: 1, block: 128, want: []string{"divergence", "thread (70,0,0) has ended", "__syncthreads_count"}},
	{kernel: "barrier_branches", blocks: 1, block: 128, want: []string{"divergence", "__syncthreads"}},
	{kernel: "vote_part", blocks: 1, block: 64, want: []string{"divergence", "waits in __ballot_sync of lanes 0xffffffff of warp 0"}},
	{kernel: "mask_without_caller", blocks: 1, block: 64, want: []string{"thread (16,0,0): divergence: the lane is not among those of __shfl_xor_sync of lanes 0x0000ffff"}},
	{kernel: "vote_kinds", blocks: 1, block: 32, want: []string{"divergence", "__any_sync", "__all_sync"}},
	{kernel: "spin", blocks: 1, block: 64, want: []string{"thread (0,0,0): endless"}},
	{kernel: "shift", blocks: 1, block: 64, want: []string{"thread (32,0,0): undefined behaviour: a shift"}},
	{kernel: "index", blocks: 1, block: 64, want: []string{"thread (63,0,0): undefined behaviour: an array's index"}},
}

// Kernels without their fault cause no report, also on a GPU.
func TestCleanKernels(t *testing.T) {
	d := gputest.Open(t)
	m := load(t, d)
	for _, s := range append(scenes, scene{kernel: "local", blocks: 2, block: 64}, scene{kernel: "active_mask", blocks: 1, block: 32}) {
		if err := s.run(t, d, m, 0); err != nil {
			t.Errorf("%s without its fault: %v", s.kernel, err)
		}
	}
}

func TestFaultsAreFound(t *testing.T) {
	for _, s := range scenes {
		t.Run(s.kernel, func(t *testing.T) {
			d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 1 << 20})[0]
			err := s.run(t, d, load(t, d), 1)
			if !errors.Is(err, cuda.ErrLaunch) || !errors.Is(d.Err(), cuda.ErrDeviceLost) {
				t.Errorf("error %v, device %v; want a failed kernel and a lost device", err, d.Err())
			}
			report := gputest.Report(t)
			for _, want := range append(s.want, "kernel emulatortest_"+s.kernel+",") {
				if !strings.Contains(report, want) {
					t.Errorf("the report does not say %q:\n%s", want, report)
				}
			}
		})
	}
}

// __activemask may return fewer lanes than the branch has.
func TestActiveMask(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 1 << 20})[0]
	s := scene{kernel: "active_mask", blocks: 1, block: 32}
	if err := s.run(t, d, load(t, d), 1); err != nil {
		t.Fatal(err) // each lane shuffles only with itself
	}
}

// The emulator cannot see a thread reading past the end of its own array; a
// build with the address sanitizer can. It ends the process, so the test runs
// itself in a child process.
func TestAddressSanitizer(t *testing.T) {
	if testing.Short() || gputest.OnGPU() {
		t.Skip("builds all kernels for the emulator once more")
	}
	if sampletest.Race {
		t.Skip("a process has either the race detector or the address sanitizer; make unit runs this")
	}
	if os.Getenv(gputest.BuildVariable) == "asan" {
		d := gputest.Open(t)
		m := load(t, d)
		local := scene{kernel: "local", blocks: 1, block: 64}
		if err := local.run(t, d, m, 0); err != nil {
			t.Fatal(err)
		}
		t.Log("the correct kernel has passed")
		t.Fatalf("the address sanitizer did not end the process: %v", local.run(t, d, m, 1))
	}
	child := exec.Command("../../../.ci/asan", os.Args[0], "-test.run=^TestAddressSanitizer$", "-test.v")
	out, err := child.CombinedOutput()
	for _, want := range []string{"AddressSanitizer: stack-buffer-overflow", "in griffin_emulatortest_emulatortest::emulatortest_sum", "emulatortest.cu:"} {
		if err == nil || !strings.Contains(string(out), want) {
			t.Fatalf("the child ended with %v and did not say %q:\n%s", err, want, out)
		}
	}
}

func load(t *testing.T, d *cuda.Device) *cuda.Module {
	t.Helper()
	m, err := d.LoadImage("emulatortest", image)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Returns the error of the launch or of the wait.
func (s scene) run(t *testing.T, d *cuda.Device, m *cuda.Module, fault uint32) error {
	t.Helper()
	k, err := cuda.LoadKernel[params](m, "emulatortest_"+s.kernel)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := d.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	n := s.blocks * s.block
	words := make([]uint32, n)
	for i := range words {
		if !s.zero {
			words[i] = uint32(i)
		}
	}
	other := alloc(t, d, n)
	defer other.Free()
	data := alloc(t, d, n)
	p := params{data: data.Ptr(), other: other.Ptr(), numWords: uint32(n), fault: fault}
	if err := cuda.CopyToDevice(stream, data, words); err != nil {
		t.Fatal(err)
	}
	if s.freed && fault == 1 {
		if err := errors.Join(stream.Synchronize(), data.Free()); err != nil {
			t.Fatal(err)
		}
	} else {
		defer data.Free()
	}
	if s.null && fault == 1 {
		p.data = 0
	}
	return errors.Join(cuda.Launch(stream, k, cuda.D1(s.blocks), cuda.D1(s.block), s.shared, &p), stream.Synchronize())
}

func alloc(t *testing.T, d *cuda.Device, n int) cuda.Buffer[uint32] {
	t.Helper()
	b, err := cuda.Alloc[uint32](d, n)
	if err != nil {
		t.Fatal(err)
	}
	return b
}
