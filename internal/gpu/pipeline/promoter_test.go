package pipeline

import (
	"math"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/direct"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/invariant"
)

// soon runs f, which is to end by itself.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Errorf("%s does not end", what)
	}
}

// directly returns a query from compressed lists.
func (c *collection) directly(t *testing.T, conjunctive bool, words ...int) *Query {
	t.Helper()
	q := c.query(t, conjunctive, words...)
	q.Path = PathDirect
	return q
}

// hostOf returns what is page-locked of the list of a leg.
func hostOf(t *testing.T, v *View, q *Query, leg int) *entry {
	t.Helper()
	e := v.engine.devices[0].host.cache.find(q.Legs[leg].key(v.pieces[0][leg/q.NumTerms].part.id).of(kindHost))
	if e == nil {
		t.Fatal("the list is not page-locked")
	}
	e.unpin()
	return e
}

// pageLocked returns a query of one word whose list is page-locked, and not on the device.
func (c *collection) pageLocked(t *testing.T, v *View, word int) (*Query, *entry) {
	t.Helper()
	d := v.engine.devices[0]
	limit := d.limit[0].Swap(0) // nothing is promoted
	defer d.limit[0].Store(limit)
	q := c.directly(t, false, word)
	c.check(t, v, q, nil)
	return q, hostOf(t, v, q, 0)
}

// Queries do not wait for lists to be promoted, however many they ask for; those are there
// later, and nothing else: of a list that was asked for again meanwhile no directory.
func TestPromoterIsBeside(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 64 << 10}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.directly(t, true, 9, 2)
	func() {
		d.cache.mu.Lock() // the promoter waits
		defer d.cache.mu.Unlock()
		soon(t, "a query", func() {
			for range 2 * maxPromotions {
				results := make([]Result, 1)
				if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
					t.Error(err, results[0].Err)
				}
			}
		})
	}()
	v.WaitForPromotions()
	if s := e.Stats().Devices[0]; s.Compressed != 2 || s.Directories != 0 || s.Direct != 2*maxPromotions {
		t.Errorf("%+v: want two lists on the device", s)
	}
	c.check(t, v, q, nil)
	for _, known := range d.records.m {
		for k := range known.held {
			if e := known.held[k].Load(); e != nil && e.refs.Load() != 0 {
				t.Errorf("%d use list %+v, want none", e.refs.Load(), e.key)
			}
		}
	}
}

// Uses of a list that nobody could be asked to promote count when it is asked for next.
func TestPromoterCountsUses(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 300}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	limit := d.limit[0].Swap(0) // nothing is promoted
	q, other := c.directly(t, false, 3), c.directly(t, false, 5)
	c.check(t, v, other, nil)
	func() {
		d.cache.mu.Lock()
		defer d.cache.mu.Unlock()
		for d.promoter.ask(v, hostOf(t, v, other, 0).key, other.Legs[0].DocFreq, 1) {
		}
		for range 100 {
			results := make([]Result, 1)
			if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
				t.Fatal(err, results[0].Err)
			}
		}
	}()
	v.WaitForPromotions()
	d.limit[0].Store(limit)
	c.check(t, v, q, nil)
	k := q.Legs[0].key(v.pieces[0][0].part.id).of(kindPacked)
	if n := d.cache.frequencies.counts[k]; n != 101 {
		t.Errorf("%d uses are counted, want 101", n)
	}
}

// What is read of lists is noted with them: in an OR a half, in an AND all of the first and
// then what candidates fall in, in each segment, and in a step from the candidates that
// there are.
func TestShares(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 100}, Lanes: 1}) // nothing has room
	v := c.attach(t, e)
	defer v.Release()
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: a share of %g is read, want %g", what, got, want)
		}
	}
	or := c.directly(t, false, 9, 2)
	c.check(t, v, or, nil)
	for leg := range or.Legs {
		near("OR", hostOf(t, v, or, leg).share(), usualShare)
	}
	blocks := func(leg *Leg) float64 { return math.Ceil(float64(leg.DocFreq) / 128) }
	touched := func(n uint32, leg *Leg) float64 { return 1 - math.Exp(-float64(n)/blocks(leg)) }
	and := c.directly(t, true, 8, 1)
	c.check(t, v, and, nil)
	for s := range 2 {
		first, second := &and.Legs[2*s], &and.Legs[2*s+1]
		near("AND, first list", hostOf(t, v, and, 2*s).share(), 1)
		near("AND, second list", hostOf(t, v, and, 2*s+1).share(), touched(first.DocFreq, second))
	}
	q := c.directly(t, true, 7, 4)
	from := Candidates{Segments: make([]direct.Candidates, 2)}
	from.Segments[0] = direct.Candidates{DocIDs: []uint32{0}, Scores: []uint32{1}}
	s := Step{Legs: q.Legs, NumTerms: 2, First: 1, End: 2, From: &from, K: 10}
	if err := v.Intersect(t.Context(), &s, nil); err != nil || s.Result.Err != nil {
		t.Fatal(err, s.Result.Err)
	}
	near("step", hostOf(t, v, q, 1).share(), touched(1, &q.Legs[1]))
	near("step without candidates", hostOf(t, v, q, 3).share(), 0)
}

// An Engine of two devices closes, and frees what there is, while lists of a View that was
// released wait to be promoted.
func TestPromotersStop(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	c := newCollection(t, 50, 1, "") // too few documents to be split
	e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	v := c.attach(t, e)
	d := e.devices[0]
	q, host := c.pageLocked(t, v, 3)
	func() {
		d.cache.mu.Lock()
		defer d.cache.mu.Unlock()
		asked := 0
		for d.promoter.ask(v, host.key, q.Legs[0].DocFreq, 1) {
			asked++
		}
		if asked < maxPromotions || asked > maxPromotions+1 {
			t.Errorf("%d wait, want %d", asked, maxPromotions)
		}
		v.Release()
		go d.promoter.stop()
		for !d.promoter.stops() {
			time.Sleep(time.Millisecond)
		}
		if d.promoter.ask(v, host.key, q.Legs[0].DocFreq, 1) {
			t.Error("a promoter that stops takes more")
		}
	}()
	soon(t, "closing", func() { closeEngine(t, e) })
	if n := v.references.Load(); n != 0 {
		t.Errorf("%d have the View", n)
	}
}

// After a panic nothing is promoted any more, and what was being made is gone; queries are
// answered all the same.
func TestPromoterPanics(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q, host := c.pageLocked(t, v, 3)
	var bug *invariant.Caught
	d.promoter.onBug = func(c *invariant.Caught) { bug = c }
	const tooMany = 1 << 20 // the directory would be longer than the list
	d.promoter.ask(v, host.key, tooMany, 1)
	v.WaitForPromotions()
	if bug == nil {
		t.Fatal("there was no panic")
	}
	d.promoter.ask(v, host.key, q.Legs[0].DocFreq, 1)
	v.WaitForPromotions()
	if n := host.refs.Load(); n != 0 {
		t.Errorf("%d use the list, want none", n)
	}
	if s := e.Stats().Devices[0]; s.Lists+s.Directories != 0 || s.Lost != "" || d.holders.n != 0 {
		t.Errorf("%+v, %d hold lists: want nothing on the device, which is not lost", s, d.holders.n)
	}
	c.check(t, v, q, nil)
}

// A run for which there is no room waits for the promoter to let go of what it copies.
func TestRunWaitsForPromoter(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q, host := c.pageLocked(t, v, 3)
	count := d.holders.begin() // as a run that has found no room
	func() {
		d.cache.mu.Lock() // the promoter holds something
		defer d.cache.mu.Unlock()
		d.promoter.ask(v, host.key, q.Legs[0].DocFreq, 1)
		for n := 0; n < 2; time.Sleep(time.Millisecond) {
			d.holders.mu.Lock()
			n = d.holders.n
			d.holders.mu.Unlock()
		}
	}()
	d.holders.end()
	soon(t, "waiting", func() {
		if !d.holders.wait(t.Context(), count) {
			t.Error("nothing is waited for")
		}
	})
}
