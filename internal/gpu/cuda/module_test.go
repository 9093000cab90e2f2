package cuda_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func TestModuleErrors(t *testing.T) {
	d := gputest.Open(t)
	_, err := d.LoadModule("broken", []byte(".vision 8.0\n.target sm_80\n.address_size 64\n"))
	e := new(cuda.Error)
	// Without a correct first line some drivers do not recognise it as PTX.
	if !errors.As(err, &e) || e.Code != cuda.InvalidPTX && e.Code != cuda.InvalidImage || !strings.Contains(err.Error(), "cuModuleLoadDataEx broken: CUDA_ERROR_INVALID_") {
		t.Errorf("LoadModule of broken PTX = %v, want CUDA_ERROR_INVALID_PTX or _IMAGE with the call and the module", err)
	}
	m, err := d.LoadImage("gputest", gputest.Image())
	must(t, err)
	_, err = cuda.LoadKernel[gputest.AddParams](m, "gputest_nothing")
	if !errors.As(err, &e) || e.Code != cuda.NotFound || !strings.Contains(err.Error(), "gputest gputest_nothing: CUDA_ERROR_NOT_FOUND") {
		t.Errorf("LoadKernel of an unknown name = %v, want CUDA_ERROR_NOT_FOUND with both names", err)
	}
	must(t, d.Err())
	must(t, m.Unload())
	wantMisuse(t, "the second Unload", m.Unload)
}

func TestParametersAreChecked(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	m, err := d.LoadImage("gputest", gputest.Image())
	must(t, err)
	defer func() { must(t, m.Unload()) }()
	if d.Info().DriverVersion >= 12040 {
		wantMisuse(t, "a wrong parameter size", func() error { _, err := m.Kernel("gputest_add", 16); return err })
	}
	wantMisuse(t, "no parameters", func() error { _, err := m.Kernel("gputest_add", 0); return err })
	wantMisuse(t, "parameters with a Go pointer", func() error {
		_, err := cuda.LoadKernel[struct{ A, B, C *byte }](m, "gputest_add")
		return err
	})
	k, err := cuda.LoadKernel[gputest.AddParams](m, "gputest_add")
	must(t, err)
	wantMisuse(t, "a launch with another kernel's parameters", func() error {
		return cuda.Launch(s, k, cuda.D1(1), cuda.D1(1), 0, &gputest.StoreParams{})
	})
}

func TestLaunchThatTheDriverRefuses(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	a := filled(t, s, 64, 1)
	p := gputest.AddParams{Source: a.Ptr(), Target: a.Ptr(), NumWords: 64, Addend: 1}
	for name, c := range map[string]struct{ blocks, threads, sharedBytes int }{
		"2048 threads a block": {1, 2048, 0},
		"no blocks":            {0, 64, 0},
		"-1 blocks":            {-1, 64, 0},
		"a GiB of shared":      {1, 64, 1 << 30},
	} {
		t.Run(name, func(t *testing.T) {
			err := cuda.Launch(s, k, cuda.D1(c.blocks), cuda.D1(c.threads), c.sharedBytes, &p)
			e := new(cuda.Error)
			if !errors.Is(err, cuda.ErrLaunch) || !errors.As(err, &e) || e.Sticky() || !strings.Contains(err.Error(), "cuLaunchKernel gputest_add: CUDA_ERROR_") {
				t.Errorf("%s: %v, want a launch failure that names the kernel and is not sticky", name, err)
			}
		})
	}
	must(t, d.Err())
	add(t, s, k, a, a, 1)
	if got := read(t, s, a); slices.Min(got) != 2 || slices.Max(got) != 2 {
		t.Errorf("after refused launches a good one gives %v, want 2", got)
	}
}

func TestSharedMemory(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	k := gputest.Kernel[gputest.ReverseParams](t, d, "gputest_reverse")
	n := 16 << 10 // words: 64 KiB, more than the default limit of a block
	out := alloc[uint32](t, d, n)
	p := gputest.ReverseParams{Target: out.Ptr(), NumWords: uint32(n)}
	if err := cuda.Launch(s, k, cuda.D1(1), cuda.D1(256), 4*n, &p); !errors.Is(err, cuda.ErrLaunch) || d.Err() != nil {
		t.Errorf("64 KiB of shared memory without SetMaxShared: %v, want a launch failure", err)
	}
	must(t, k.SetMaxShared(4*n))
	must(t, cuda.Launch(s, k, cuda.D1(1), cuda.D1(256), 4*n, &p))
	for i, v := range read(t, s, out) {
		if v != uint32(n-1-i) {
			t.Fatalf("word %d is %d, want %d", i, v, n-1-i)
		}
	}
	if err := k.SetMaxShared(1 << 30); err == nil || d.Err() != nil {
		t.Errorf("SetMaxShared of a GiB = %v, want an error that leaves the device well", err)
	}
	if b, err := k.BlocksPerMultiprocessor(256, 4*n); err != nil || b < 1 || b > 32 {
		t.Errorf("BlocksPerMultiprocessor = %d, %v", b, err)
	}
	if k.MaxThreads() < 256 || k.Registers() < 1 || k.SharedBytes() != 0 || k.LocalBytes() != 0 || k.Name() != "gputest_reverse" {
		t.Errorf("%s: %d threads, %d registers, %d bytes shared, %d local", k.Name(), k.MaxThreads(), k.Registers(), k.SharedBytes(), k.LocalBytes())
	}
}
