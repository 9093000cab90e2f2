package residency

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
)

func randomFilter(rng *rand.Rand, numDocs int) *Filter {
	f := &Filter{ID: rng.Uint64(), Words: make([]uint64, (numDocs+63)/64)}
	for d := range numDocs {
		if rng.IntN(3) == 0 {
			f.Words[d/64] |= 1 << (d % 64)
			f.NumDocs++
		}
	}
	return f
}

// A bitmap that is used once is dropped by its last Unpin, from the memory for lists or the reserve.
func TestFilterOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(84, 1))
	s := makeSegment(t, 6000)
	d := openOneOfTwo(t, false)
	p := d.Shard(s, 0, s.NumDocs)
	var counts Counts
	for _, streamed := range []bool{false, true} {
		before, one := d.cache.snapshot(), randomFilter(rng, s.NumDocs)
		one.Once = true
		var pins [2]*Entry
		for i := range pins {
			var err error
			if pins[i], err = d.uploaders[0].Filter(p, one, &counts); err != nil {
				t.Fatal(err)
			}
		}
		e := pins[0]
		if streamed { // as if main had been full
			d.cache.heap.remove(e.at)
			d.cache.main.give(e.extent)
			d.cache.stretches.remove(e)
			e.streamed, e.extent = true, reserved(t, d.cache, e.extent.size)
			d.cache.streamed = append(d.cache.streamed, e)
		}
		d.Unpin(e)
		if s := d.cache.snapshot(); pins[1] != e || s.Filters != before.Filters+1 {
			t.Errorf("%+v: want a pinned bitmap", s)
		}
		d.Unpin(e)
		if s := d.cache.snapshot(); s.Filters != before.Filters || s.SizeBytes != before.SizeBytes || len(d.cache.streamed) > 0 || d.cache.reserve.used > 0 {
			t.Errorf("streamed %v: %+v after the last use, %+v before", streamed, s, before)
		}
		d.cache.dropEntry(e) // no effect
	}
}

// reserved takes memory of the reserve.
func reserved(t *testing.T, c *cache, size int64) extent {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	e, ok := c.take(&c.reserve, size, true)
	if !ok {
		t.Fatal("no room in the reserve")
	}
	return e
}

// A shard has the bits of its documents, once for each ID, and they are in the memory for lists.
func TestFilterUpload(t *testing.T) {
	rng := rand.New(rand.NewPCG(82, 1))
	s := makeSegment(t, 6000)
	d := openOneOfTwo(t, false) // with a list
	const from, to = 1024, 5001
	p := d.Shard(s, from, to)
	u := d.uploaders[0]
	var counts Counts
	f := randomFilter(rng, s.NumDocs)
	e, err := u.Filter(p, f, &counts)
	if err != nil {
		t.Fatal(err)
	}
	words := imagesearch.FilterWords(to - from)
	got := make([]uint32, words)
	if err := cuda.CopyToHost(u.stream, got, e.Bits()); err != nil {
		t.Fatal(err)
	}
	if err := u.Synchronize(); err != nil {
		t.Fatal(err)
	}
	ones := 0
	for doc := range to - from {
		want := f.Words[(from+doc)/64] >> ((from + doc) % 64) & 1
		if uint64(got[doc/32]>>(doc%32)&1) != want {
			t.Fatalf("document %d: not %d", doc, want)
		}
		ones += int(want)
	}
	if e.NumDocs() != ones {
		t.Errorf("%d documents, want %d", e.NumDocs(), ones)
	}
	if counts.ListBytes != int64(4*words) || counts.Hit != 0 {
		t.Errorf("%+v, want %d bytes", counts, 4*words)
	}
	again, err := u.Filter(p, &Filter{ID: f.ID, Words: f.Words, NumDocs: f.NumDocs}, &counts)
	if err != nil || again != e || counts.ListBytes != int64(4*words) {
		t.Errorf("another bitmap of the same ID: %v, %+v", err, counts)
	}
	other, err := u.Filter(p, randomFilter(rng, s.NumDocs), &counts)
	if err != nil || other == e {
		t.Errorf("the same bitmap of another ID: %v", err)
	}
	if c := d.Stats().Cache; c.Filters != 2 || c.Lists != 1 || c.SizeBytes != spaceAlign+2*roundUp(int64(4*words)) {
		t.Errorf("%+v: want 2 filters of %d words", c, words)
	}
	for _, e := range []*Entry{e, again, other} {
		e.Unpin()
	}
	p.Release()
	if c := d.Stats().Cache; c.Filters != 0 || c.SizeBytes != spaceAlign {
		t.Errorf("after the release of the shard: %+v", c)
	}
}

// Filters give way to others, but not while they are pinned.
func TestFilterEviction(t *testing.T) {
	rng := rand.New(rand.NewPCG(83, 1))
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	p := d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	u := d.uploaders[0]
	size := roundUp(int64(4 * imagesearch.FilterWords(s.NumDocs)))
	d.limit[0].Store(3 * size) // before it takes memory
	d.limit[1].Store(0)
	var counts Counts
	var pinned []*Entry
	for range 3 {
		e, err := u.Filter(p, randomFilter(rng, s.NumDocs), &counts)
		if err != nil {
			t.Fatal(err)
		}
		pinned = append(pinned, e)
	}
	if _, err := u.Filter(p, randomFilter(rng, s.NumDocs), &counts); !errors.Is(err, ErrNoRoom) {
		t.Errorf("beside three pinned ones: %v", err)
	}
	pinned[1].Unpin()
	e, err := u.Filter(p, randomFilter(rng, s.NumDocs), &counts)
	if err != nil || e.extent != pinned[1].extent || d.Stats().Cache.Evictions != 1 {
		t.Fatalf("%v, %+v", err, d.Stats().Cache)
	}
	d.limit[0].Store(int64(4*imagesearch.FilterWords(s.NumDocs)) - 1)
	if _, err := u.Filter(p, randomFilter(rng, s.NumDocs), &counts); !errors.Is(err, ErrTooLarge) {
		t.Errorf("larger than the limit: %v", err)
	}
	for _, e := range []*Entry{pinned[0], pinned[2], e} {
		e.Unpin()
	}
}

// Guesses that fail more often than every 32nd time are not made any more.
func TestGuesses(t *testing.T) {
	var g Guesses
	for range 80 {
		g.Add(true)
	}
	for i := range 7 {
		if !g.Allowed() {
			t.Errorf("no guesses after %d failures", i)
		}
		g.Add(false)
	}
	if g.Allowed() {
		t.Error("guesses after 7 failures of 87")
	}
}
