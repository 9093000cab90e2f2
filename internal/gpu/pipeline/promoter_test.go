package pipeline

import (
	"math"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/packedsearch"
	"github.com/griffin-search/griffin/internal/invariant"
)

// soon fails the test after a minute.
func soon(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(3 * time.Minute):
		t.Errorf("%s does not return", what)
	}
}

func (c *collection) directly(t *testing.T, conjunctive bool, words ...int) *Query {
	t.Helper()
	q := c.query(t, conjunctive, words...)
	q.Path = PathPacked
	return q
}

func shardOf(v *View, q *Query, leg int) *residency.Shard { return v.targets[0][leg/q.NumTerms].shard }

// pageLocked returns a query of a word with an only page-locked list.
func (c *collection) pageLocked(t *testing.T, v *View, word int) *Query {
	t.Helper()
	d := v.engine.devices[0]
	limit := d.Probe().SetLimit(0) // prevents promotion
	defer d.Probe().SetLimit(limit)
	q := c.directly(t, false, word)
	c.check(t, v, q, nil)
	if _, ok := d.Probe().Locked(shardOf(v, q, 0), &q.Legs[0]); !ok {
		t.Fatal("the list is not page-locked")
	}
	return q
}

// A list promoted in the meantime does not get a directory too.
func TestPromoterDoesNotBlockQueries(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 64 << 10}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.directly(t, true, 9, 2)
	d.Probe().Hold(func() { // blocks the promoter
		soon(t, "a query", func() {
			for range 2 * residency.MaxPromotions {
				results := make([]Result, 1)
				if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
					t.Error(err, results[0].Err)
				}
			}
		})
	})
	v.WaitForPromotions()
	if s := e.Stats().Devices[0]; s.Compressed != 2 || s.Directories != 0 || s.Packed != 2*residency.MaxPromotions {
		t.Errorf("%+v: want two lists on the device", s)
	}
	c.check(t, v, q, nil)
	if n := d.Probe().Users(); n != 0 {
		t.Errorf("%d pins, want none", n)
	}
}

// Uses are kept even if the promoter's queue is full.
func TestPromoterCountsUses(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 300}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	limit := d.Probe().SetLimit(0) // prevents promotion
	q, other := c.directly(t, false, 3), c.directly(t, false, 5)
	c.check(t, v, other, nil)
	d.Probe().Hold(func() {
		for d.Probe().AskToPromote(shardOf(v, other, 0), &other.Legs[0], other.Legs[0].DocFreq()) {
		}
		for range 100 {
			results := make([]Result, 1)
			if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
				t.Fatal(err, results[0].Err)
			}
		}
	})
	v.WaitForPromotions()
	d.Probe().SetLimit(limit)
	c.check(t, v, q, nil)
	if n := d.Probe().Uses(shardOf(v, q, 0), &q.Legs[0]); n != 101 {
		t.Errorf("%d uses, want 101", n)
	}
}

// Runs record the expected read shares: OR 0.5; AND 1 for the first list, then the share of
// blocks with candidates, by segment; steps from their candidates.
func TestShares(t *testing.T) {
	c := newCollection(t, 2000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 100}, Lanes: 1}) // no room for lists
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	near := func(what string, got, want float64) {
		t.Helper()
		if math.Abs(got-want) > 1e-4 {
			t.Errorf("%s: share %g, want %g", what, got, want)
		}
	}
	or := c.directly(t, false, 9, 2)
	c.check(t, v, or, nil)
	for leg := range or.Legs {
		near("OR", d.Probe().Share(shardOf(v, or, leg), &or.Legs[leg]), 0.5)
	}
	blocks := func(leg *Leg) float64 { return math.Ceil(float64(leg.DocFreq()) / 128) }
	touched := func(n uint32, leg *Leg) float64 { return 1 - math.Exp(-float64(n)/blocks(leg)) }
	and := c.directly(t, true, 8, 1)
	c.check(t, v, and, nil)
	for s := range 2 {
		first, second := &and.Legs[2*s], &and.Legs[2*s+1]
		near("AND, first list", d.Probe().Share(shardOf(v, and, 2*s), &and.Legs[2*s]), 1)
		near("AND, second list", d.Probe().Share(shardOf(v, and, 2*s+1), &and.Legs[2*s+1]), touched(first.DocFreq(), second))
	}
	q := c.directly(t, true, 7, 4)
	from := Candidates{Segments: make([]packedsearch.Candidates, 2)}
	from.Segments[0] = packedsearch.Candidates{DocIDs: []uint32{0}, Scores: []uint32{1}}
	s := Step{Legs: q.Legs, NumTerms: 2, First: 1, End: 2, From: &from, K: 10}
	if err := v.Intersect(t.Context(), &s, nil); err != nil || s.Result.Err != nil {
		t.Fatal(err, s.Result.Err)
	}
	near("step", d.Probe().Share(shardOf(v, q, 1), &q.Legs[1]), touched(1, &q.Legs[1]))
	near("step without candidates", d.Probe().Share(shardOf(v, q, 3), &q.Legs[3]), 0)
}

// Close frees all memory while lists of a released View wait.
func TestPromotersStop(t *testing.T) {
	library := gputest.Configure(t, gputest.Config{Devices: 2, MemoryBytes: 256 << 20})
	c := newCollection(t, 50, 1, "") // too few documents to split
	e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	if err != nil {
		t.Fatal(err)
	}
	v := c.attach(t, e)
	d := e.devices[0]
	q := c.pageLocked(t, v, 3)
	shard := shardOf(v, q, 0)
	d.Probe().Hold(func() {
		asked := 0
		for d.Probe().AskToPromote(shard, &q.Legs[0], q.Legs[0].DocFreq()) {
			asked++
		}
		if asked < residency.MaxPromotions || asked > residency.MaxPromotions+1 {
			t.Errorf("%d waiting promotions, want %d", asked, residency.MaxPromotions)
		}
		v.Release()
		go d.StopPromoting()
		for !d.Probe().PromoterStops() {
			time.Sleep(time.Millisecond)
		}
		if d.Probe().AskToPromote(shard, &q.Legs[0], q.Legs[0].DocFreq()) {
			t.Error("a stopped promoter accepts requests")
		}
	})
	soon(t, "closing", func() { closeEngine(t, e) })
	if n := d.Probe().Shards(); n != 0 {
		t.Errorf("%d shards after Close", n)
	}
}

// Nothing is promoted or left pinned, and queries still work.
func TestPromoterPanics(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.pageLocked(t, v, 3)
	shard := shardOf(v, q, 0)
	var bug *invariant.Caught
	d.Probe().OnBug(func(c *invariant.Caught) { bug = c })
	const tooMany = 1 << 20 // the directory would exceed the list
	d.Probe().AskToPromote(shard, &q.Legs[0], tooMany)
	v.WaitForPromotions()
	if bug == nil {
		t.Fatal("no panic")
	}
	d.Probe().AskToPromote(shard, &q.Legs[0], q.Legs[0].DocFreq())
	v.WaitForPromotions()
	if n := d.Probe().Users(); n != 0 {
		t.Errorf("%d pins, want none", n)
	}
	if s := e.Stats().Devices[0]; s.Lists+s.Directories != 0 || s.Lost != "" || numHolders(d) != 0 {
		t.Errorf("%+v, %d runs hold lists: want no lists, and the device not lost", s, numHolders(d))
	}
	c.check(t, v, q, nil)
}

func TestRunWaitsForPromoter(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.pageLocked(t, v, 3)
	shard := shardOf(v, q, 0)
	count := d.BeginRun()   // like a run that found no room
	d.Probe().Hold(func() { // the promoter holds a list
		d.Probe().AskToPromote(shard, &q.Legs[0], q.Legs[0].DocFreq())
		for numHolders(d) < 2 {
			time.Sleep(time.Millisecond)
		}
	})
	d.EndRun()
	soon(t, "waiting", func() {
		if !d.WaitForRun(t.Context(), count) {
			t.Error("WaitForRun = false while the promoter holds a list")
		}
	})
}
