package pipeline

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// BenchmarkLocate has three lists: with cached records, with new legs, and without resident
// lists.
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
						v.engine.devices[0].Probe().Forget(&w.query.Legs[i])
					}
				}
				v.Locate(w.query, &l)
			}
		})
	}
}

// BenchmarkPaths answers ORs and ANDs of three words from images, from compressed lists on the
// device and page-locked, and the AND in two steps.
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
			asked := e.Stats().Devices[0].Asked.Since(&before)
			if counts := [...]int64{asked.File, asked.Host, asked.Device, asked.Image}; counts[want] == 0 {
				b.Fatalf("asked for %+v, want %s", asked, want)
			}
		}
	}
	limit := d.Probe().SetLimit(0) // prevents promotion
	run("host", PathPacked, FormHost)
	d.Probe().SetLimit(limit)
	q := c.query(b, true, 8, 4, 1)
	for i := range q.Legs {
		if err := d.Probe().Promote(v.targets[0][0].shard, &q.Legs[i]); err != nil {
			b.Fatal(err)
		}
	}
	run("device", PathPacked, FormDevice)
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
