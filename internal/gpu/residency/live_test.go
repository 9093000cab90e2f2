package residency

import (
	"math/bits"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// A shard has one bitmap for each deletions that views have, of its documents, and uses the memory of
// former ones again.
func TestLiveDocs(t *testing.T) {
	s := makeSegment(t, 6000)
	d := openOneOfTwo(t, false)
	used := d.Stats().UsedBytes
	p := d.Shard(s, 1024, 5001)
	bitmap := func(deleted int) []uint64 {
		live := make([]uint64, (s.NumDocs+63)/64)
		for i := range live {
			live[i] = ^uint64(0)
		}
		live[deleted/64] &^= 1 << (deleted % 64)
		return live
	}
	check := func(b *LiveDocs, deleted int) {
		t.Helper()
		got := make([]uint32, b.Words().Len())
		u := d.preparer.u
		if err := cuda.CopyToHost(u.stream, got, b.Words()); err != nil {
			t.Fatal(err)
		}
		if err := u.Synchronize(); err != nil {
			t.Fatal(err)
		}
		live := 0
		for _, w := range got {
			live += bits.OnesCount32(w)
		}
		at := deleted - 1024
		if len(got) != (5001-1024+31)/32 || live != 32*len(got)-1 || got[at/32]&(1<<(at%32)) != 0 {
			t.Errorf("%d words with %d documents; document %d is live: %v", len(got), live, deleted, got[at/32]&(1<<(at%32)) != 0)
		}
	}
	bitmapOf := func(live []uint64) *LiveDocs {
		t.Helper()
		b, err := p.LiveDocs(live)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	first, second := bitmap(1030), bitmap(5000)
	a := bitmapOf(first)
	check(a, 1030)
	sent := d.uploaded.Load()
	if again := bitmapOf(first); again != a || d.uploaded.Load() != sent {
		t.Errorf("another bitmap of the same deletions; %d bytes sent", d.uploaded.Load()-sent)
	}
	b := bitmapOf(second)
	check(b, 5000)
	check(a, 1030)
	a.Release()
	check(a, 1030) // another reference is left
	a.Release()
	memory := a.Words()
	if c := bitmapOf(bitmap(4000)); c.Words() != memory {
		t.Error("the memory of the former bitmap is not used again")
	} else {
		check(c, 4000)
		c.Release()
	}
	check(b, 5000)
	b.Release()
	var many []*LiveDocs
	for i := range 5 {
		many = append(many, bitmapOf(bitmap(1024+i)))
	}
	for _, m := range many {
		m.Release()
	}
	if n := len(p.live.spare); n != maxSpareBitmaps || len(p.live.bitmaps) != 0 {
		t.Errorf("%d spare bitmaps, %d in use", n, len(p.live.bitmaps))
	}
	none, err := p.LiveDocs(nil)
	if none.Release(); none != nil || err != nil || none.Words().Len() != 0 {
		t.Errorf("without deletions: %v, %v", none, err)
	}
	p.Release()
	if left := d.Stats().UsedBytes; left != used {
		t.Errorf("%d bytes used, %d before", left, used)
	}
}

// BenchmarkLiveDocs uploads the deletions of 25 million documents.
func BenchmarkLiveDocs(b *testing.B) {
	lib, err := cuda.Load(gputest.Library(b).Path())
	if err != nil {
		b.Fatal(err)
	}
	d, err := OpenDevice(lib, 0, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, HostMemory: HostMemory{None: true}, Uploaders: 1}, 1)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := d.Close(); err != nil {
			b.Error(err)
		}
	}()
	live := make([]uint64, 25_000_000/64)
	words, err := cuda.Alloc[uint32](d.dev, 2*len(live))
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(8 * len(live)))
	for b.Loop() {
		if err := d.preparer.uploadBits(words, live, 2*len(live)); err != nil {
			b.Fatal(err)
		}
	}
	if err := words.Free(); err != nil {
		b.Fatal(err)
	}
}
