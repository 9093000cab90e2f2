package residency

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/postings"
)

// openPart opens one of two devices, with page-locked memory and faults.
func openPart(t *testing.T, faults *cuda.Faults) *Device {
	t.Helper()
	lib, err := cuda.Load(gputest.Library(t).Path())
	if err != nil {
		t.Fatal(err)
	}
	d, err := OpenDevice(lib, 0, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{Memory: Memory{Bytes: 1 << 20}}, Uploaders: 2, Faults: faults}, 2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

// callsOf returns the number of calls of a driver function that f makes.
func callsOf(faults *cuda.Faults, call string, f func()) int {
	before := faults.Calls()[call]
	f()
	return faults.Calls()[call] - before
}

// readBack returns the first n words of a buffer.
func readBack(t *testing.T, u *Uploader, b cuda.Buffer[uint32], n int) []uint32 {
	t.Helper()
	got := make([]uint32, n)
	if err := errors.Join(cuda.CopyToHost(u.stream, got, b.Slice(0, n)), u.stream.Synchronize()); err != nil {
		t.Fatal(err)
	}
	return got
}

// Host memory is divided by the number of devices; memory is aligned.
func TestSlabSizes(t *testing.T) {
	d := openPart(t, new(cuda.Faults))
	if n := d.host.limit.Load(); n != 1<<19 {
		t.Errorf("%d bytes of host memory for one of two devices", n)
	}
	d.Probe().SetLimit(10<<10 + 100)
	d.host.limit.Store(12<<10 + 100)
	if slab, n, ok := d.grow(256, false); !ok || n != 10<<10 || d.slabs.buffers[slab].SizeBytes() != n {
		t.Errorf("%d bytes on the device, %t, %d bytes allocated", n, ok, d.slabs.buffers[slab].SizeBytes())
	}
	if slab, n, ok := d.host.grow(256, false); !ok || n != 12<<10 || d.host.slabs[slab].SizeBytes() != n {
		t.Errorf("%d bytes of host memory, %t, %d bytes allocated", n, ok, d.host.slabs[slab].SizeBytes())
	}
	// One device has the documents [2000, 4000) of 6000: not the whole segment.
	s := makeSegment(t, 6000)
	p := d.Shard(s, 2000, 4000)
	defer p.Release()
	if d.ReadsPacked(p, findLeg(t, s, "w0")) {
		t.Error("kernels read the compressed list of another device")
	}
	// Such a short list is decoded on the CPU, which reads the file.
	if there, err := d.uploaders[0].Warm(p, s, findLeg(t, s, "w3"), LockList); there || err != nil || d.host.stats().Lists != 0 {
		t.Errorf("Warm = %t, %v, %+v: want no list", there, err, d.host.stats())
	}
}

// A list is written to its own memory only.
func TestPackedListsAreSeparate(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{Memory: Memory{Bytes: 1 << 20}}, Uploaders: 1})
	payload, directory := bytes.Repeat([]byte{0xff}, 1001), []postings.BlockEntry{{Last: 5, FreqWidth: 3}}
	a := d.lockList(key(1).of(kindHost), term{}, payload, directory, always)
	b := d.lockList(key(2).of(kindHost), term{}, payload, directory, always)
	if distance := cuda.Ptr[uint32](b.extent.offset - a.extent.offset); distance == 0 || b.packed.payload-a.packed.payload != distance {
		t.Errorf("addresses %#x and %#x of %+v and %+v", a.packed.payload, b.packed.payload, a.extent, b.extent)
	}
	before := slices.Clone(b.packed.words)
	fillPacked(a.packed.words, d.host.bytes(a), payload, directory)
	if !slices.Equal(b.packed.words, before) {
		t.Error("filling a list changes the next one")
	}
	a.Unpin()
	b.Unpin()
}

// Whole slots and short chunks are copied at once; the rest of a slot is left to the next copy.
func TestCopiesInFewCalls(t *testing.T) {
	faults := new(cuda.Faults)
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	u := d.uploaders[0]
	dst, err := cuda.Alloc[uint32](d.dev, 2*slotWords)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		copy       func() error
		want, used int // copies, words of the last slot
	}{
		"words of two slots": {func() error { return u.copyWords(dst, make([]uint32, 2*slotWords)) }, 2, slotWords},
		"words":              {func() error { return u.copyWords(dst, make([]uint32, slotWords+10)) }, 2, 12},
		"bytes of a slot":    {func() error { return u.copyBytes(dst, make([]byte, 4*slotWords)) }, 1, slotWords},
		"bytes":              {func() error { return u.copyBytes(dst, make([]byte, 100)) }, 1, 28},
		"directory":          {func() error { return u.copyDirectory(dst, make([]postings.BlockEntry, 100)) }, 1, 100 * decode.EntryWords},
	} {
		u.turn, u.slots[0].used = 0, 0
		copies, records := 0, 0
		records = callsOf(faults, "cuEventRecord", func() {
			copies = callsOf(faults, "cuMemcpyHtoDAsync_v2", func() { err = c.copy() })
		})
		if err != nil || copies != c.want || records != c.want || u.slots[u.turn].used != c.used {
			t.Errorf("%s: %d copies, %d events, %d words of the slot used, error %v; want %d and %d", what, copies, records, u.slots[u.turn].used, err, c.want, c.used)
		}
		if err := u.Synchronize(); err != nil {
			t.Fatal(err)
		}
	}
	if err := dst.Free(); err != nil {
		t.Error(err)
	}
}

// A slot is not filled again if the device may still read it.
func TestSlotFaults(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	if err := errors.Join(grow(u, &u.docIDs, 2048), grow(u, &u.freqs, 2048)); err != nil {
		t.Fatal(err)
	}
	list := func() error {
		if err := u.source.open(p, findLeg(t, s, "w3")); err != nil {
			return err
		}
		return u.decodeOnHost(1500)
	}
	for what, c := range map[string]struct {
		free int // words of the current slot
		copy func() error
	}{
		"words":       {0, func() error { return u.copyWords(u.docIDs, make([]uint32, 10)) }},
		"bytes":       {0, func() error { return u.copyBytes(u.docIDs, make([]byte, 40)) }},
		"directory":   {0, func() error { return u.copyDirectory(u.docIDs, make([]postings.BlockEntry, 10)) }},
		"DocIDs":      {0, list},
		"frequencies": {1536, list},
	} {
		used := slotWords - c.free
		u.slots[u.turn].used = used
		faults.Fail("cuEventSynchronize", 1, cuda.InvalidValue)
		if err := c.copy(); !driverError(err) {
			t.Errorf("%s: error %v", what, err)
		}
		u.slots[u.turn].used = used
		if err := c.copy(); err != nil {
			t.Errorf("%s, again: %v", what, err)
		}
	}
}

// The postings take several slots; the last chunks share one.
func TestDecodeLongList(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u := d.uploaders[0]
	const n = slotWords + 1000
	impacts := make([]uint8, n)
	for i := range impacts {
		impacts[i] = uint8(1 + i%255)
	}
	decodeOnHost := func(claimed int) error {
		u.turn, u.slots[0].used = 0, 0
		u.source = source{byDoc: impacts, isDense: true}
		return u.decodeOnHost(claimed)
	}
	if err := errors.Join(grow(u, &u.docIDs, roundBlocks(n)), grow(u, &u.freqs, roundBlocks(n)), decodeOnHost(n)); err != nil {
		t.Fatal(err)
	}
	if u.slots[u.turn].used != 2*1024 || u.turn != 2 || u.bytes != 8*n {
		t.Errorf("slot %d has %d words, %d bytes sent", u.turn, u.slots[u.turn].used, u.bytes)
	}
	docIDs, freqs := readBack(t, u, u.docIDs, n), readBack(t, u, u.freqs, n)
	for i := range docIDs {
		if docIDs[i] != uint32(i) || freqs[i] != uint32(impacts[i]) {
			t.Fatalf("posting %d: document %d, impact %d", i, docIDs[i], freqs[i])
		}
	}
	if err := decodeOnHost(n - 1); !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(err.Error(), fmt.Sprintf("list of %d postings has %d:", n-1, n)) {
		t.Errorf("error %v", err)
	}
}

// A block that cannot be decoded ends the upload.
func TestDecodeDamagedList(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	p := d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	_, err := d.uploaders[0].Image(p, s, damagedLeg(t, s, "w1", firstOfBlock1), new(Counts))
	if !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(err.Error(), "block 1:") {
		t.Errorf("error %v", err)
	}
}

func TestRoundBlocks(t *testing.T) {
	for n, want := range map[int]int{0: 0, 1: 128, 127: 128, 128: 128, 129: 256, 1000: 1024} {
		if got := roundBlocks(n); got != want {
			t.Errorf("roundBlocks(%d) = %d, want %d", n, got, want)
		}
	}
}

// The device decodes long lists of the codecs that it has kernels for, except pfordelta-rec.
func TestDecodes(t *testing.T) {
	for _, c := range []struct {
		codec   string
		docFreq uint32
		want    bool
	}{{"simdbp", 2048, true}, {"simdbp", 2047, false}, {"pfordelta", 2048, true}, {"pfordelta-rec", 2048, false}, {"ef:plain=1", 2048, false}} {
		known, err := codec.Lookup(c.codec)
		if err != nil {
			t.Fatal(err)
		}
		leg := new(Leg)
		leg.List = &postings.List{Codec: known, Meta: postings.Meta{DocFreq: c.docFreq}}
		if _, ok := decodes(leg); ok != c.want {
			t.Errorf("%s with %d postings: %t", c.codec, c.docFreq, ok)
		}
	}
	if _, ok := decodes(new(Leg)); ok {
		t.Error("the device decodes an impact-ordered list")
	}
}

// The payload ends with a value: all blocks are full.
func TestImageOfFullBlocks(t *testing.T) {
	const numDocs = 32 * codec.BlockLen
	ix := indextest.Write(t, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		for i := range numDocs {
			w.AddText(i, strings.Repeat("x ", 1+i*7919%31%4))
		}
	})
	v := &indextest.Snapshot(t, ix).Segments[0]
	s := &Segment{Key: v.Name, NumDocs: numDocs, Segment: v.Segment}
	d := openOneOfTwo(t, false)
	p, leg := d.Shard(s, 0, numDocs), findLeg(t, s, "x")
	defer p.Release()
	e, _, err := d.uploaders[0].uploadImage(p, s, leg, always)
	if err != nil {
		t.Fatal(err)
	}
	docIDs, freqs := wholeList(t, leg)
	checkImage(t, d, e, imageShape(p, leg, numDocs), docIDs, freqs, s.Segment.Lengths(0))
	e.Unpin()
}

// Kernels read the payload up to a multiple of 16 bytes, so the rest is 0.
func TestPaddingOfPackedList(t *testing.T) {
	s, d := makeSegment(t, 6000), openOneOfTwo(t, false)
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	payload, directory := leg.List.Raw()
	for payload = bytes.Clone(payload); len(payload)%16 != 5; {
		payload = append(payload, 7)
	}
	file, err := binary.Append(bytes.Clone(payload), binary.LittleEndian, directory)
	if err != nil {
		t.Fatal(err)
	}
	m := leg.List.Meta
	m.Offset, m.Length = 0, uint64(len(file))
	if err := errors.Join(leg.List.Open(m, leg.List.Codec, file, nil, nil), cuda.Fill(u.stream, d.slabs.buffers[0], 0xff)); err != nil {
		t.Fatal(err)
	}
	e, err := u.uploadPacked(p, leg, always)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Unpin()
	shape := shapeOf(len(payload), len(directory))
	got, err := binary.Append(nil, binary.LittleEndian, readBack(t, u, d.memory(e.extent), shape.words))
	if err != nil {
		t.Fatal(err)
	}
	padding := make([]byte, 4*shape.payload-len(payload))
	if want := slices.Concat(payload, padding, file[len(payload):]); len(padding) == 0 || !bytes.Equal(got, want) {
		t.Errorf("%d bytes of padding, the contents are right: %t", len(padding), bytes.Equal(got, want))
	}
}

// A failed allocation of any buffer is an error, and the next request succeeds.
func TestBufferFaults(t *testing.T) {
	s := makeSegment(t, 6000)
	for nth, what := range []string{"lists", "lengths", "DocIDs", "frequencies", "payload", "nothing"} {
		faults := new(cuda.Faults)
		d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1, Faults: faults})
		u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
		faults.Fail("cuMemAlloc_v2", 1+nth, cuda.OutOfMemory)
		e, err := u.Image(p, s, leg, new(Counts))
		if needed := what != "lists" && what != "nothing"; errors.Is(err, cuda.ErrOutOfMemory) != needed {
			t.Errorf("memory for %s: error %v", what, err)
		}
		if err == nil && e.streamed != (what == "lists") { // the reserve has memory
			t.Errorf("memory for %s: in the reserve %t", what, e.streamed)
		}
		if err != nil {
			if e, err = u.Image(p, s, leg, new(Counts)); err != nil {
				t.Fatalf("memory for %s, again: %v", what, err)
			}
		}
		e.Unpin()
		p.Release()
	}
}

// A kernel that cannot be started is an error; also rebase, for a part of a segment.
func TestLaunchFaults(t *testing.T) {
	s, faults := makeSegment(t, 6000), new(cuda.Faults)
	d := openPart(t, faults)
	u, p := d.uploaders[0], d.Shard(s, 1000, 6000)
	defer p.Release()
	image := func() error {
		e, err := u.Image(p, s, findLeg(t, s, "w1"), new(Counts))
		if err != nil {
			return err
		}
		e.Unpin()
		d.cache.drop(p.id)
		return nil
	}
	launches := callsOf(faults, "cuLaunchKernel", func() {
		if err := image(); err != nil {
			t.Fatal(err)
		}
	})
	if launches < 4 { // DocIDs, frequencies, rebase, image
		t.Errorf("%d launches", launches)
	}
	for nth := 1; nth <= launches; nth++ {
		faults.Fail("cuLaunchKernel", nth, cuda.InvalidValue)
		if err := image(); !driverError(err) {
			t.Errorf("launch %d fails: error %v", nth, err)
		}
	}
	if err := image(); err != nil {
		t.Error(err)
	}
}

// A list that is uploaded again is kept in page-locked memory, from where it is copied.
func TestRepeatedImage(t *testing.T) {
	s, d := makeSegment(t, 6000), openPart(t, new(cuda.Faults))
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	docIDs, freqs := wholeList(t, leg)
	payload, directory := leg.List.Raw()
	locked := 4 * int64(shapeOf(len(payload), len(directory)).words)
	d.Probe().Fill(spaceAlign)()
	for n, want := range []int64{0, 1, 1} {
		// The padding of images must be 0 for comparisons.
		if err := errors.Join(cuda.Fill(u.stream, d.slabs.buffers[0], 0), u.Synchronize()); err != nil {
			t.Fatal(err)
		}
		e, err := u.Image(p, s, leg, new(Counts))
		if err != nil {
			t.Fatal(err)
		}
		checkImage(t, d, e, imageShape(p, leg, len(docIDs)), docIDs, freqs, s.Segment.Lengths(0))
		e.Unpin()
		if h := d.host.stats(); h.Filled != want || h.FilledBytes != want*locked || d.Probe().Users() != 0 {
			t.Errorf("after upload %d: %+v, %d pins; want %d page-locked lists of %d bytes", n, h, d.Probe().Users(), want, locked)
		}
		d.cache.drop(p.id)
	}
}

// An upload that fails waits for the stream, and reports that error, too. Without room there is
// nothing to wait for.
func TestAbandon(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1, Faults: faults})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	if err := u.AbandonAll(); err != nil || u.Busy() {
		t.Errorf("no upload: error %v, busy %t", err, u.Busy())
	}
	faults.Fail("cuMemcpyHtoDAsync_v2", 1, cuda.InvalidValue)
	faults.Fail("cuStreamSynchronize", 1, cuda.OutOfMemory)
	_, err := u.Packed(p, leg, new(Counts))
	if err == nil || !strings.Contains(err.Error(), "cuMemcpyHtoDAsync_v2") || !strings.Contains(err.Error(), "cuStreamSynchronize") || u.Busy() {
		t.Errorf("error %v, busy %t", err, u.Busy())
	}
	free := d.Probe().Fill(d.Limit())
	d.limit[1].Store(0) // no reserve
	if n := callsOf(faults, "cuStreamSynchronize", func() { _, err = u.Packed(p, leg, new(Counts)) }); n != 0 || !errors.Is(err, ErrNoRoom) {
		t.Errorf("%d waits, error %v", n, err)
	}
	free()
}

// A list that another run uploads meanwhile is a hit.
func TestImageUploadedMeanwhile(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w0")
	defer p.Release()
	l, err := u.Packed(p, leg, new(Counts)) // the leg has a record, which shows how far Image is
	if err != nil {
		t.Fatal(err)
	}
	l.Unpin()
	if d.HasImage(p, leg) || leg.record.Load() == nil {
		t.Fatal("the leg has no record, or an image")
	}
	d.Probe().Forget(leg)
	if leg.record.Load() != nil {
		t.Fatal("the leg has a record")
	}
	k := leg.key(p.id)
	if d.cache.claim(k) != nil {
		t.Fatal("the list is resident")
	}
	e := d.cache.acquire(k, term{}, spaceAlign, 1, 1, ifFree)
	var c Counts
	found := make(chan *Entry)
	go func() {
		got, _ := u.Image(p, s, leg, &c)
		found <- got
	}()
	for leg.record.Load() == nil {
		runtime.Gosched()
	}
	for range 1000 { // until Image waits for the claim
		runtime.Gosched()
	}
	d.cache.publish(e)
	d.cache.unclaim(k)
	got := <-found
	if c.Uploading = 0; got != e || c != (Counts{Hit: 1, Asked: FormStats{Image: 1}}) {
		t.Errorf("%p, want %p; %+v", got, e, c)
	}
	e.Unpin()
	// No time is counted for a resident list.
	c = Counts{}
	if got, err := u.Image(p, s, leg, &c); got != e || err != nil || c != (Counts{Hit: 1, Asked: FormStats{Image: 1}}) {
		t.Errorf("%p, want %p; %+v, error %v", got, e, c, err)
	}
	e.Unpin()
	e.Unpin()
}

// Each list counts its own bytes. Lengths are uploaded once.
func TestBytesOfEachList(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1})
	u, p := d.uploaders[0], d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	for _, word := range []string{"w1", "w2"} {
		leg, before := findLeg(t, s, word), d.uploaded.Load()
		var c Counts
		l, err := u.Packed(p, leg, &c)
		if err != nil {
			t.Fatal(err)
		}
		l.Unpin()
		if n := d.uploaded.Load() - before; n == 0 || c.ListBytes != n {
			t.Errorf("%s: %d bytes counted, %d sent", word, c.ListBytes, n)
		}
	}
	before := d.uploaded.Load()
	first, err := u.uploadLengths(p, s, 0)
	if err != nil {
		t.Fatal(err)
	}
	again, err := u.uploadLengths(p, s, 0) // another uploader has uploaded them meanwhile
	if n := d.uploaded.Load() - before; again.Ptr() != first.Ptr() || err != nil || n != 4*3000 {
		t.Errorf("lengths at %#x and %#x, %d bytes sent, error %v", first.Ptr(), again.Ptr(), n, err)
	}
}

// A key of the same list differs for other shards, and for impact-ordered lists.
func TestLegKeys(t *testing.T) {
	_, lists := impactLists(t, 200)
	s := makeSegment(t, 200)
	ordered, compressed := new(Leg), findLeg(t, s, "w0")
	ordered.Impacts = lists["w0"]
	if got, want := ordered.Key(3), (listKey{shard: 3, impacts: true, list: ordered.ID()}); got != want {
		t.Errorf("impact-ordered: %+v, want %+v", got, want)
	}
	if got, want := compressed.Key(3), (listKey{shard: 3, list: compressed.ID()}); got != want {
		t.Errorf("compressed: %+v, want %+v", got, want)
	}
}
