package residency

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// A run waits once for each upload, and not for a list that is loaded or in page-locked memory.
func TestWaitsOnce(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	if _, err := u.Warm(p, s, leg, LockAndPackDirectory); err != nil {
		t.Fatal(err)
	}
	list, err := u.Packed(p, leg, new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Unpin()
	image, err := u.Image(p, s, findLeg(t, s, "w0"), new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Unpin()
	w := d.NewWaits()
	waits := func(what string, want int, wait func() error) {
		t.Helper()
		if n := callsOf(faults, "cuStreamWaitEvent", func() { err = wait() }); n != want || err != nil {
			t.Errorf("%s: %d waits, want %d; error %v", what, n, want, err)
		}
	}
	packed := func(l *PackedList) func() error { return func() error { return w.Packed(u.stream, l) } }
	ofImage := func() error { return w.Image(u.stream, image) }
	waits("no list", 0, packed(new(PackedList)))
	waits("page-locked list", 0, packed(&PackedList{host: list.host}))
	waits("directory", 1, packed(&list))
	waits("directory again", 0, packed(&list))
	waits("image", 1, ofImage)
	waits("image again", 0, ofImage)
	w.MarkPackedLoaded(&list)
	if !list.directory.loaded.Load() || image.loaded.Load() {
		t.Errorf("loaded: directory %t, image %t", list.directory.loaded.Load(), image.loaded.Load())
	}
	w.Reset()
	waits("image, next run", 1, ofImage)
	waits("loaded directory", 0, packed(&list))
	w.Reset()
	d.Probe().SetLoaded(image)
	waits("loaded image", 0, ofImage)
}

// An upload that has not ended, or whose event fails, is not marked as loaded.
func TestWaitsEnded(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1, Faults: faults})
	u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	var images [3]*Entry
	for i, word := range []string{"w0", "w1", "w2"} {
		e, err := u.Image(p, s, findLeg(t, s, word), new(Counts))
		if err != nil {
			t.Fatal(err)
		}
		defer e.Unpin()
		images[i] = e
	}
	w := d.NewWaits()
	for _, e := range images {
		if err := w.Image(u.stream, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := u.Synchronize(); err != nil {
		t.Fatal(err)
	}
	faults.Fail("cuEventQuery", 1, cuda.NotReady)
	faults.Fail("cuEventQuery", 2, cuda.InvalidValue)
	w.Ended()
	if n := d.Stats().Errors; n != 1 {
		t.Errorf("%d errors counted, want that of the second event", n)
	}
	for i, e := range images {
		w.MarkLoaded(e)
		if e.loaded.Load() != (i == 2) {
			t.Errorf("image %d: loaded %t", i, e.loaded.Load())
		}
	}
}

// Memory is reused after the upload to it, or the copy from it, has ended. Errors are counted.
func TestSettle(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 2, Faults: faults})
	p := d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	var hosts [3]*Entry
	for i, word := range []string{"w1", "w2", "w3"} {
		leg := findLeg(t, s, word)
		payload, directory := leg.List.Raw()
		hosts[i] = d.lockList(leg.key(p.id).of(kindHost), term{}, payload, directory, always)
		defer hosts[i].Unpin()
		if i == 2 {
			break // no uploader copies from it
		}
		e, err := d.uploaders[i].promote(hosts[i], leg.DocFreq(), kindPacked, 1, always)
		if e == nil || err != nil {
			t.Fatal(e, err)
		}
		e.Unpin()
	}
	waits := func(what string, want int, f func()) {
		t.Helper()
		if n := callsOf(faults, "cuEventSynchronize", f); n != want {
			t.Errorf("%s: %d waits, want %d", what, n, want)
		}
	}
	waits("no reader", 0, func() { d.settleHost(hosts[2]) })
	waits("uploader 1", 1, func() { d.settleHost(hosts[1]) })
	u := d.uploaders[1]
	if done, err := u.events[u.event.Load()].Query(); !done || err != nil {
		t.Errorf("the copy from the list has ended: %t, %v", done, err)
	}
	faults.Fail("cuEventSynchronize", 1, cuda.InvalidValue)
	waits("uploader 0", 1, func() { d.settleHost(hosts[0]) })
	if n := d.Stats().Errors; n != 1 {
		t.Errorf("%d errors, want 1", n)
	}
	image, err := d.uploaders[0].Image(p, s, findLeg(t, s, "w0"), new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Unpin()
	faults.Fail("cuEventSynchronize", 1, cuda.InvalidValue)
	waits("image", 1, func() { d.settle(image) })
	waits("image again", 0, func() { d.settle(image) })
	waits("image that is not published", 0, func() { d.settle(&Entry{lane: -1}) })
	if n := d.Stats().Errors; n != 2 || !image.loaded.Load() {
		t.Errorf("%d errors, want 2; loaded %t", n, image.loaded.Load())
	}
}

// An error that may pass does not hide a later loss. An error of Release is counted.
func TestLossAfterErrors(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
	if _, err := u.Lengths(p, s, 0); err != nil {
		t.Fatal(err)
	}
	faults.Fail("cuMemFree_v2", 1, cuda.InvalidValue)
	p.Release()
	if n := d.Stats().Errors; n != 1 || d.Lost() != nil {
		t.Errorf("%d errors, lost: %v; want one error", n, d.Lost())
	}
	faults.Fail("cuStreamSynchronize", 1, cuda.LaunchFailed)
	if err := d.Note(u.Synchronize()); !errors.Is(err, cuda.ErrDeviceLost) || !errors.Is(d.Lost(), cuda.ErrDeviceLost) {
		t.Errorf("error %v, lost: %v", err, d.Lost())
	}
}

// The access of tests to a device.
func TestProbe(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	kernels, called := d.fast, false
	d.Probe().WithoutKernels(func() { called = d.fast == nil })
	if !called || d.fast != kernels {
		t.Errorf("called without kernels: %t, restored: %t", called, d.fast == kernels)
	}
	l, err := u.Packed(p, leg, new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if users, ok := d.Probe().Locked(p, leg); users != 1 || !ok {
			t.Errorf("%d users, page-locked %t", users, ok)
		}
	}
	l.Unpin()
	free := d.Probe().Fill(spaceAlign)
	if free == nil {
		t.Fatal("no room")
	}
	e := d.cache.heap[0]
	if e.refs.Load() != 1 || e.gain == 0 || e.density == 0 || e.key.shard < 1<<20 {
		t.Errorf("%d pins, gain %g, density %g, shard %d", e.refs.Load(), e.gain, e.density, e.key.shard)
	}
	free()
	if e.refs.Load() != 0 || e.gain != 0 || e.density != 0 {
		t.Errorf("free: %d pins, gain %g, density %g", e.refs.Load(), e.gain, e.density)
	}
}
