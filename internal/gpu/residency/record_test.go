package residency

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

func TestRecordNames(t *testing.T) {
	names := map[recordKey]listKey{}
	for shard := range uint32(5) {
		for list := range uint64(3) {
			for _, impacts := range []bool{false, true} {
				k := listKey{shard: shard, impacts: impacts, list: base.ListID(list)}
				if other, ok := names[k.name()]; ok {
					t.Errorf("%+v and %+v have the same name", k, other)
				}
				names[k.name()] = k
				for _, form := range []kind{kindPacked, kindDirectory, kindHost} {
					if k.of(form).name() != k.name() {
						t.Errorf("kind %d of %+v has another name", form, k)
					}
				}
			}
		}
	}
}

// A leg keeps its list's record until that is removed, for one shard.
func TestRecordOfLeg(t *testing.T) {
	s := makeSegment(t, 200)
	leg, r := findLeg(t, s, "w0"), newRecords()
	add := func(shard uint32, k kind) *Entry {
		e := &Entry{key: leg.key(shard).of(k)}
		r.add(e)
		return e
	}
	if r.ofLeg(leg, 1) != nil || leg.record.Load() != nil {
		t.Fatal("a record without an entry")
	}
	image, packed, other := add(1, kindImage), add(1, kindPacked), add(2, kindImage)
	for range 2 {
		if known := r.ofLeg(leg, 1); known.held[kindImage].Load() != image || known.held[kindPacked].Load() != packed || leg.record.Load() != known {
			t.Errorf("%+v: want both entries, and the record cached", known)
		}
		if known := r.ofLeg(leg, 2); known.held[kindImage].Load() != other {
			t.Error("the record of another shard")
		}
	}
	known := r.ofLeg(leg, 1)
	r.remove(image)
	if known.gone.Load() || r.ofLeg(leg, 1) != known {
		t.Error("a record with an entry is gone")
	}
	r.remove(packed)
	again := add(1, kindImage)
	if found := r.ofLeg(leg, 1); !known.gone.Load() || found == known || found.held[kindImage].Load() != again {
		t.Error("the leg's old record hides the new one")
	}
	r.remove(image) // has been removed before
	if r.ofLeg(leg, 1).held[kindImage].Load() != again || len(r.m) != 2 {
		t.Error("a later entry was removed")
	}
}

// Lists that share a place of records.recent are found in turn, and not after their removal.
func TestRecentRecords(t *testing.T) {
	r := newRecords()
	first := &Entry{key: listKey{shard: 3, list: 1}}
	second := &Entry{key: listKey{shard: 3, list: 2}}
	for second.key.name().recentAt() != first.key.name().recentAt() {
		second.key.list++
	}
	r.add(first)
	r.add(second)
	for range 2 {
		for _, e := range []*Entry{first, second} {
			if known := r.find(e.key.name()); known == nil || known.held[kindImage].Load() != e {
				t.Fatalf("list %d: record %+v", e.key.list, known)
			}
		}
	}
	r.remove(second)
	if r.find(second.key.name()) != nil {
		t.Error("a removed record is found")
	}
	again := &Entry{key: second.key}
	r.add(again)
	if known := r.find(again.key.name()); known == nil || known.held[kindImage].Load() != again {
		t.Error("the record of the second time is not found")
	}
	places := map[uint64]bool{}
	for list := range uint64(1 << 12) { // lists are tens of bytes apart
		places[recordKey{2, 40 * list}.recentAt()] = true
	}
	if len(places) < 3000 {
		t.Errorf("4,096 lists have %d places", len(places))
	}
}

func TestPins(t *testing.T) {
	r := new(record)
	if r.pinned(kindImage) != nil || r.there(kindImage) || (*record)(nil).there(kindImage) {
		t.Error("an empty record has an image")
	}
	e := new(Entry)
	r.held[kindImage].Store(e)
	if r.pinned(kindImage) != e || e.refs.Load() != 1 || e.uses.Load() != 1 || !r.there(kindImage) {
		t.Errorf("%d pins, %d uses; want 1", e.refs.Load(), e.uses.Load())
	}
	e.refs.Store(gone)
	if r.pinned(kindImage) != nil || r.there(kindImage) || e.refs.Load() != gone || e.uses.Load() != 1 {
		t.Errorf("a dropped entry has %d pins, %d uses", e.refs.Load(), e.uses.Load())
	}
	e = new(Entry)
	const rounds, pins = 100, 1000
	var all sync.WaitGroup
	var arrived atomic.Int32
	for range 2 {
		all.Go(func() {
			for round := range int32(rounds) {
				arrived.Add(1)
				for spins := 1; arrived.Load() < 2*(round+1); spins++ { // begin at the same time
					if spins%100_000 == 0 {
						runtime.Gosched()
					}
				}
				for range pins {
					e.pin()
				}
			}
		})
	}
	all.Wait()
	if e.refs.Load() != 2*rounds*pins || e.uses.Load() != 2*rounds*pins {
		t.Errorf("%d pins, %d uses; want %d", e.refs.Load(), e.uses.Load(), 2*rounds*pins)
	}
}

// Counts are halved after one list too many, and after a number of uses.
func TestFrequencies(t *testing.T) {
	f := newFrequencies(4)
	add := func(list uint64, n, want uint32, wantHalved bool) {
		t.Helper()
		if count, halved := f.add(key(list), n); count != want || halved != wantHalved {
			t.Errorf("add(%d, %d) = %d, %t; want %d, %t", list, n, count, halved, want, wantHalved)
		}
	}
	for list := range uint64(4) {
		add(list, 1+uint32(list), 1+uint32(list), false)
	}
	add(4, 6, 3, true)
	for list, want := range []uint32{0, 1, 1, 2, 3} { // of 1, 2, 3, 4 and 6
		if n, ok := f.counts[key(uint64(list))]; n != want || ok != (want > 0) {
			t.Errorf("list %d: count %d, %t; want %d", list, n, ok, want)
		}
	}
	for round := range 3 { // 32 uses, then one more
		before := f.counts[key(4)]
		for n := uint32(1); n <= 32; n++ {
			add(4, 1, before+n, false)
		}
		add(4, 1, (before+33)/2, true)
		if f.added != 0 {
			t.Errorf("round %d: %d uses since the halving", round, f.added)
		}
	}
	add(4, maxFrequency, maxFrequency, false)
	add(4, 1, maxFrequency, false)
}

func checkHeap(t *testing.T, h entryHeap) {
	t.Helper()
	for i, e := range h {
		if e.at != i || h[(i-1)/2].density > e.density {
			t.Fatalf("entry %d of %d: at %d, density %g below %g", i, len(h), e.at, e.density, h[(i-1)/2].density)
		}
	}
}

func TestHeap(t *testing.T) {
	var h entryHeap
	for i := range 200 {
		h.push(&Entry{density: float64(i * 67 % 101)})
		checkHeap(t, h)
	}
	for i := 0; len(h) > 60; i += 29 {
		at := i % len(h)
		e := h[at]
		h.remove(at)
		if checkHeap(t, h); e.at != -1 {
			t.Fatalf("a removed entry is at %d", e.at)
		}
	}
	for i, e := range h {
		e.density = float64(i * 31 % 53)
	}
	h.init()
	checkHeap(t, h)
	for last := 0.0; len(h) > 0; {
		e := h.pop()
		if checkHeap(t, h); e.at != -1 || e.density < last {
			t.Fatalf("popped density %g after %g, at %d", e.density, last, e.at)
		}
		last = e.density
	}
}
