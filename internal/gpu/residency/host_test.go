package residency

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/invariant"
	"github.com/griffin-search/griffin/internal/postings"
)

// Page-locked lists have the kernels' format, stay within the limit, and are dropped with their
// shard. Promoted copies are equal.
func TestHostMemory(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{Memory: Memory{Bytes: 24 << 10}}, Uploaders: 1})
	p := d.Shard(s, 0, s.NumDocs)
	var pinned []*Entry
	for _, word := range []string{"w3", "w2", "w1", "w0"} {
		leg := findLeg(t, s, word)
		payload, directory := leg.List.Raw()
		host := d.lockList(leg.key(p.id).of(kindHost), term{}, payload, directory, always)
		if host == nil {
			t.Fatalf("no room for %s", word)
		}
		raw := d.host.bytes(host)
		want := make([]uint32, directoryLen(leg.DocFreq()))
		directoryWords(want, directory)
		at := len(host.packed.words) - len(want)
		if !bytes.Equal(raw[:len(payload)], payload) || slices.Max(append(raw[len(payload):4*at], 0)) != 0 || !slices.Equal(host.packed.words[at:], want) {
			t.Errorf("%s: wrong contents in page-locked memory", word)
		}
		if host.packed.payload%16 != 0 || host.packed.directory != host.packed.payload+cuda.Ptr[uint32](4*at) {
			t.Errorf("%s: payload at %#x, directory at %#x", word, host.packed.payload, host.packed.directory)
		}
		pinned = append(pinned, host)
	}
	leg := findLeg(t, s, "w3")
	packedOnDevice(t, d, pinned[0], leg.DocFreq(), kindDirectory)
	packedOnDevice(t, d, pinned[0], leg.DocFreq(), kindPacked)
	if r := d.records.ofLeg(leg, p.id); r.compressed() != FormDevice {
		t.Errorf("w3 is %s, want device", r.compressed())
	}
	for _, host := range pinned {
		host.Unpin()
	}
	// w0 has room only after an eviction.
	h := d.host.stats()
	if h.LimitBytes != 24<<10 || h.SizeBytes > h.LimitBytes || h.Filled != 4 || h.Lists+h.Evictions != 4 || h.FilledBytes == 0 {
		t.Errorf("%+v: want 4 filled lists within the limit", h)
	}
	p.Release()
	if h := d.host.stats(); h.Lists != 0 || h.SizeBytes != 0 || len(d.records.m) != 0 {
		t.Errorf("%+v: want no lists after the last Release", h)
	}
}

func packedOnDevice(t *testing.T, d *Device, host *Entry, docFreq uint32, what kind) {
	t.Helper()
	u := d.uploaders[0]
	made, err := u.promote(host, docFreq, what, 1, ifFree)
	if made == nil || err != nil {
		t.Fatalf("promoted: %v, error %v", made, err)
	}
	made.Unpin()
	if e, err := u.promote(host, docFreq, what, 1, ifFree); e != nil || err != nil {
		t.Errorf("promoted twice: %v, error %v", e, err)
	}
	e := d.cache.find(host.key.of(what))
	if e == nil {
		t.Fatal("the promoted list is not resident")
	}
	defer e.Unpin()
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
		t.Errorf("kind %d: wrong contents on the device", what)
	}
	if what == kindDirectory && e.packed.payload != 0 || e.packed.directory == 0 {
		t.Errorf("kind %d: %+v", what, e.packed)
	}
}

// Gains per byte: directory > compressed list > image. A readable compressed list reduces the
// gain of an image by a constant factor.
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
			t.Errorf("%d bytes: the gain without a compressed list is %g times the gain with one", image, r)
		}
	}
}

func TestCopyParallel(t *testing.T) {
	src := make([]byte, 5<<20+3)
	for i := range src {
		src[i] = byte(i * 7 >> 3)
	}
	for _, n := range []int{0, 1, 1 << 20, 1<<20 + 1, 4 << 20, len(src)} {
		dst := make([]byte, n+1)
		copyParallel(dst[:n], src[:n])
		if !bytes.Equal(dst[:n], src[:n]) || dst[n] != 0 {
			t.Errorf("%d bytes: wrong contents", n)
		}
	}
}

func openDevice(tb testing.TB, numDocs int, o DeviceOptions) (*Device, *Segment) {
	tb.Helper()
	return openDeviceOnly(tb, o), makeSegment(tb, numDocs)
}

func openDeviceOnly(tb testing.TB, o DeviceOptions) *Device {
	tb.Helper()
	lib, err := cuda.Load(gputest.Library(tb).Path())
	if err != nil {
		tb.Fatal(err)
	}
	d, err := OpenDevice(lib, 0, o, 1)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := d.Close(); err != nil {
			tb.Error(err)
		}
	})
	return d
}

// Word wi is in every (i+1)-th document.
func makeSegment(tb testing.TB, numDocs int) *Segment {
	tb.Helper()
	ix := indextest.Write(tb, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range numDocs {
			var text []byte
			for word := range 4 {
				if i%(word+1) == 0 {
					text = fmt.Appendf(text, "w%d ", word)
				}
			}
			w.AddText(i, string(text))
		}
	})
	v := &indextest.Snapshot(tb, ix).Segments[0]
	return &Segment{Key: v.Name, NumDocs: v.NumDocs(), Base: v.Base, Segment: v.Segment}
}

func findLeg(tb testing.TB, s *Segment, word string) *Leg {
	tb.Helper()
	l := new(Leg)
	l.List = new(postings.List)
	if ok, err := s.Segment.Find(0, []byte(word), l.List); err != nil || !ok {
		tb.Fatal(word, ok, err)
	}
	return l
}

// The lengths go from less than a word to more than all slots; padding is zero.
func TestCopies(t *testing.T) {
	d, _ := openDevice(t, 64, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u := d.uploaders[0]
	const slotBytes = 4 * slotWords
	rng := rand.New(rand.NewPCG(7, 7))
	src := make([]byte, (copiers+1)*slotBytes+5)
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	dst, err := cuda.Alloc[uint32](d.dev, len(src)/4+1)
	if err != nil {
		t.Fatal(err)
	}
	defer dst.Free()
	back, err := cuda.AllocHost[uint32](d.dev, dst.Len())
	if err != nil {
		t.Fatal(err)
	}
	defer back.Free()
	for _, n := range []int{1, 3, 4, 5, 4096, slotBytes - 1, slotBytes, slotBytes + 2, len(src), 7} {
		words := (n + 3) / 4
		err := errors.Join(u.copyBytes(dst, src[:n]), cuda.CopyToHost(u.stream, back.Data()[:words], dst.Slice(0, words)), u.stream.Synchronize())
		if err != nil {
			t.Fatal(err)
		}
		got := back.Bytes()[:4*words]
		if !bytes.Equal(got[:n], src[:n]) || slices.Max(append(got[n:], 0)) != 0 {
			t.Errorf("%d bytes: wrong contents", n)
		}
	}
}

func TestCopyPanics(t *testing.T) {
	defer func() {
		if value := recover(); value == nil || !strings.Contains(invariant.Catch(value).Error(), "out of range") {
			t.Errorf("panic %v", value)
		}
	}()
	copyParallel(make([]byte, 1<<20), make([]byte, 3<<20))
	t.Error("no panic")
}
