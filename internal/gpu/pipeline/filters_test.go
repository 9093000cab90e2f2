package pipeline

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// Queries with filters, alone and in batches, by images and from compressed lists, on one device and on
// two that share the documents, in much memory and in little, have the hits and the matches of a scan.
func TestFilters(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	c := newCollection(t, 3000, 3, "")
	for _, devices := range []int{1, 2} {
		for _, memory := range []int64{4 << 20, 40 << 10} {
			library := gputest.Configure(t, gputest.Config{Devices: devices, MemoryBytes: 256 << 20})
			e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: memory}, Lanes: 2})
			if err != nil {
				t.Fatal(err)
			}
			v := c.attach(t, e)
			for range sampletest.Rounds(2, 20) {
				var batch []*Query
				for range fewQueries + 4 {
					first := rng.IntN(8)
					q := c.query(t, rng.IntN(2) == 0, first+1+rng.IntN(2), first)
					q.K, q.Count = []int{1, 10, 100}[rng.IntN(3)], rng.IntN(2) == 0
					switch rng.IntN(4) {
					case 0:
					case 1:
						q.Filters = c.ranges(t, rng.IntN(900))
					default:
						q.Filters = c.filters(rng)
					}
					batch = append(batch, q)
				}
				for _, path := range []Path{PathImages, PathPacked} {
					results := make([]Result, len(batch))
					for _, q := range batch {
						q.Path = path
					}
					for range 2 { // then with resident filters
						if err := v.Run(t.Context(), batch, results, nil, nil); err != nil {
							t.Fatal(err)
						}
						for i, q := range batch {
							c.compare(t, q, &results[i])
						}
					}
					c.check(t, v, batch[0], nil)
					c.check(t, v, batch[1], new(Trace))
				}
			}
			for _, d := range e.Stats().Devices {
				if memory > 1<<20 && (d.Filters == 0 || d.Evictions > 0) || memory < 1<<20 && d.Evictions == 0 {
					t.Errorf("%d devices with %d bytes: %+v", devices, memory, d)
				}
			}
			checkIdle(t, e)
			v.Release()
			if s := e.Stats().Devices[0]; s.Filters != 0 || s.SizeBytes != 0 {
				t.Errorf("after the release: %d filters, %d bytes", s.Filters, s.SizeBytes)
			}
			if err := e.Close(); err != nil {
				t.Error(err)
			}
		}
	}
}

// A query needs a filter of each segment, or none.
func TestFilterCount(t *testing.T) {
	c := newCollection(t, 200, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, false, 1)
	q.Filters = make([]Filter, 1)
	results := make([]Result, 1)
	if err := v.Run(t.Context(), []*Query{q}, results, nil, nil); err != nil || results[0].Err == nil {
		t.Errorf("one filter of two segments: %v, %+v", err, results[0])
	}
}
