package residency

import (
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/postings"
)

func TestUploadCounts(t *testing.T) {
	s := makeSegment(t, 3000)
	for _, hostMemory := range []HostMemory{{None: true}, {}} {
		d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: hostMemory, Uploaders: 1})
		u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
		check := func(what string, got, want Counts) {
			t.Helper()
			if got.Missed-got.Hit > 0 && got.Uploading <= 0 && got.Asked.File > 0 {
				t.Errorf("%s: no time counted", what)
			}
			if got.Uploading = 0; got != want {
				t.Errorf("%s: %+v, want %+v", what, got, want)
			}
		}
		w0, w1 := findLeg(t, s, "w0"), findLeg(t, s, "w1")
		payload, directory := w1.List.Raw()
		shape := shapeOf(len(payload), len(directory))
		sent := int64(4*((len(payload)+3)/4) + 4*decode.EntryWords*len(directory))
		var c Counts
		l, err := u.Packed(p, w1, &c)
		if err != nil {
			t.Fatal(err)
		}
		want := Counts{Missed: 1, Asked: FormStats{File: 1}}
		if hostMemory.None {
			want.ListBytes = sent
		} else {
			want.Locked = 4 * int64(shape.words)
		}
		check("compressed", c, want)
		if l.IsZero() || l.OnHost() == hostMemory.None || d.uploaded.Load() != want.ListBytes || u.Uploaded() != 0 {
			t.Errorf("%+v: on the host %t, %d bytes uploaded, images of %d bytes", l, l.OnHost(), d.uploaded.Load(), u.Uploaded())
		}
		if hostMemory.None {
			if e := l.packed; e.extent.size != roundUp(shape.sizeBytes()) || e.gain != packedGain(int64(4*shape.payload), int64(4*(shape.words-shape.payload)), usualShare) {
				t.Errorf("extent %+v, gain %g", e.extent, e.gain)
			}
		}
		l.Unpin()
		c = Counts{}
		if l, err = u.Packed(p, w1, &c); err != nil {
			t.Fatal(err)
		}
		if hostMemory.None {
			check("compressed again", c, Counts{Hit: 1, Asked: FormStats{Device: 1}})
		} else {
			check("compressed again", c, Counts{Missed: 1, Asked: FormStats{Host: 1}})
		}
		payloadAt, directoryAt, onHost := l.Addresses()
		if onHost == hostMemory.None || directoryAt != payloadAt+cuda.Ptr[uint32](4*shape.payload) {
			t.Errorf("payload at %#x, directory at %#x, on the host: %t", payloadAt, directoryAt, onHost)
		}
		l.Unpin()
		if !hostMemory.None { // a directory on the device
			there, err := u.Warm(p, s, w1, LockAndPackDirectory)
			if err != nil || there {
				t.Errorf("Warm = %t, %v", there, err)
			}
			c = Counts{}
			if l, err = u.Packed(p, w1, &c); err != nil {
				t.Fatal(err)
			}
			check("compressed with a directory", c, Counts{Missed: 1, Asked: FormStats{Host: 1}})
			if at, directoryAt, onHost := l.Addresses(); at != payloadAt || onHost || directoryAt != l.directory.packed.directory || !l.OnHost() {
				t.Errorf("payload at %#x, directory at %#x, on the host: %t", at, directoryAt, onHost)
			}
			e := l.directory
			if n := int64(4 * decode.EntryWords * len(directory)); e.extent.size != roundUp(n) || e.gain != directoryGain(n) {
				t.Errorf("directory: extent %+v, gain %g", e.extent, e.gain)
			}
			l.Unpin()
			if there, err := u.Warm(p, s, w1, LockAndPack); err != nil || !there {
				t.Errorf("Warm = %t, %v", there, err)
			}
			e = d.cache.find(w1.key(p.id).of(kindPacked))
			if e.extent.size != roundUp(shape.sizeBytes()) || e.gain != packedGain(int64(4*shape.payload), int64(4*(shape.words-shape.payload)), usualShare) {
				t.Errorf("promoted list: extent %+v, gain %g", e.extent, e.gain)
			}
			e.Unpin()
		}
		// Images are decoded on the device, and on the CPU.
		for _, leg := range []*Leg{w0, findLeg(t, s, "w2")} {
			c = Counts{}
			before := d.uploaded.Load()
			made := u.Uploaded()
			e, err := u.Image(p, s, leg, &c)
			if err != nil {
				t.Fatal(err)
			}
			check("image", c, Counts{Missed: 1, Asked: FormStats{File: 1}, ListBytes: d.uploaded.Load() - before})
			size := imageShape(p, leg, int(leg.DocFreq())).SizeBytes()
			if c.ListBytes == 0 || e.Empty() || e.extent.size != roundUp(size) || e.gain != imageGain(size, true) || u.Uploaded()-made != e.extent.size {
				t.Errorf("%d bytes sent, extent %+v, gain %g, %d bytes of images; want %d", c.ListBytes, e.extent, e.gain, u.Uploaded()-made, roundUp(size))
			}
			e.Unpin()
			c = Counts{}
			if e, err = u.Image(p, s, leg, &c); err != nil {
				t.Fatal(err)
			}
			check("image again", c, Counts{Hit: 1, Asked: FormStats{Image: 1}})
			e.Unpin()
		}
		if image, compressed := d.FormsOf(p, w0); !image || compressed != FormFile || !d.HasImage(p, w0) {
			t.Errorf("w0: image %t, compressed form %s", image, compressed)
		}
		if image, compressed := d.FormsOf(p, w1); image || compressed != FormDevice || d.HasImage(p, w1) {
			t.Errorf("w1: image %t, compressed form %s", image, compressed)
		}
		m := d.Stats()
		lists, directories := int64(3), int64(0)
		if !hostMemory.None {
			directories = 1
		}
		if m.Cache.Lists != lists || m.Cache.Compressed != 1 || m.Cache.Directories != directories || m.Cache.Misses != 2 || m.UsedBytes <= 0 || m.Lost != "" || m.BytesUploaded != d.uploaded.Load() {
			t.Errorf("%+v: want %d lists and %d directories", m, lists, directories)
		}
		d.CountLists(5, 7)
		if m := d.Stats(); m.Cache.Hits != 5 || m.Cache.Misses != 9 {
			t.Errorf("%d hits, %d misses", m.Cache.Hits, m.Cache.Misses)
		}
		p.Release()
		if m := d.Stats(); m.Cache.Lists+m.Cache.Compressed+m.Cache.Directories+m.Cache.SizeBytes+m.Host.Lists+m.Host.SizeBytes != 0 {
			t.Errorf("%+v: want no lists", m)
		}
	}
}

// A list of exactly the limit is not too large.
func TestTooLarge(t *testing.T) {
	s := makeSegment(t, 1000)
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1})
	u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	leg := findLeg(t, s, "w1")
	payload, directory := leg.List.Raw()
	for what, c := range map[string]struct {
		size int64
		load func() error
	}{
		"image": {imageShape(p, leg, int(leg.DocFreq())).SizeBytes(), func() error { _, err := u.Image(p, s, leg, new(Counts)); return err }},
		"list":  {shapeOf(len(payload), len(directory)).sizeBytes(), func() error { _, err := u.Packed(p, leg, new(Counts)); return err }},
	} {
		before := d.Probe().SetLimit(c.size - 1)
		if err := c.load(); !errors.Is(err, ErrTooLarge) {
			t.Errorf("%s that exceeds the limit: error %v", what, err)
		}
		d.Probe().SetLimit(c.size)
		if err := c.load(); errors.Is(err, ErrTooLarge) {
			t.Errorf("%s of the limit: error %v", what, err)
		}
		d.Probe().SetLimit(before)
	}
	for _, e := range d.cache.heap {
		e.refs.Store(0)
	}
	for _, e := range d.cache.streamed {
		e.refs.Store(0)
	}
}

// Memory grows to the limit; a lost device gets none.
func TestGrow(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 16 << 10}, HostMemory: HostMemory{Memory: Memory{Bytes: 10 << 10}}, Uploaders: 1})
	if m := d.Stats(); m.LimitBytes != 16<<10 || d.Limit() != 14<<10 || d.limit[1].Load() != 2<<10 {
		t.Errorf("limits %d, %d, %d", m.LimitBytes, d.Limit(), d.limit[1].Load())
	}
	if d.Room() != 14<<10-(14<<10)/imageSlack {
		t.Errorf("room for %d bytes", d.Room())
	}
	for _, c := range []struct {
		grow    func(n int64, reserve bool) (int, int64, bool)
		n       int64
		reserve bool
		size    int64 // 0: no room
	}{
		{d.grow, 15 << 10, false, 0},
		{d.grow, 4 << 10, false, 14 << 10},
		{d.grow, 1, false, 0},
		{d.grow, 3 << 10, true, 0},
		{d.grow, 2 << 10, true, 2 << 10},
		{d.host.grow, 11 << 10, false, 0},
		{d.host.grow, 1 << 10, true, 0},
		{d.host.grow, 10 << 10, false, 10 << 10},
		{d.host.grow, 256, false, 0},
	} {
		if _, size, ok := c.grow(c.n, c.reserve); size != c.size || ok != (c.size > 0) {
			t.Errorf("%d bytes, reserve %t: %d bytes, %t; want %d", c.n, c.reserve, size, ok, c.size)
		}
	}
	d.Probe().SetLimit(1 << 20)
	lost := fmt.Errorf("lost: %w", cuda.ErrDeviceLost)
	d.Probe().Fail(lost)
	if _, _, ok := d.grow(256, false); ok {
		t.Error("a lost device gets memory")
	}
	if m := d.Stats(); m.Lost != lost.Error() || m.UsedBytes != 0 || !errors.Is(d.Lost(), lost) {
		t.Errorf("%+v, lost: %v", m, d.Lost())
	}
}

func TestCloseStopsPromoter(t *testing.T) {
	var p *promoter
	t.Run("device", func(t *testing.T) {
		p = openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1}).promoter
	})
	if !p.stops() {
		t.Fatal("Close does not stop the promoter")
	}
	<-p.ended
}

func TestReadsPacked(t *testing.T) {
	simdbp, err := codec.Lookup("simdbp")
	if err != nil {
		t.Fatal(err)
	}
	other, err := codec.Lookup("pfordelta-rec")
	if err != nil {
		t.Fatal(err)
	}
	with := func(c codec.Codec) *Leg {
		l := new(Leg)
		l.List = &postings.List{Codec: c}
		return l
	}
	for _, c := range []struct {
		whole bool
		leg   *Leg
		want  bool
	}{{true, with(simdbp), true}, {false, with(simdbp), false}, {true, with(other), false}, {true, new(Leg), false}, {false, new(Leg), false}} {
		if got := new(Device).ReadsPacked(&Shard{whole: c.whole}, c.leg); got != c.want {
			t.Errorf("whole %t, list %v: %t", c.whole, c.leg.List, got)
		}
	}
}

// An upload counts as loaded only after a run has awaited it.
func TestWaits(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 2})
	p := d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	stream, err := d.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := stream.Close(); err != nil {
			t.Error(err)
		}
	}()
	u := d.uploaders[1]
	image, err := u.Image(p, s, findLeg(t, s, "w0"), new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	defer image.Unpin()
	list, err := u.Packed(p, findLeg(t, s, "w1"), new(Counts))
	if err != nil {
		t.Fatal(err)
	}
	defer list.Unpin()
	if image.lane != 1 || list.packed.lane != 1 || image.event == list.packed.event {
		t.Errorf("events %d and %d of uploaders %d and %d", image.event, list.packed.event, image.lane, list.packed.lane)
	}
	w := d.NewWaits()
	mark := func() (loaded [2]bool) {
		w.Ended()
		w.MarkLoaded(nil)
		w.MarkLoaded(image)
		w.MarkPackedLoaded(&list)
		return [2]bool{image.loaded.Load(), list.packed.loaded.Load()}
	}
	if err := errors.Join(u.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if got := mark(); got != [2]bool{} {
		t.Errorf("loaded without a wait: %v", got)
	}
	if err := errors.Join(w.Image(stream, image), stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	w.Reset()
	if got := mark(); got != [2]bool{} {
		t.Errorf("loaded by an earlier run: %v", got)
	}
	if err := errors.Join(w.Image(stream, image), stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if got := mark(); got != [2]bool{true, false} {
		t.Errorf("loaded %v, want the image", got)
	}
	if err := errors.Join(w.Packed(stream, &list), stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if got := mark(); got != [2]bool{true, true} {
		t.Errorf("loaded %v, want both", got)
	}
}
