package residency

import (
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// Without room nothing is uploaded, and the caller can tell. A resident list is found again.
func TestUploadsWithoutRoom(t *testing.T) {
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w0")
	defer p.Release()
	payload, directory := leg.List.Raw()
	host := d.lockList(leg.key(p.id).of(kindHost), term{}, payload, directory, always)
	defer host.Unpin()
	if n := d.host.filledBytes.Load(); n != shapeOf(len(payload), len(directory)).sizeBytes() || !host.loaded.Load() {
		t.Errorf("%d bytes filled, loaded %t", n, host.loaded.Load())
	}
	free := d.Probe().Fill(d.Limit())
	if d.Probe().Fill(d.Limit()) != nil {
		t.Error("Fill finds room twice")
	}
	if e, _, err := u.uploadImage(p, s, leg, ifFree); e != nil || !errors.Is(err, ErrNoRoom) {
		t.Errorf("image: %v, %v", e, err)
	}
	if e, err := u.uploadPacked(p, leg, ifFree); e != nil || !errors.Is(err, ErrNoRoom) {
		t.Errorf("compressed list: %v, %v", e, err)
	}
	if e, err := u.promote(host, leg.DocFreq(), kindPacked, 1, ifFree); e != nil || err != nil {
		t.Errorf("promoted: %v, %v", e, err)
	}
	free()
	image, uploaded, err := u.uploadImage(p, s, leg, always)
	if err != nil || !uploaded {
		t.Fatal(uploaded, err)
	}
	if again, uploaded, err := u.uploadImage(p, s, leg, always); again != image || uploaded || err != nil {
		t.Errorf("image again: %v, %t, %v", again, uploaded, err)
	}
	list, err := u.uploadPacked(p, leg, always)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := u.uploadPacked(p, leg, always); again != list || err != nil {
		t.Errorf("compressed list again: %v, %v", again, err)
	}
	if n := d.Probe().Users(); n != 5 {
		t.Errorf("%d pins, want 2 of the image, 2 of the list, 1 of the page-locked list", n)
	}
	for range 2 {
		image.Unpin()
		list.Unpin()
	}
}

// A list of exactly the limit is promoted.
func TestPromoteLimit(t *testing.T) {
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	d.Probe().Fill(spaceAlign)() // memory for lists
	payload, directory := leg.List.Raw()
	host := d.lockList(leg.key(p.id).of(kindHost), term{}, payload, directory, always)
	defer host.Unpin()
	size := 4 * int64(len(host.packed.words))
	d.Probe().SetLimit(size - 1)
	if e, err := u.promote(host, leg.DocFreq(), kindPacked, 1, always); e != nil || err != nil {
		t.Errorf("beyond the limit: %v, %v", e, err)
	}
	d.Probe().SetLimit(size)
	before := u.bytes
	e, err := u.promote(host, leg.DocFreq(), kindPacked, 1, always)
	if e == nil || err != nil {
		t.Fatal(e, err)
	}
	if u.bytes-before != size || e.packed.payload != d.memory(e.extent).Ptr() || e.packed.directory <= e.packed.payload {
		t.Errorf("%d bytes sent, want %d: %+v", u.bytes-before, size, e.packed)
	}
	e.Unpin()
}

// A buffer grows by a quarter more than necessary, and only if it must.
func TestGrowBuffers(t *testing.T) {
	faults := new(cuda.Faults)
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	u := d.uploaders[0]
	for _, c := range []struct{ n, want int }{{1000, 1250}, {1250, 1250}, {1251, 1563}, {10, 1563}} {
		before := u.docIDs.Ptr()
		if err := grow(u, &u.docIDs, c.n); err != nil || u.docIDs.Len() != c.want {
			t.Errorf("grown to %d words: %d, %v; want %d", c.n, u.docIDs.Len(), err, c.want)
		}
		if c.n == 1250 && u.docIDs.Ptr() != before {
			t.Error("a large enough buffer is replaced")
		}
	}
	faults.Fail("cuMemAlloc_v2", 1, cuda.OutOfMemory)
	if err := grow(u, &u.docIDs, 5000); !driverError(err) || u.docIDs.Len() != 0 {
		t.Errorf("no memory: error %v, %d words", err, u.docIDs.Len())
	}
	if err := grow(u, &u.docIDs, 1000); err != nil {
		t.Fatal(err)
	}
	// The old buffer is freed all the same, so it must not stay in use.
	faults.Fail("cuStreamSynchronize", 1, cuda.InvalidValue)
	if err := grow(u, &u.docIDs, 5000); !driverError(err) || u.docIDs.Len() != 0 {
		t.Errorf("the stream fails: error %v, %d words", err, u.docIDs.Len())
	}
}

// A driver error is counted; other errors are not. The limits shrink to the memory held.
func TestErrorsCounted(t *testing.T) {
	faults := new(cuda.Faults)
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	other := errors.New("other")
	if err := d.Note(other); err != other || d.Stats().Errors != 0 || d.Note(nil) != nil { //nolint:errorlint // the same
		t.Errorf("%v: %d errors", err, d.Stats().Errors)
	}
	limit := d.Limit()
	faults.Fail("cuMemAlloc_v2", 1, cuda.OutOfMemory)
	if _, _, ok := d.grow(256, false); ok || d.Limit() != limit || d.Stats().Errors != 1 || d.Lost() != nil {
		t.Errorf("no memory yet: %t, limit %d, %+v", ok, d.Limit(), d.Stats())
	}
	if _, _, ok := d.grow(256, false); !ok {
		t.Error("no second try")
	}
	d.Probe().SetLimit(2 << 20)
	faults.Fail("cuMemAlloc_v2", 1, cuda.OutOfMemory)
	if _, _, ok := d.grow(256, false); ok || d.Limit() != d.slabs.bytes[0] || d.Stats().Errors != 2 {
		t.Errorf("no more memory: %t, limit %d of %d", ok, d.Limit(), d.slabs.bytes[0])
	}
	faults.Fail("cuMemHostAlloc", 1, cuda.OutOfMemory)
	if _, _, ok := d.host.grow(256, false); ok || d.host.limit.Load() != 0 || d.Stats().Errors != 3 {
		t.Errorf("no host memory: %t, limit %d, %d errors", ok, d.host.limit.Load(), d.Stats().Errors)
	}
	if used := d.Stats().UsedBytes; used < d.slabs.bytes[0] {
		t.Errorf("%d bytes used, with %d for lists", used, d.slabs.bytes[0])
	} else if _, total, err := d.dev.MemInfo(); err != nil || used > int64(total) {
		t.Errorf("%d bytes used of %d: %v", used, total, err)
	}
}

// A list with fewer postings than announced is corrupt, and the error has the actual number.
func TestMissingPostings(t *testing.T) {
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u, p, leg := d.uploaders[0], d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w3")
	defer p.Release()
	if err := errors.Join(grow(u, &u.docIDs, 2000), grow(u, &u.freqs, 2000), u.source.open(p, leg)); err != nil {
		t.Fatal(err)
	}
	if err := u.decodeOnHost(1600); !errors.Is(err, base.ErrCorrupt) || !strings.HasPrefix(err.Error(), "list of 1600 postings has 1500:") {
		t.Errorf("too few: error %v", err)
	}
	if err := u.source.open(p, leg); err != nil {
		t.Fatal(err)
	}
	if err := u.decodeOnHost(1400); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("too many: error %v", err)
	}
}

// The tests' access tells lists that are not resident from others.
func TestProbeOfAbsentLists(t *testing.T) {
	d, s := openDevice(t, 3000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	p, leg := d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w0")
	defer p.Release()
	if users, ok := d.Probe().Locked(p, leg); ok || users != 0 {
		t.Errorf("page-locked: %d users", users)
	}
	if loaded, ok := d.Probe().Loaded(p, leg); ok || loaded {
		t.Errorf("loaded %t, resident %t", loaded, ok)
	}
	e, _, err := d.uploaders[0].uploadImage(p, s, leg, always)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Unpin()
	d.settle(e)
	if loaded, ok := d.Probe().Loaded(p, leg); !ok || !loaded {
		t.Errorf("loaded %t, resident %t after the upload has ended", loaded, ok)
	}
	d.BeginRun()
	if n, waited := d.Probe().Holders(); n != 1 || waited {
		t.Errorf("%d runs, waited for %t", n, waited)
	}
	d.EndRun()
	if n, _ := d.Probe().Holders(); n != 0 {
		t.Errorf("%d runs after the end", n)
	}
}
