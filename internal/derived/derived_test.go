package derived

import (
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
)

type number struct{ n uint64 }

var (
	numbers = NewKind[number]("number")
	texts   = NewKind[string]("text")
)

func get(t testing.TB, k *Kind[number], l List, param, n uint64, size int64) (built bool) {
	v, err := k.Get(l, param, func() (*number, int64, error) {
		built = true
		return &number{n}, size, nil
	})
	if err != nil || v.n != n {
		t.Errorf("Get: %v, %v, want %d", v, err, n)
	}
	return built
}

func TestEachStructureIsBuiltOnce(t *testing.T) {
	c := NewCache(1 << 20)
	one, two := c.NewSegment(), c.NewSegment()
	other := NewKind[number]("number") // same name, but a different kind
	for round := range 2 {
		n := uint64(0)
		for _, s := range []*Segment{one, two} {
			for list := range uint64(3) {
				for param := range uint64(2) {
					for _, k := range []*Kind[number]{numbers, other} {
						n++
						if built := get(t, k, s.List(list), param, n, 10); built != (round == 0) {
							t.Errorf("round %d, structure %d: built: %t", round, n, built)
						}
					}
				}
			}
		}
	}
	if v := numbers.Kept(one.List(0), 0); v == nil || v.n != 1 {
		t.Errorf("kept: %v", v)
	}
	for _, l := range []List{one.List(3), {}} {
		if v := numbers.Kept(l, 0); v != nil {
			t.Errorf("kept: %v, but nothing was built", v)
		}
	}
	v, err := texts.Get(one.List(0), 0, func() (*string, int64, error) { s := "a"; return &s, 1, nil })
	if err != nil || *v != "a" {
		t.Errorf("another type: %v, %v", v, err)
	}
	if got, want := c.Stats(), (Stats{25, 24*10 + 1 + 25*entryOverhead}); got != want {
		t.Errorf("Stats: %v, want %v", got, want)
	}
	one.Close()
	if got, want := c.Stats(), (Stats{12, 12 * (10 + entryOverhead)}); got != want {
		t.Errorf("Stats after one segment was closed: %v, want %v", got, want)
	}
	if !get(t, numbers, one.List(0), 0, 77, 1) || !get(t, numbers, one.List(0), 0, 78, 1) {
		t.Error("a structure is kept for a closed segment")
	}
	if get(t, numbers, two.List(0), 0, 13, 10) {
		t.Error("the other segment lost a structure")
	}
}

func TestNothingIsKeptWithoutACache(t *testing.T) {
	var none *Cache
	s := none.NewSegment()
	s.Close()
	for range 2 {
		if !get(t, numbers, s.List(3), 0, 1, 1) || !get(t, numbers, List{}, 0, 1, 1) {
			t.Error("kept without a Cache")
		}
	}
}

func TestLimit(t *testing.T) {
	const limit = 10 * (100 + entryOverhead)
	c := NewCache(limit)
	s := c.NewSegment()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		list := rng.Uint64N(50)
		get(t, numbers, s.List(list), 0, list, int64(rng.IntN(200)))
		if got := c.Stats(); got.SizeBytes > limit {
			t.Fatalf("%d bytes, the limit is %d", got.SizeBytes, limit)
		}
	}
	for range 2 {
		if !get(t, numbers, s.List(99), 0, 99, limit) {
			t.Error("a structure larger than the limit is kept")
		}
	}
	if c.Stats().Entries == 0 {
		t.Error("a structure that is not kept evicted others")
	}
	for which := range c.clocks {
		for _, e := range c.clocks[which].entries {
			if c.clocks[which].entries[e.at] != e || e.clock != which || c.entries[e.key] != e {
				t.Error("clock and map disagree")
			}
		}
	}
}

// A structure requested between all others is kept.
func TestSecondChance(t *testing.T) {
	c := NewCache(10 * (100 + entryOverhead))
	s := c.NewSegment()
	get(t, numbers, s.List(0), 0, 0, 100)
	for list := uint64(1); list < 1000; list++ {
		get(t, numbers, s.List(list), 0, list, 100)
		if get(t, numbers, s.List(0), 0, 0, 100) {
			t.Fatalf("list %d evicted the structure that was just used", list)
		}
	}
}

var errBroken = errors.New("broken")

func TestErrorsAreNotKept(t *testing.T) {
	c := NewCache(1 << 20)
	s := c.NewSegment()
	for range 2 {
		_, err := numbers.Get(s.List(1), 0, func() (*number, int64, error) { return nil, 0, errBroken })
		if !errors.Is(err, errBroken) {
			t.Errorf("got %v", err)
		}
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic of build was lost")
			}
		}()
		_, _ = numbers.Get(s.List(1), 0, func() (*number, int64, error) { panic("no") })
	}()
	if !get(t, numbers, s.List(1), 0, 5, 1) {
		t.Error("nothing was built after errors")
	}
}

// Those that wait share the builder's error.
func TestOneBuildsOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := NewCache(1 << 20)
		s := c.NewSegment()
		var builds, failed atomic.Int64
		for _, fail := range []bool{true, false} {
			release := make(chan struct{})
			var group sync.WaitGroup
			for range 8 {
				group.Go(func() {
					v, err := numbers.Get(s.List(1), 0, func() (*number, int64, error) {
						builds.Add(1)
						<-release
						if fail {
							return nil, 0, errBroken
						}
						return &number{7}, 1, nil
					})
					if err != nil {
						failed.Add(1)
					} else if v.n != 7 {
						t.Errorf("got %d", v.n)
					}
				})
			}
			synctest.Wait()
			close(release)
			group.Wait()
		}
		if builds.Load() != 2 || failed.Load() != 8 {
			t.Errorf("%d builds, want 2; %d failed, want 8", builds.Load(), failed.Load())
		}
	})
}

func TestConcurrentUse(t *testing.T) {
	c := NewCache(5000)
	var group sync.WaitGroup
	for g := range uint64(4) {
		group.Go(func() {
			rng := rand.New(rand.NewPCG(g, 1))
			s := c.NewSegment()
			for range 3000 {
				list := rng.Uint64N(40)
				get(t, numbers, s.List(list), 0, list, 50)
				if rng.IntN(500) == 0 {
					s.Close()
					s = c.NewSegment()
				}
			}
			s.Close()
		})
	}
	group.Wait()
	if got := c.Stats(); got != (Stats{}) {
		t.Errorf("after all segments were closed: %v", got)
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	c := NewCache(1 << 20)
	s := c.NewSegment()
	n := uint64(3)
	if allocs := testing.AllocsPerRun(100, func() {
		v, err := numbers.Get(s.List(1), 2, func() (*number, int64, error) { return &number{n}, 1, nil })
		if err != nil || v.n != n {
			t.Errorf("%v, %v", v, err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
}

func BenchmarkGet(b *testing.B) {
	c := NewCache(1 << 20)
	s := c.NewSegment()
	for i := range uint64(1000) {
		get(b, numbers, s.List(i), 0, i, 10)
	}
	i := uint64(0)
	for b.Loop() {
		i = (i + 7) % 1000
		if _, err := numbers.Get(s.List(i), 0, func() (*number, int64, error) { return &number{i}, 10, nil }); err != nil {
			b.Fatal(err)
		}
	}
}

func getSpare(t testing.TB, l List, n uint64, size int64) (kept bool) {
	v, err := numbers.GetIfRoom(l, 0, size, func() (*number, int64, error) { return &number{n}, size, nil })
	if err != nil || v != nil && v.n != n {
		t.Errorf("GetIfRoom: %v, %v, want %d", v, err, n)
	}
	return v != nil
}

func TestGetIfRoom(t *testing.T) {
	c := NewCache(4 * (1000 + entryOverhead))
	s := c.NewSegment()
	for list := range uint64(6) {
		if kept := getSpare(t, s.List(list), list, 1000); kept != (list < 4) {
			t.Errorf("list %d: kept: %t; there is room for four", list, kept)
		}
	}
	if !getSpare(t, s.List(1), 1, 1000) {
		t.Error("GetIfRoom did not return a kept structure")
	}
	// Needed structures replace spare ones, but not the reverse.
	for list := uint64(10); list < 13; list++ {
		get(t, numbers, s.List(list), 0, list, 1000)
	}
	spares := 0
	for list := range uint64(4) {
		if numbers.Keeps(s.List(list), 0) {
			spares++
		}
	}
	if spares != 1 {
		t.Errorf("%d spare structures are kept beside three, want 1", spares)
	}
	if getSpare(t, s.List(20), 20, 1000) {
		t.Error("a full cache kept a spare structure")
	}
	for list := uint64(10); list < 13; list++ {
		if !numbers.Keeps(s.List(list), 0) {
			t.Errorf("list %d is lost", list)
		}
	}
	if v, err := numbers.GetIfRoom(List{}, 0, 1, nil); v != nil || err != nil {
		t.Errorf("zero List: %v, %v", v, err)
	}
}

func TestRoom(t *testing.T) {
	c := NewCache(4 * (1000 + entryOverhead))
	s := c.NewSegment()
	get(t, numbers, s.List(0), 0, 0, 1000)
	if l := s.List(1); !l.Room(3, 3000) || l.Room(3, 3001) || l.Room(4, 3000) || (List{}).Room(0, 0) {
		t.Error("Room is wrong beside one of four")
	}
	if !numbers.Keeps(s.List(0), 0) || numbers.Keeps(s.List(0), 1) || numbers.Keeps(s.List(1), 0) ||
		texts.Keeps(s.List(0), 0) || numbers.Keeps(List{}, 0) {
		t.Error("Keeps is wrong")
	}
	if s.List(1).Room(1000, 1e9); !numbers.Keeps(s.List(0), 0) {
		t.Error("a structure that never fits evicted another")
	}
	// Repeated unsuccessful requests evict unused structures.
	for asked := 0; !s.List(1).Room(4, 4000); asked++ {
		if asked > 2*refusalsPerStep {
			t.Fatal("no room is made")
		}
	}
	if c.Stats() != (Stats{}) {
		t.Errorf("room for all beside %+v", c.Stats())
	}
}

// Structures requested in turn, several times more than fit, do not evict each other: each
// round finds nearly all that fit.
func TestTurns(t *testing.T) {
	const kept = 20
	c := NewCache(kept * (100 + entryOverhead))
	s := c.NewSegment()
	for round := range 50 {
		found := 0
		for list := range uint64(5 * kept) {
			if !get(t, numbers, s.List(list), 0, list, 100) {
				found++
			}
		}
		if round > 0 && found < kept*9/10 {
			t.Errorf("round %d: %d were kept, want almost %d", round, found, kept)
		}
	}
	// Structures requested from now on take the room.
	for range 2 * 2 * refusalsPerStep {
		for list := uint64(1000); list < 1000+kept; list++ {
			get(t, numbers, s.List(list), 0, list, 100)
		}
	}
	found := 0
	for list := uint64(1000); list < 1000+kept; list++ {
		if numbers.Keeps(s.List(list), 0) {
			found++
		}
	}
	if found < kept*9/10 {
		t.Errorf("%d of %d structures in use are kept", found, kept)
	}
}

func TestSetLimit(t *testing.T) {
	c := NewCache(0)
	s := c.NewSegment()
	for range 2 {
		if !get(t, numbers, s.List(0), 0, 0, 100) {
			t.Error("kept without room")
		}
	}
	c.SetLimit(4 * (100 + entryOverhead))
	get(t, numbers, s.List(0), 0, 0, 100)
	getSpare(t, s.List(1), 1, 100)
	get(t, numbers, s.List(2), 0, 2, 100)
	c.SetLimit(2 * (100 + entryOverhead))
	if !numbers.Keeps(s.List(0), 0) || numbers.Keeps(s.List(1), 0) || !numbers.Keeps(s.List(2), 0) {
		t.Error("SetLimit must drop the spare structure and no other")
	}
	c.SetLimit(0)
	if c.Stats() != (Stats{}) {
		t.Errorf("with a limit of 0: %+v", c.Stats())
	}
}
