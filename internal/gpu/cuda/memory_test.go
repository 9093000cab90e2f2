package cuda_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/invariant"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newStream(t testing.TB, d *cuda.Device) *cuda.Stream {
	t.Helper()
	s, err := d.NewStream()
	must(t, err)
	t.Cleanup(func() {
		if err := s.Close(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	})
	return s
}

func alloc[T any](t testing.TB, d *cuda.Device, n int) cuda.Buffer[T] {
	t.Helper()
	b, err := cuda.Alloc[T](d, n)
	must(t, err)
	t.Cleanup(func() {
		if err := b.Free(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	})
	return b
}

func allocHost[T any](t testing.TB, d *cuda.Device, n int) cuda.HostBuffer[T] {
	t.Helper()
	h, err := cuda.AllocHost[T](d, n)
	must(t, err)
	t.Cleanup(func() {
		if err := h.Free(); err != nil && d.Err() == nil {
			t.Error(err)
		}
	})
	return h
}

func read[T any](t testing.TB, s *cuda.Stream, b cuda.Buffer[T]) []T {
	t.Helper()
	out := make([]T, b.Len())
	must(t, cuda.CopyToHost(s, out, b))
	must(t, s.Synchronize())
	return out
}

// wantMisuse wants a panic where invariants are checked, otherwise ErrMisuse.
func wantMisuse(t *testing.T, what string, call func() error) {
	t.Helper()
	defer func() {
		t.Helper()
		if p := recover(); (p != nil) != invariant.Enabled {
			t.Errorf("%s: panic = %v, want one exactly where invariants are checked", what, p)
		}
	}()
	err := call()
	var e *cuda.Error
	if !errors.Is(err, cuda.ErrMisuse) || !errors.As(err, &e) || e.CPUValid() || e.RetryValid() {
		t.Errorf("%s: error %v, want a misuse", what, err)
	}
}

// wantReport checks that the emulator, if it runs the test, reported a fault.
func wantReport(t *testing.T, want string) {
	t.Helper()
	if gputest.OnGPU() {
		return
	}
	if report := gputest.Report(t); !strings.Contains(report, want) {
		t.Errorf("the emulator reports %q, want %q in it", report, want)
	}
}

func numbers(n int, seed uint32) []uint32 {
	v := make([]uint32, n)
	for i := range v {
		v[i] = seed + uint32(i)*2654435761
	}
	return v
}

func TestCopiesKeepEveryValue(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	for _, n := range []int{0, 1, 31, 1000} {
		want := numbers(n, 7)
		a, b := alloc[uint32](t, d, n), alloc[uint32](t, d, n+2)
		must(t, cuda.CopyToDevice(s, a, want))
		must(t, cuda.Fill(s, b, 0xff))
		must(t, cuda.CopyDevice(s, b.Slice(1, n+1), a))
		got := read(t, s, b)
		if got[0] != ^uint32(0) || got[n+1] != ^uint32(0) || !slices.Equal(got[1:n+1], want) {
			t.Errorf("n=%d: got %v, want %v between two words of ones", n, got, want)
		}
	}
}

func TestCopiesOfStructs(t *testing.T) {
	type posting struct {
		Doc   uint32
		Freq  uint16
		Flags [2]uint8
	}
	d := gputest.Open(t)
	s := newStream(t, d)
	want := []posting{{1, 2, [2]uint8{3, 4}}, {5, 6, [2]uint8{7, 8}}, {9, 10, [2]uint8{11, 12}}}
	b := alloc[posting](t, d, 3)
	must(t, cuda.CopyToDevice(s, b, want))
	if got := read(t, s, b.Slice(1, 3)); !slices.Equal(got, want[1:]) {
		t.Errorf("got %v, want %v", got, want[1:])
	}
	if b.SizeBytes() != 24 || b.Slice(1, 3).Ptr() != b.Ptr()+8 {
		t.Errorf("%d bytes, part at %#x of %#x; want 24 and 8 further", b.SizeBytes(), b.Slice(1, 3).Ptr(), b.Ptr())
	}
}

func TestFillWords(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	b := alloc[uint32](t, d, 10)
	must(t, cuda.FillWords(s, b, 1))
	must(t, cuda.FillWords(s, b.Slice(2, 4), 0x12345678))
	if got, want := read(t, s, b), []uint32{1, 1, 0x12345678, 0x12345678, 1, 1, 1, 1, 1, 1}; !slices.Equal(got, want) {
		t.Errorf("got %x, want %x", got, want)
	}
}

func TestSliceStaysInside(t *testing.T) {
	d := gputest.Open(t)
	b := alloc[uint32](t, d, 10)
	for _, c := range [][2]int{{-1, 3}, {4, 3}, {0, 11}, {11, 11}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Slice(%d, %d) of 10 did not panic", c[0], c[1])
				}
			}()
			b.Slice(c[0], c[1])
		}()
	}
	if p := b.Slice(3, 7).Slice(1, 2); p.Ptr() != b.Ptr()+16 || p.Len() != 1 {
		t.Errorf("part of a part at %#x, %d long; want 16 bytes after %#x and 1", p.Ptr(), p.Len(), b.Ptr())
	}
}

func TestPool(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	want := numbers(5000, 3)
	before, _, err := d.PoolUsage()
	must(t, err)
	b, err := cuda.AllocAsync[uint32](s, len(want))
	must(t, err)
	must(t, cuda.CopyToDevice(s, b, want))
	if got := read(t, s, b); !slices.Equal(got, want) {
		t.Error("memory of the pool does not keep what was copied to it")
	}
	during, reserved, err := d.PoolUsage()
	must(t, err)
	if during < before+uint64(b.SizeBytes()) || reserved < during {
		t.Errorf("the pool used %d bytes before and %d after an allocation of %d, of %d", before, during, b.SizeBytes(), reserved)
	}
	must(t, b.FreeAsync(s))
	must(t, s.Synchronize())
	if after, _, err := d.PoolUsage(); err != nil || after != before {
		t.Errorf("the pool uses %d bytes after the free (%v), want %d", after, err, before)
	}
	must(t, d.TrimPool(0))
	must(t, d.SetPoolThreshold(1<<20))
	must(t, d.SetPoolThreshold(^uint64(0)))
}

func TestOutOfMemoryLeavesTheDeviceWell(t *testing.T) {
	d := gputest.Open(t)
	_, total, err := d.MemInfo()
	must(t, err)
	_, err = cuda.Alloc[uint64](d, int(total/8)+1)
	var e *cuda.Error
	if !errors.Is(err, cuda.ErrOutOfMemory) || !errors.As(err, &e) || !e.RetryValid() || !e.CPUValid() || e.Sticky() {
		t.Fatalf("Alloc of more than there is = %v, want out of memory, to retry or to leave to the CPU", err)
	}
	must(t, d.Err())
	s := newStream(t, d)
	if got := read(t, s, filled(t, s, 4, 9)); !slices.Equal(got, []uint32{9, 9, 9, 9}) {
		t.Errorf("after that the device gives %v", got)
	}
}

func filled(t testing.TB, s *cuda.Stream, n int, value uint32) cuda.Buffer[uint32] {
	t.Helper()
	b := alloc[uint32](t, s.Device(), n)
	must(t, cuda.FillWords(s, b, value))
	return b
}

func TestHostMemoryIsMapped(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	k := gputest.Kernel[gputest.AddParams](t, d, "gputest_add")
	h := allocHost[uint32](t, d, 300)
	copy(h.Data(), numbers(300, 1))
	must(t, cuda.Launch(s, k, cuda.D1(3), cuda.D1(128), 0, &gputest.AddParams{Source: h.DevicePtr(), Target: h.DevicePtr(), NumWords: 300, Addend: 5}))
	must(t, s.Synchronize())
	if want := numbers(300, 6); !slices.Equal(h.Data(), want) {
		t.Error("the kernel did not add 5 to each value of the host memory")
	}
	if h.SizeBytes() != 1200 || len(h.Bytes()) != 1200 || h.Len() != 300 {
		t.Errorf("%d bytes, %d as bytes, %d words; want 1200, 1200, 300", h.SizeBytes(), len(h.Bytes()), h.Len())
	}
}

func TestRegister(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	data := numbers(1<<15, 11)
	unregister, err := cuda.Register(d, data)
	must(t, err)
	_, err = cuda.Register(d, data)
	if err == nil || errors.Is(err, cuda.ErrDeviceLost) || d.Err() != nil {
		t.Errorf("the second Register = %v, want an error that is not sticky (%v)", err, d.Err())
	}
	b := alloc[uint32](t, d, len(data))
	must(t, cuda.CopyToDevice(s, b, data))
	if got := read(t, s, b); !slices.Equal(got, data) {
		t.Error("a copy from registered memory lost values")
	}
	if p, err := cuda.MappedPtr(d, data); err != nil || p == 0 {
		t.Errorf("MappedPtr = %#x, %v", p, err)
	}
	must(t, unregister())
	wantMisuse(t, "the second unregister", unregister)
}

func TestFreeTwiceIsAMisuse(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	objects, sizeBytes := d.Live()

	b, err := cuda.Alloc[uint32](d, 100)
	must(t, err)
	if n, size := d.Live(); n != objects+1 || size != sizeBytes+400 {
		t.Errorf("%d objects of %d bytes live, want %d of %d", n, size, objects+1, sizeBytes+400)
	}
	wantMisuse(t, "Free of a slice", b.Slice(0, 100).Free)
	must(t, b.Free())
	wantMisuse(t, "the second Free", b.Free)
	wantMisuse(t, "FreeAsync after Free", func() error { return b.FreeAsync(s) })

	h, err := cuda.AllocHost[uint32](d, 100)
	must(t, err)
	must(t, h.Free())
	wantMisuse(t, "the second Free of host memory", h.Free)

	var zero cuda.Buffer[uint32]
	must(t, zero.Free())
	if n, size := d.Live(); n != objects || size != sizeBytes {
		t.Errorf("%d objects of %d bytes live at the end, want %d of %d", n, size, objects, sizeBytes)
	}
}

func TestCopiesThatDoNotFitAreAMisuse(t *testing.T) {
	d := gputest.Open(t)
	s := newStream(t, d)
	b := alloc[uint32](t, d, 4)
	five := make([]uint32, 5)
	wantMisuse(t, "5 values to 4", func() error { return cuda.CopyToDevice(s, b, five) })
	wantMisuse(t, "4 values to 3", func() error { return cuda.CopyToHost(s, five[:3], b) })
	wantMisuse(t, "4 values to 2", func() error { return cuda.CopyDevice(s, b.Slice(0, 2), b) })
	must(t, cuda.CopyToDevice(s, b, five[:2]))
	must(t, cuda.CopyToHost(s, five, b.Slice(0, 2)))
	must(t, s.Synchronize())
}

func TestElementsMustBePlain(t *testing.T) {
	d := gputest.Open(t)
	wantMisuse(t, "Alloc of pointers", func() error { _, err := cuda.Alloc[*uint32](d, 1); return err })
	wantMisuse(t, "Alloc of int", func() error { _, err := cuda.Alloc[int](d, 1); return err })
	wantMisuse(t, "AllocHost of a struct with a bool", func() error {
		_, err := cuda.AllocHost[struct{ A [2]struct{ B bool } }](d, 1)
		return err
	})
	wantMisuse(t, "Alloc of a negative number", func() error { _, err := cuda.Alloc[uint8](d, -1); return err })
}

// Only the emulator can have two devices.
func TestTwoDevicesAreKeptApart(t *testing.T) {
	if gputest.OnGPU() {
		t.Skip("needs two small devices; runs on the emulator only")
	}
	devices := gputest.OpenEmulated(t, gputest.Config{Devices: 2, MemoryBytes: 64 << 20})
	s := newStream(t, devices[0])
	mine, other := alloc[uint32](t, devices[0], 4), alloc[uint32](t, devices[1], 4)
	k := gputest.Kernel[gputest.AddParams](t, devices[1], "gputest_add")
	four := make([]uint32, 4)
	for what, call := range map[string]func() error{
		"Launch":       func() error { return cuda.Launch(s, k, cuda.D1(1), cuda.D1(1), 0, &gputest.AddParams{}) },
		"CopyToDevice": func() error { return cuda.CopyToDevice(s, other, four) },
		"CopyToHost":   func() error { return cuda.CopyToHost(s, four, other) },
		"CopyDevice":   func() error { return cuda.CopyDevice(s, mine, other) },
		"Fill":         func() error { return cuda.Fill(s, other, 1) },
		"FillWords":    func() error { return cuda.FillWords(s, other, 1) },
		"FreeAsync":    func() error { return other.FreeAsync(s) },
	} {
		t.Run(what, func(t *testing.T) {
			wantMisuse(t, what+" across devices", call)
		})
	}
	if infos, err := devices[0].Library().Devices(); err != nil || len(infos) != 2 || infos[0].UUID == infos[1].UUID {
		t.Errorf("Devices = %+v, %v, want two", infos, err)
	}
}

// Close affects only its own Device.
func TestCloseReportsWhatIsLeft(t *testing.T) {
	d, err := gputest.Open(t).Library().Open(0)
	must(t, err)
	b, err := cuda.Alloc[uint32](d, 1)
	must(t, err)
	wantMisuse(t, "Close with a buffer left", d.Close)
	for what, call := range map[string]func() error{
		"Alloc after Close":       func() error { _, err := cuda.Alloc[uint32](d, 1); return err },
		"Synchronize after Close": d.Synchronize,
		"Err after Close":         d.Err,
	} {
		t.Run(what, func(t *testing.T) {
			if err := call(); !errors.Is(err, cuda.ErrMisuse) {
				t.Errorf("%s = %v, want an error of a closed device", what, err)
			}
		})
	}
	if err := b.Free(); !errors.Is(err, cuda.ErrMisuse) {
		t.Errorf("Free after Close = %v, want an error of a closed device", err)
	}
}

func TestDevices(t *testing.T) {
	d := gputest.Open(t)
	infos, err := d.Library().Devices()
	must(t, err)
	if len(infos) == 0 {
		t.Fatal("the library of an open device has no devices")
	}
	i := infos[d.Info().Ordinal]
	if i != d.Info() || i.Name == "" || i.TotalBytes == 0 || i.Multiprocessors == 0 || i.Major < 8 || i.WarpSize != 32 ||
		i.MaxSharedBytes < i.SharedBytes || i.MaxThreadsPerBlock < 1024 || i.Unusable() != "" {
		t.Errorf("Info = %+v", i)
	}
	free, total, err := d.MemInfo()
	if err != nil || free == 0 || free > total || fmt.Sprint(d.Library().DriverVersion()) == "0" {
		t.Errorf("MemInfo = %d, %d, %v", free, total, err)
	}
}
