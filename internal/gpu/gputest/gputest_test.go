package gputest_test

import (
	"debug/elf"
	"errors"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

const numWords = 100

type adder struct {
	t      *testing.T
	d      *cuda.Device
	kernel *cuda.Kernel
	stream *cuda.Stream
	words  cuda.Buffer[uint32]
}

func newAdder(t *testing.T, d *cuda.Device) *adder {
	t.Helper()
	a := &adder{t: t, d: d, kernel: gputest.Kernel[gputest.AddParams](t, d, "gputest_add")}
	var err error
	a.stream, err = d.NewStream()
	must(t, err)
	a.words, err = cuda.Alloc[uint32](d, numWords)
	must(t, err)
	t.Cleanup(func() {
		if d.Err() == nil {
			must(t, errors.Join(a.stream.Close(), a.words.Free()))
		}
	})
	return a
}

func (a *adder) add(source cuda.Buffer[uint32], n uint32) error {
	p := gputest.AddParams{Source: source.Ptr(), Target: a.words.Ptr(), NumWords: numWords, Addend: n}
	return cuda.Launch(a.stream, a.kernel, cuda.D1(1), cuda.D1(128), 0, &p)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSeveralDevices(t *testing.T) {
	devices := gputest.OpenEmulated(t, gputest.Config{Devices: 3, MemoryBytes: 8 << 20})
	adders := make([]*adder, len(devices))
	for i, d := range devices {
		if info := d.Info(); info.Ordinal != i || info.TotalBytes != 8<<20 {
			t.Errorf("device %d is %d and has %d bytes", i, info.Ordinal, info.TotalBytes)
		}
		adders[i] = newAdder(t, d)
		must(t, cuda.FillWords(adders[i].stream, adders[i].words, uint32(i)))
		must(t, adders[i].add(adders[i].words, 10))
	}
	for i, a := range adders {
		got := make([]uint32, numWords)
		must(t, cuda.CopyToHost(a.stream, got, a.words))
		must(t, a.stream.Synchronize())
		if got[0] != uint32(10+i) || got[numWords-1] != uint32(10+i) {
			t.Errorf("device %d: %v", i, got)
		}
	}
	// A kernel cannot access memory of another device.
	must(t, adders[1].add(adders[2].words, 1))
	if err := adders[1].stream.Synchronize(); !errors.Is(err, cuda.ErrDeviceLost) {
		t.Errorf("a kernel read memory of another device: %v", err)
	}
	if report := gputest.Report(t); !strings.Contains(report, "memory of another device") {
		t.Errorf("the report is %q", report)
	}
	must(t, adders[2].add(adders[2].words, 1))
	must(t, adders[2].stream.Synchronize())
}

func TestSmallDevice(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 1 << 20})[0]
	first, err := cuda.Alloc[uint8](d, 700<<10)
	must(t, err)
	if _, err := cuda.Alloc[uint8](d, 400<<10); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("1,100 KiB of 1,024: %v", err)
	}
	free, total, err := d.MemInfo()
	must(t, err)
	if free != 324<<10 || total != 1<<20 {
		t.Errorf("%d of %d bytes are free", free, total)
	}
	must(t, first.Free())
	second, err := cuda.Alloc[uint8](d, 1<<20)
	must(t, err)
	must(t, second.Free())
}

func TestNoDevice(t *testing.T) {
	infos, err := gputest.Configure(t, gputest.Config{}).Devices()
	if len(infos) != 0 || err != nil && !errors.Is(err, cuda.ErrUnavailable) {
		t.Errorf("devices %v, %v", infos, err)
	}
}

func TestLose(t *testing.T) {
	gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 8 << 20})
	t.Run("lost", func(t *testing.T) {
		d := gputest.OpenEmulated(t, gputest.Config{Devices: 2, MemoryBytes: 8 << 20})[1]
		a := newAdder(t, d)
		must(t, cuda.Fill(a.stream, a.words, 0))
		gputest.Lose(t, 3, cuda.ECCUncorrectable)
		for range 5 {
			must(t, a.add(a.words, 1)) // a launch does not wait, so it returns no error
		}
		err := a.stream.Synchronize()
		if e := new(cuda.Error); !errors.As(err, &e) || e.Code != cuda.ECCUncorrectable || !errors.Is(d.Err(), cuda.ErrDeviceLost) {
			t.Errorf("Synchronize: %v, device: %v", err, d.Err())
		}
		if n := gputest.Launches(t); n != 3 {
			t.Errorf("%d kernels ran, want 2 and the one that was lost", n)
		}
	})
	t.Run("well again", func(t *testing.T) {
		d := gputest.OpenEmulated(t, gputest.Config{Devices: 2, MemoryBytes: 8 << 20})[1]
		a := newAdder(t, d)
		must(t, cuda.Fill(a.stream, a.words, 0))
		must(t, a.add(a.words, 1))
		must(t, a.stream.Synchronize())
	})
}

// The emulator works as late as possible, to detect a program that fails to
// wait.
func TestWorkIsLate(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 8 << 20})[0]
	a := newAdder(t, d)
	locked, err := cuda.AllocHost[uint32](d, numWords)
	must(t, err)
	defer locked.Free()
	for i := range locked.Data() {
		locked.Data()[i] = 1
	}
	must(t, cuda.CopyToDevice(a.stream, a.words, locked.Data()))
	must(t, a.add(a.words, 5))
	locked.Data()[0] = 2 // too early: the copy is not complete
	must(t, cuda.CopyToHost(a.stream, locked.Data(), a.words))
	if locked.Data()[1] != 1 {
		t.Error("a copy was there before it was waited for")
	}
	must(t, a.stream.Synchronize())
	if got := locked.Data()[:2]; !slices.Equal(got, []uint32{7, 6}) {
		t.Errorf("got %v, want 7 (what was written too early, and 5) and 6", got)
	}
	// Memory that is not page-locked is read before the call returns.
	pageable := slices.Repeat([]uint32{1}, numWords)
	must(t, cuda.CopyToDevice(a.stream, a.words, pageable))
	pageable[0] = 2
	must(t, cuda.CopyToHost(a.stream, locked.Data(), a.words))
	must(t, a.stream.Synchronize())
	runtime.KeepAlive(pageable)
	if locked.Data()[0] != 1 {
		t.Error("a copy from memory that is not page-locked saw a later write")
	}
}

// Work that waits for an event sees earlier work, in whatever order the host
// waits; a graph repeats the captured work.
func TestEventsOrderStreams(t *testing.T) {
	d := gputest.Open(t)
	first, second := newAdder(t, d), newAdder(t, d)
	event, err := d.NewEvent(false)
	must(t, err)
	defer event.Close()
	must(t, cuda.FillWords(first.stream, first.words, 7))
	must(t, first.add(first.words, 1))
	must(t, first.stream.Record(event))
	must(t, first.add(first.words, 0))
	must(t, second.stream.Wait(event))
	must(t, second.add(first.words, 10))
	must(t, second.stream.Synchronize())
	must(t, first.stream.Synchronize())
	got := make([]uint32, numWords)
	must(t, cuda.CopyToHost(second.stream, got, second.words))
	must(t, second.stream.Synchronize())
	if got[0] != 18 {
		t.Errorf("got %d, want 18", got[0])
	}

	must(t, first.stream.BeginCapture())
	must(t, first.add(first.words, 3))
	must(t, first.add(first.words, 4))
	graph, err := first.stream.EndCapture()
	must(t, err)
	defer graph.Close()
	executable, err := graph.Instantiate()
	must(t, err)
	defer executable.Close()
	for range 5 {
		must(t, executable.Launch(first.stream))
	}
	must(t, cuda.CopyToHost(first.stream, got, first.words))
	must(t, first.stream.Synchronize())
	if got[0] != 8+5*7 {
		t.Errorf("after 5 launches of the graph: %d, want %d", got[0], 8+5*7)
	}
}

// Freed memory is not accessible, and its address is not reused at once.
func TestUseAfterFree(t *testing.T) {
	d := gputest.OpenEmulated(t, gputest.Config{Devices: 1, MemoryBytes: 8 << 20})[0]
	a := newAdder(t, d)
	freed, err := cuda.Alloc[uint32](d, numWords)
	must(t, err)
	must(t, cuda.FillWords(a.stream, freed, 1))
	must(t, a.stream.Synchronize())
	p := gputest.AddParams{Source: freed.Ptr(), Target: a.words.Ptr(), NumWords: numWords}
	must(t, freed.Free())
	must(t, cuda.Launch(a.stream, a.kernel, cuda.D1(1), cuda.D1(128), 0, &p))
	if err := a.stream.Synchronize(); !errors.Is(err, cuda.ErrLaunch) {
		t.Errorf("a kernel read freed memory: %v", err)
	}
	if report := gputest.Report(t); !strings.Contains(report, "kernel gputest_add, block (0,0,0), thread (0,0,0): out of bounds: read of 4 bytes") {
		t.Errorf("the report is %q", report)
	}
}

func TestEveryDriverFunctionIsEmulated(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{Devices: 1, MemoryBytes: 1 << 20})
	file, err := elf.Open(library.Path())
	must(t, err)
	defer file.Close()
	symbols, err := file.DynamicSymbols()
	must(t, err)
	exported := map[string]bool{}
	for _, s := range symbols {
		exported[s.Name] = s.Section != elf.SHN_UNDEF
	}
	for _, name := range cuda.Functions() {
		if !exported[name] {
			t.Errorf("the emulator lacks %s", name)
		}
	}
	for name := range exported {
		if strings.HasPrefix(name, "__tsan") {
			t.Errorf("the emulator exports %s, which could stand in for the race detector's", name)
		}
	}
}
