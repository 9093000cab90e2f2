package residency

import (
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func TestParseMemoryLimits(t *testing.T) {
	for text, want := range map[string]Memory{"1": {Bytes: 1}, "10000%": {Percent: 10_000}, "4194303T": {Bytes: 4194303 << 40}} {
		if got, err := ParseMemory(text); err != nil || got != want {
			t.Errorf("ParseMemory(%q) = %+v, %v; want %+v", text, got, err, want)
		}
	}
	for _, text := range []string{"0.99", "10001%", "4194304T", "1e999", "x%"} {
		if got, err := ParseMemory(text); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("ParseMemory(%q) = %+v, %v; want ErrBadInput", text, got, err)
		}
	}
}

func TestSelectionOfCPU(t *testing.T) {
	for _, c := range []struct {
		s    Selection
		want bool
	}{
		{Selection{}, true},
		{Selection{Auto: true}, false},
		{Selection{All: true}, false},
		{Selection{Ordinals: []int{0}}, false},
		{Selection{Auto: true, Ordinals: []int{0}}, false},
		{Selection{All: true, Ordinals: []int{0}}, false},
	} {
		if got := c.s.CPU(); got != c.want {
			t.Errorf("%+v: CPU %t", c.s, got)
		}
	}
}

func TestDuplicateNamed(t *testing.T) {
	if err := checkDistinct([]uint64{41<<8 | 1, 41<<8 | 2}); err == nil || !strings.HasPrefix(err.Error(), "document 41 twice") {
		t.Errorf("error %v", err)
	}
}

func TestSizesOnDevice(t *testing.T) {
	for n, want := range map[uint32]int64{1: 256, 128 * 16: 256, 128*16 + 1: 512, 128 * 32: 512} {
		if got := DirectoryBytes(n); got != want {
			t.Errorf("directory of %d postings: %d bytes, want %d", n, got, want)
		}
	}
	for n, want := range map[int64]int64{0: 256, 240: 256, 241: 512, 496: 512} {
		if got := PackedBytes(n); got != want {
			t.Errorf("list of %d bytes: %d bytes, want %d", n, got, want)
		}
	}
}

// Each driver call that fails while a used device is closed is reported.
func TestCloseFaults(t *testing.T) {
	s := makeSegment(t, 3000)
	lib, err := cuda.Load(gputest.Library(t).Path())
	if err != nil {
		t.Fatal(err)
	}
	open := func(faults *cuda.Faults) *Device {
		d, err := OpenDevice(lib, 0, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults}, 2)
		if err != nil {
			t.Fatal(err)
		}
		u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
		e, err := u.Image(p, s, findLeg(t, s, "w0"), new(Counts))
		if err != nil {
			t.Fatal(err)
		}
		e.Unpin()
		l, err := u.Packed(p, findLeg(t, s, "w1"), new(Counts))
		if err != nil {
			t.Fatal(err)
		}
		l.Unpin()
		p.Release()
		return d
	}
	counting := new(cuda.Faults)
	d := open(counting)
	before := counting.Calls()
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	checkReleased(t, counting, nil)
	checked := 0
	for call, n := range counting.Calls() {
		for nth := 1; nth <= n-before[call]; nth += 1 + (n-before[call])/8 {
			faults := new(cuda.Faults)
			d := open(faults)
			faults.Fail(call, nth, cuda.InvalidValue)
			checked++
			if err := d.Close(); !driverError(err) {
				t.Errorf("call %d of %s fails in Close: error %v", nth, call, err)
			}
		}
	}
	if checked < 10 {
		t.Errorf("%d calls of Close", checked)
	}
}
