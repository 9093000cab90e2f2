package pipeline

import (
	"testing"
	"time"

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
		t.Fatalf("%s does not end", what)
	}
}

// Queries do not wait for lists to be promoted, however many they wish for; those are there
// later.
func TestPromoterIsBeside(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 10}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	queries := c.queries(t)
	d.cache.mu.Lock() // the promoter waits
	soon(t, "a query", func() {
		for range 2 * maxWishes {
			for _, q := range queries[:3] {
				q.Path = PathDirect
				results := make([]Result, 1)
				if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil {
					t.Error(err)
				}
				c.compare(t, q, &results[0])
			}
		}
	})
	d.cache.mu.Unlock()
	e.waitForPromoters()
	if s := e.Stats().Devices[0]; s.Compressed == 0 || s.Direct == 0 {
		t.Errorf("%+v: want lists on the device", s)
	}
	for _, known := range d.records.m {
		for k := range known.held {
			if e := known.held[k].Load(); e != nil && e.refs.Load() != 0 {
				t.Errorf("%d use list %+v, want none", e.refs.Load(), e.key)
			}
		}
	}
}

// An Engine closes, and frees what there is, while lists wait to be promoted of a View that
// was released; more than can wait are not remembered.
func TestPromoterStops(t *testing.T) {
	c := newCollection(t, 900, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	d := e.devices[0]
	q := c.query(t, false, 3)
	q.Path = PathDirect
	c.check(t, v, q, nil)
	host := d.host.cache.find(q.Legs[0].key(v.pieces[0][0].part.id).of(kindHost))
	d.cache.mu.Lock()
	for range 3 * maxWishes {
		d.promoter.wish(v, host, q.Legs[0].DocFreq, 1)
	}
	if n := host.refs.Load(); n < maxWishes+1 || n > maxWishes+3 {
		t.Errorf("%d use the list, want about as many as can wait: %d", n, maxWishes)
	}
	host.unpin()
	v.Release()
	done := make(chan struct{})
	go func() {
		defer close(done)
		d.promoter.stop()
	}()
	for !d.promoter.stops() {
		time.Sleep(time.Millisecond)
	}
	d.promoter.wish(v, host, 1, 1) // is ignored
	d.cache.mu.Unlock()
	soon(t, "stopping", func() { <-done; e.waitForPromoters() })
	if s := e.Stats().Devices[0]; s.Lists+s.Directories+s.Host.Lists != 0 {
		t.Errorf("%+v: want nothing left", s)
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
	d.limit[0].Store(0) // nothing is promoted
	q := c.query(t, false, 3)
	q.Path = PathDirect
	c.check(t, v, q, nil)
	d.limit[0].Store(1 << 19)
	host := d.host.cache.find(q.Legs[0].key(v.pieces[0][0].part.id).of(kindHost))
	if host == nil || host.refs.Load() != 1 {
		t.Fatal("the list is not page-locked")
	}
	var bug *invariant.Caught
	d.promoter.onBug = func(c *invariant.Caught) { bug = c }
	const tooMany = 1 << 20 // the directory would be longer than the list
	d.promoter.wish(v, host, tooMany, 1)
	e.waitForPromoters()
	if bug == nil {
		t.Fatal("there was no panic")
	}
	d.promoter.wish(v, host, q.Legs[0].DocFreq, 1)
	e.waitForPromoters()
	if n := host.refs.Load(); n != 1 {
		t.Errorf("%d use the list, want 1", n)
	}
	host.unpin()
	if s := e.Stats().Devices[0]; s.Lists+s.Directories != 0 || s.Lost != "" {
		t.Errorf("%+v: want nothing on the device, which is not lost", s)
	}
	c.check(t, v, q, nil)
}
