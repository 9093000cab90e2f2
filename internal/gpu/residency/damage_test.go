package residency

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/impact"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
)

// damagedLeg returns a copy of the list of a word with a changed directory.
func damagedLeg(t *testing.T, s *Segment, word string, damage func(directory []postings.BlockEntry)) *Leg {
	t.Helper()
	whole := findLeg(t, s, word)
	payload, directory := whole.List.Raw()
	changed := append([]postings.BlockEntry{}, directory...)
	damage(changed)
	file, err := binary.Append(bytes.Clone(payload), binary.LittleEndian, changed)
	if err != nil {
		t.Fatal(err)
	}
	m := whole.List.Meta
	m.Offset, m.Length = 0, uint64(len(file))
	leg := new(Leg)
	leg.List = new(postings.List)
	if err := leg.List.Open(m, whole.List.Codec, file, nil, nil); err != nil {
		t.Fatal(err)
	}
	return leg
}

// Block 1 cannot be decoded, because its first DocID is another one.
func firstOfBlock1(directory []postings.BlockEntry) { directory[1].First-- }

// A damaged block is an error when it is decoded, not before.
func TestSourceOfDamagedList(t *testing.T) {
	s := makeSegment(t, 1400)
	docIDs, freqs := make([]uint32, 8*codec.BlockLen), make([]uint32, 8*codec.BlockLen)
	whole := &Shard{to: 1400, whole: true}
	for what, damage := range map[string]func(directory []postings.BlockEntry){
		"DocIDs":      firstOfBlock1,
		"frequencies": func(directory []postings.BlockEntry) { directory[1].FreqWidth = 99 },
		"block 0":     func(directory []postings.BlockEntry) { directory[0].First++ },
	} {
		var src source
		if err := src.open(whole, damagedLeg(t, s, "w1", damage)); err != nil {
			t.Errorf("%s: open decodes a list of a whole segment: %v", what, err)
		}
		if n, err := src.next(docIDs, freqs); n != 0 || !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: %d postings, error %v", what, n, err)
		}
	}
	// The ends of the shard are in block 1, which has the documents 256 to 510.
	leg := damagedLeg(t, s, "w1", firstOfBlock1)
	for _, p := range []*Shard{{from: 300, to: 1400}, {from: 0, to: 300}} {
		if err := new(source).open(p, leg); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("documents [%d, %d): error %v", p.from, p.to, err)
		}
	}
}

// No request accepts a damaged directory, on which kernels rely. The error leaves nothing behind.
func TestUploadsOfDamagedLists(t *testing.T) {
	s := makeSegment(t, 6000)
	falling := func(directory []postings.BlockEntry) { directory[2].First = 0 }
	for what, c := range map[string]struct {
		from, to int
		damage   func(directory []postings.BlockEntry)
		load     func(u *Uploader, p *Shard, leg *Leg) error
	}{
		"image": {0, 6000, falling, func(u *Uploader, p *Shard, leg *Leg) error {
			_, err := u.Image(p, s, leg, new(Counts))
			return err
		}},
		"compressed": {0, 6000, falling, func(u *Uploader, p *Shard, leg *Leg) error {
			_, err := u.Packed(p, leg, new(Counts))
			return err
		}},
		"warm": {0, 6000, falling, func(u *Uploader, p *Shard, leg *Leg) error {
			_, err := u.Warm(p, s, leg, LockList)
			return err
		}},
		"image of a part": {300, 6000, firstOfBlock1, func(u *Uploader, p *Shard, leg *Leg) error {
			_, err := u.Image(p, s, leg, new(Counts))
			return err
		}},
	} {
		d := openPart(t, new(cuda.Faults))
		p := d.Shard(s, c.from, c.to)
		if err := c.load(d.uploaders[0], p, damagedLeg(t, s, "w1", c.damage)); !errors.Is(err, base.ErrCorrupt) {
			t.Errorf("%s: error %v", what, err)
		}
		if h, m := d.host.stats(), d.cache.snapshot(); h.Lists+h.SizeBytes+m.Lists+m.SizeBytes != 0 || len(d.cache.claims) != 0 || d.uploaders[0].Busy() {
			t.Errorf("%s: %+v, %+v, %d claims", what, h, m, len(d.cache.claims))
		}
		p.Release()
	}
}

// A directory with fewer blocks than the list is refused before a kernel reads it.
func TestImageOfShortDirectory(t *testing.T) {
	faults := new(cuda.Faults)
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1, Faults: faults})
	p, leg := d.Shard(s, 0, s.NumDocs), findLeg(t, s, "w1")
	defer p.Release()
	leg.List.DocFreq += codec.BlockLen
	var err error
	launches := callsOf(faults, "cuLaunchKernel", func() { _, err = d.uploaders[0].Image(p, s, leg, new(Counts)) })
	if !errors.Is(err, decode.ErrShape) || launches != 0 {
		t.Errorf("error %v, %d launches", err, launches)
	}
}

// damagedImpacts returns a list with the documents 70000 and 70005, of different impacts, after
// the number of the second was replaced in the file.
func damagedImpacts(t *testing.T, second uint32) *Leg {
	t.Helper()
	name := filepath.Join(t.TempDir(), "impacts")
	w, err := impact.Create(vfs.OS, name, impact.Options{NumDocs: 80_000, Ranking: impact.Ranking{Name: impact.RankingExternal}})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(w.Add([]byte("word"), []impact.Posting{{DocID: 70000, Impact: 9}, {DocID: 70005, Impact: 3}}), w.Close()); err != nil {
		t.Fatal(err)
	}
	x, err := impact.Open(vfs.OS, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = x.Close() })
	leg := new(Leg)
	leg.Impacts = new(impact.List)
	if ok, err := x.Find([]byte("word"), leg.Impacts); err != nil || !ok {
		t.Fatal(ok, err)
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := bytes.Index(content, binary.LittleEndian.AppendUint32(nil, 70005))
	_, err = file.WriteAt(binary.LittleEndian.AppendUint32(nil, second), int64(at))
	if err := errors.Join(err, file.Close()); err != nil {
		t.Fatal(err)
	}
	return leg
}

func TestSourceOfDamagedImpacts(t *testing.T) {
	dense, sparse := &Shard{from: 70_000, to: 70_064}, &Shard{from: 10_000, to: 80_000}
	for what, c := range map[string]struct {
		second uint32
		damage func(l *impact.List)
		sound  bool
	}{
		"sound":            {70_005, func(*impact.List) {}, true},
		"a document twice": {70_000, func(*impact.List) {}, false},
		"unknown document": {80_000, func(*impact.List) {}, false},
		"wrong length":     {70_005, func(l *impact.List) { l.DocFreq++ }, false},
	} {
		leg := damagedImpacts(t, c.second)
		c.damage(leg.Impacts)
		for _, p := range []*Shard{dense, sparse} {
			var src source
			if err := src.open(p, leg); c.sound && (err != nil || src.count != 2 || src.isDense != (p == dense)) || !c.sound && !errors.Is(err, base.ErrCorrupt) {
				t.Errorf("%s: %d postings, dense %t, error %v", what, src.count, src.isDense, err)
			}
			if c.sound {
				docIDs, impacts := readSource(t, &src, 4)
				if first := 70_000 - p.from; !slices.Equal(docIDs, []uint32{first, first + 5}) || !slices.Equal(impacts, []uint32{9, 3}) {
					t.Errorf("documents %d, impacts %d", docIDs, impacts)
				}
			}
		}
	}
}

// A panic while a list is copied to page-locked memory leaves nothing behind.
func TestLockListFault(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{Memory: Memory{Bytes: 1 << 20}}, Uploaders: 1})
	src, _ := mapTruncated(t, 4*os.Getpagesize(), 0)
	k := key(1).of(kindHost)
	lock := func() (err error) {
		defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
		d.lockList(k, term{}, src, nil, always)
		return nil
	}
	if err := lock(); !errors.Is(err, base.ErrCorrupt) {
		t.Errorf("error %v", err)
	}
	if h := d.host.stats(); h.Lists+h.SizeBytes+h.Filled != 0 || len(d.host.cache.claims) != 0 {
		t.Errorf("%+v, %d claims: want nothing", h, len(d.host.cache.claims))
	}
	e := d.lockList(k, term{}, make([]byte, len(src)), nil, always)
	if e == nil {
		t.Fatal("the list cannot be locked again")
	}
	e.Unpin()
}

// A chunk that cannot be read is not sent, nor are those before it, which other goroutines may
// still fill.
func TestCopyFaultSendsNothing(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	u := d.uploaders[0]
	const kept = (copiers - 1) * 4 * slotWords
	src, _ := mapTruncated(t, kept+4*slotWords+100, kept)
	dst, err := cuda.Alloc[uint32](d.dev, len(src)/4)
	if err != nil {
		t.Fatal(err)
	}
	copyAll := func() (err error) {
		defer vfs.RecoverFault(vfs.PanicOnFault(), &err)
		return u.copyBytes(dst, src)
	}
	if err := copyAll(); !errors.Is(err, base.ErrCorrupt) || u.bytes != 0 {
		t.Errorf("error %v, %d bytes sent", err, u.bytes)
	}
	if err := errors.Join(u.stream.Synchronize(), dst.Free()); err != nil {
		t.Error(err)
	}
}

// A panic frees the memory of Upload.
func TestUploadPanics(t *testing.T) {
	d := openDeviceOnly(t, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	objects, size := d.dev.Live()
	func() {
		defer func() {
			if recover() == nil {
				t.Error("an uploader without slots uploads")
			}
		}()
		_, _ = d.promoter.u.Upload([]uint32{1, 2, 3})
	}()
	if n, bytes := d.dev.Live(); n != objects || bytes != size {
		t.Errorf("%d objects and %d bytes of memory, want %d and %d", n, bytes, objects, size)
	}
}
