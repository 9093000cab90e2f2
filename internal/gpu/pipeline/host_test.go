package pipeline

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Page-locked memory has lists as the kernels read them, as many as there is room for,
// and lets those go that are worth least, or whose part goes. What a device makes of them
// is the same.
func TestHostMemory(t *testing.T) {
	s := testIndex(t, 3000, 4)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{Memory: Memory{Bytes: 24 << 10}}, Lanes: 1})
	d := e.devices[0]
	p := v.pieces[0][0].part
	var pinned []*entry
	for _, word := range []string{"w3", "w2", "w1", "w0"} {
		leg := &testQuery(t, s, word).Legs[0]
		payload, directory := leg.List.Raw()
		host := d.keep(leg.key(p.id).of(kindHost), payload, directory, always)
		if host == nil {
			t.Fatalf("no room for %s", word)
		}
		raw := d.host.bytes(host)
		want := make([]uint32, directoryLen(leg.DocFreq))
		directoryWords(want, directory)
		at := len(host.packed.words) - len(want)
		if !bytes.Equal(raw[:len(payload)], payload) || slices.Max(append(raw[len(payload):4*at], 0)) != 0 || !slices.Equal(host.packed.words[at:], want) {
			t.Errorf("%s lies otherwise in page-locked memory", word)
		}
		if host.packed.payload%16 != 0 || host.packed.directory != host.packed.payload+cuda.Ptr[uint32](4*at) {
			t.Errorf("%s: payload at %#x, directory at %#x", word, host.packed.payload, host.packed.directory)
		}
		pinned = append(pinned, host)
	}
	leg := &testQuery(t, s, "w3").Legs[0]
	packedOnDevice(t, d, pinned[0], leg.DocFreq, kindDirectory)
	packedOnDevice(t, d, pinned[0], leg.DocFreq, kindPacked)
	if r := d.records.ofLeg(leg, p.id); r.compressed() != FormDevice {
		t.Errorf("w3 is %s, want device", r.compressed())
	}
	for _, host := range pinned {
		host.unpin()
	}
	// No room for w0 beside the others unless one goes.
	h := d.host.stats()
	if h.LimitBytes != 24<<10 || h.SizeBytes > h.LimitBytes || h.Filled != 4 || h.Lists+h.Evictions != 4 || h.FilledBytes == 0 {
		t.Errorf("%+v: want 4 lists that came, within the limit", h)
	}
	v.Release()
	if h := d.host.stats(); h.Lists != 0 || h.SizeBytes != 0 || len(d.records.m) != 0 {
		t.Errorf("%+v: want nothing left after the part was dropped", h)
	}
}

// packedOnDevice promotes a page-locked list, or its directory, and compares.
func packedOnDevice(t *testing.T, d *device, host *entry, docFreq uint32, what kind) {
	t.Helper()
	u := d.uploaders[0]
	made, err := u.promote(host, docFreq, what, 1, ifFree)
	if made == nil || err != nil {
		t.Fatalf("promoted: %v, error %v", made, err)
	}
	made.unpin()
	if e, err := u.promote(host, docFreq, what, 1, ifFree); e != nil || err != nil {
		t.Errorf("promoted twice: %v, error %v", e, err)
	}
	e := d.cache.find(host.key.of(what))
	if e == nil {
		t.Fatal("it is not there")
	}
	defer e.unpin()
	want := host.packed.words
	if what == kindDirectory {
		want = want[len(want)-directoryLen(docFreq):]
	}
	got, err := cuda.AllocHost[uint32](d.dev, len(want))
	if err != nil {
		t.Fatal(err)
	}
	defer got.Free()
	if err := errors.Join(cuda.CopyToHost(u.stream, got.Data(), d.memory(e.extent).Slice(0, len(want))), u.stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got.Data(), want) {
		t.Errorf("kind %d lies otherwise on the device", what)
	}
	if what == kindDirectory && e.packed.payload != 0 || e.packed.directory == 0 {
		t.Errorf("kind %d: %+v", what, e.packed)
	}
}

// Of the same list, its directory is worth more per byte than the list, and that more
// than the image; an image that can do without the others' ways is worth more than one
// that cannot, in the same ratio whatever its size.
func TestGains(t *testing.T) {
	for _, packedBytes := range []int64{1 << 16, 1 << 20, 1 << 24} {
		image, directory := 9*packedBytes, packedBytes/12
		perByte := []float64{
			directoryGain(directory) / float64(directory), packedGain(packedBytes-directory, directory, usualShare) / float64(packedBytes), imageGain(image, true) / float64(image),
		}
		if !slices.IsSortedFunc(perByte, func(a, b float64) int {
			if a > b {
				return -1
			}
			return 1
		}) {
			t.Errorf("%d bytes: gains per byte of directory, list and image %v", packedBytes, perByte)
		}
		if r := imageGain(image, false) / imageGain(image, true); r < 8.99 || r > 9.01 {
			t.Errorf("%d bytes: images are worth %g times as much without another way", image, r)
		}
	}
}

// Long lists are copied by several goroutines, all of them.
func TestCopyWide(t *testing.T) {
	src := make([]byte, 5<<20+3)
	for i := range src {
		src[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, 1 << 20, 1<<20 + 1, 4 << 20, len(src)} {
		dst := make([]byte, n+1)
		copyWide(dst[:n], src[:n])
		if !bytes.Equal(dst[:n], src[:n]) || dst[n] != 0 {
			t.Errorf("%d bytes arrived otherwise", n)
		}
	}
}
