package pipeline

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

func openTwo(t *testing.T, o Options) (*Engine, error) {
	t.Helper()
	o.Library = gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20}).Path()
	if !o.Devices.Auto && len(o.Devices.Ordinals) == 0 {
		o.Devices = Selection{All: true}
	}
	o.Memory, o.Lanes = Memory{Bytes: 1 << 20}, 1
	return Open(o)
}

// A device without documents of a segment needs no list of it: queries on all paths and Warm have
// the answers of the other device.
func TestDeviceWithoutDocuments(t *testing.T) {
	c := newCollection(t, 120, 2, "") // fewer documents in a segment than a word of a bitmap
	e, err := openTwo(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	v := c.attach(t, e)
	defer v.Release()
	if n := e.devices[1].Probe().Shards(); n != 0 {
		t.Fatalf("%d shards on the second device", n)
	}
	if !v.allPacked() {
		t.Error("the lists cannot be read in place")
	}
	q := c.query(t, false, 3, 1)
	if v.HasImages(q) {
		t.Error("images at first")
	}
	var l Located
	if v.Locate(q, &l); !l.Packed || l.BytesImage == 0 || l.BytesImage != l.BytesFile {
		t.Errorf("at first: %+v", l)
	}
	if lists, total, err := v.Warm(t.Context(), WarmOptions{MinDocFreq: 60}); err != nil || lists != total {
		t.Errorf("%d of %d lists, error %v", lists, total, err)
	}
	for path := range PathPacked + 1 {
		for _, n := range []int{1, 2, fewQueries + 1} {
			var queries []*Query
			for i := range n {
				q := c.query(t, i%2 == 0, i+1, i)
				q.Path = path
				queries = append(queries, q)
			}
			for i, r := range run(t, v, queries) {
				c.compare(t, queries[i], &r)
			}
		}
	}
	lists, total, err := v.Warm(t.Context(), WarmOptions{})
	if err != nil || lists != total || total == 0 {
		t.Errorf("%d of %d lists, error %v", lists, total, err)
	}
	if v.Locate(q, &l); !v.HasImages(q) || l.BytesImage != 0 {
		t.Errorf("after Warm: %+v, images %t", l, v.HasImages(q))
	}
	if s := e.Stats().Devices[1]; s.Lists != 0 || s.Launches != 0 {
		t.Errorf("%+v: want no work on the second device", s)
	}
}

// The smallest limit of the devices decides.
func TestLeastLimit(t *testing.T) {
	e, err := openTwo(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	for _, limits := range [][2]int64{{100, 200}, {200, 100}} {
		for i, n := range limits {
			e.devices[i].Probe().SetLimit(n)
		}
		if n := e.leastLimit(); n != 100 {
			t.Errorf("limits %v: %d", limits, n)
		}
	}
}

// Lists of a segment on two devices cannot be read in place.
func TestAllPacked(t *testing.T) {
	e, err := openTwo(t, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	one := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	for _, test := range []struct {
		engine *Engine
		codec  string
		want   bool
	}{{e, "", false}, {one, "", true}, {one, "ef", false}} {
		c := newCollection(t, 300, 2, test.codec)
		v := c.attach(t, test.engine)
		if got := v.allPacked(); got != test.want {
			t.Errorf("%d devices, codec %q: %t", len(test.engine.devices), test.codec, got)
		}
		v.Release()
	}
}

// If a chosen device fails, Open opens no further one and closes those it has opened. With
// Selection.Auto it fails only if all fail.
func TestOpenFails(t *testing.T) {
	for _, test := range []struct {
		selection Selection
		failing   []int // calls that create an event
		want      string
		not       string
	}{
		{Selection{All: true}, []int{1, 2}, "GPU 0: ", "GPU 1: "},
		{Selection{Ordinals: []int{1, 0}}, []int{1}, "GPU 1: ", "GPU 0: "},
		{Selection{Ordinals: []int{1, 0}}, []int{-1}, "GPU 0: ", "GPU 1: "},
		{Selection{Auto: true}, []int{1, 2}, "GPU 0: ", ""},
		{Selection{Auto: true}, []int{1, 2}, "GPU 1: ", ""},
	} {
		var faults, counting cuda.Faults
		e, err := openTwo(t, Options{Devices: test.selection, Faults: &counting})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Close(); err != nil {
			t.Fatal(err)
		}
		all := counting.Calls()["cuEventCreate"]
		for _, nth := range test.failing {
			if nth < 0 { // the last one
				nth = all
			}
			faults.Fail("cuEventCreate", nth, cuda.OutOfMemory)
		}
		e, err = openTwo(t, Options{Devices: test.selection, Faults: &faults})
		if err == nil {
			_ = e.Close()
			t.Fatalf("%+v: no error", test.selection)
		}
		if text := err.Error(); !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(text, test.want) || test.not != "" && strings.Contains(text, test.not) {
			t.Errorf("%+v: error %v, want one of %s", test.selection, err, test.want)
		}
		calls := faults.Calls()
		calls["cuEventCreate"] -= strings.Count(err.Error(), "cuEventCreate")
		checkFreed(t, test.want, calls)
	}
}

// resources are the calls that create and free something.
var resources = map[string]string{
	"cuStreamCreate": "cuStreamDestroy_v2", "cuEventCreate": "cuEventDestroy_v2", "cuModuleLoadDataEx": "cuModuleUnload",
	"cuMemAlloc_v2": "cuMemFree_v2", "cuMemHostAlloc": "cuMemFreeHost",
}

// Whatever fails, Open frees all resources that it has created.
func TestOpenFrees(t *testing.T) {
	library := gputest.Library(t)
	open := func(faults *cuda.Faults) error {
		e, err := Open(Options{Library: library.Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: faults})
		if err == nil {
			err = e.Close()
		}
		return err
	}
	counting := new(cuda.Faults)
	if err := open(counting); err != nil {
		t.Fatal(err)
	}
	for call, n := range counting.Calls() {
		if _, ok := resources[call]; !ok {
			continue
		}
		for nth := max(n-3, 1); nth <= n; nth++ { // the last calls leave most to free
			faults := new(cuda.Faults)
			faults.Fail(call, nth, cuda.OutOfMemory)
			if err := open(faults); err == nil {
				t.Errorf("call %d of %s fails: no error", nth, call)
			}
			calls := faults.Calls()
			calls[call]--
			checkFreed(t, fmt.Sprintf("call %d of %d of %s fails", nth, n, call), calls)
		}
	}
}

// Errors of the release are joined to the error of Open.
func TestOpenJoinsErrors(t *testing.T) {
	open := func(faults *cuda.Faults) error {
		e, err := Open(Options{Library: gputest.Library(t).Path(), Devices: Selection{Ordinals: []int{0}}, Memory: Memory{Bytes: 1 << 20}, Lanes: 2, Faults: faults})
		if err == nil {
			err = e.Close()
		}
		return err
	}
	var counting cuda.Faults
	if err := open(&counting); err != nil {
		t.Fatal(err)
	}
	for nth := 1; nth <= 2; nth++ { // the failing lane's stream, then the first lane's
		var faults cuda.Faults
		faults.Fail("cuMemHostAlloc", counting.Calls()["cuMemHostAlloc"], cuda.OutOfMemory) // of the last lane
		faults.Fail("cuStreamDestroy_v2", nth, cuda.InvalidValue)
		if err := open(&faults); !errors.Is(err, cuda.ErrOutOfMemory) || !strings.Contains(err.Error(), "cuStreamDestroy") {
			t.Errorf("release %d fails: error %v", nth, err)
		}
	}
}

func checkFreed(t *testing.T, what string, calls map[string]int) {
	t.Helper()
	for made, released := range resources {
		if calls[made] != calls[released] {
			t.Errorf("%s: %d calls of %s, %d of %s", what, calls[made], made, calls[released], released)
		}
	}
}

// The keys of all lanes are within the memory limit of the device, but for 1 MiB a lane.
func TestKeysWithinLimit(t *testing.T) {
	for _, c := range []struct {
		memory int64
		lanes  int
	}{{1 << 20, 3}, {1 << 30, 2}, {1 << 30, 8}, {1 << 40, 8}} {
		e := open(t, Options{Memory: Memory{Bytes: c.memory}, HostMemory: HostMemory{None: true}, Lanes: c.lanes})
		d := e.devices[0]
		s, keys := d.Stats(), int64(d.singleKeys+d.batchKeys)
		if s.LimitBytes > c.memory || d.Limit()+d.Work() >= s.LimitBytes {
			t.Errorf("%d bytes: %d for lists and %d for keys of %d", c.memory, d.Limit(), d.Work(), s.LimitBytes)
		}
		if most := max(d.Work(), int64(c.lanes)<<20); 8*keys*int64(c.lanes) > most || d.batchKeys > imagesearch.MaxKeys || d.singleKeys < imagesearch.LeastKeys {
			t.Errorf("%d bytes: %d lanes with %d and %d keys, %d bytes", c.memory, c.lanes, d.singleKeys, d.batchKeys, most)
		}
	}
}
