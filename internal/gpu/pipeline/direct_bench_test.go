package pipeline

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// BenchmarkLocate looks three lists up, as whoever plans a query does: of legs that were
// located before, that were not, and of lists that are nowhere.
func BenchmarkLocate(b *testing.B) {
	c := newCollection(b, 2000, 1, "")
	e := open(b, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(b, e)
	defer v.Release()
	q := c.query(b, false, 6, 3, 1)
	c.check(b, v, q, nil)
	none := c.query(b, false, 7, 5, 2)
	for _, w := range []struct {
		name  string
		query *Query
		known bool
	}{{"legs=known", q, true}, {"legs=new", q, false}, {"lists=nowhere", none, false}} {
		b.Run(w.name, func(b *testing.B) {
			var l Located
			for b.Loop() {
				if !w.known {
					for i := range w.query.Legs {
						w.query.Legs[i].record.Store(nil)
					}
				}
				v.Locate(w.query, &l)
			}
		})
	}
}

// BenchmarkPaths answers a query of three words, any or all, by images, from compressed
// lists on the device, and from page-locked ones; and the conjunction in two steps.
func BenchmarkPaths(b *testing.B) {
	numDocs := 2000
	if gputest.OnGPU() {
		numDocs = 200_000
	}
	c := newCollection(b, numDocs, 1, "")
	e := open(b, Options{Memory: Memory{Bytes: 64 << 20}, Lanes: 1})
	v := c.attach(b, e)
	defer v.Release()
	d := e.devices[0]
	results := make([]Result, 1)
	run := func(name string, p Path, want Form) {
		for _, conjunctive := range []bool{false, true} {
			q := c.query(b, conjunctive, 8, 4, 1)
			q.Path = p
			before := e.Stats().Devices[0].Asked
			b.Run(fmt.Sprintf("and=%t/lists=%s", conjunctive, name), func(b *testing.B) {
				for b.Loop() {
					if err := v.Run(b.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err != nil {
						b.Fatal(err, results[0].Err)
					}
				}
			})
			asked := e.Stats().Devices[0].Asked.since(&before)
			if counts := [numForms]int64{asked.File, asked.Host, asked.Device, asked.Image}; counts[want] == 0 {
				b.Fatalf("asked for %+v, want %s", asked, want)
			}
		}
	}
	limit := d.limit[0].Swap(0) // nothing is promoted
	run("host", PathDirect, FormHost)
	d.limit[0].Store(limit)
	q := c.query(b, true, 8, 4, 1)
	for i := range q.Legs {
		host := d.records.ofLeg(&q.Legs[i], v.pieces[0][0].part.id).pinned(kindHost)
		if err := d.uploaders[0].promoteFree(host, q.Legs[i].DocFreq, kindPacked); err != nil {
			b.Fatal(err)
		}
		host.unpin()
	}
	run("device", PathDirect, FormDevice)
	run("image", PathImages, FormImage)
	first, second := Step{Legs: q.Legs, NumTerms: 3, End: 2}, Step{Legs: q.Legs, NumTerms: 3, First: 2, End: 3, K: 10}
	second.From = &first.Out
	b.Run("steps=2/lists=device", func(b *testing.B) {
		for b.Loop() {
			for _, s := range []*Step{&first, &second} {
				if err := v.Intersect(b.Context(), s, nil); err != nil || s.Result.Err != nil {
					b.Fatal(err, s.Result.Err)
				}
			}
		}
	})
}
