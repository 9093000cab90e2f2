package packedsearch

import (
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/leg"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/traverse"
)

type place int

const (
	onDevice place = iota
	onHost
	payloadOnHost
	numPlaces
)

func (p place) String() string { return [...]string{"device", "host", "payload-host"}[p] }

type collection struct {
	*gputest.Session
	*querytest.Collection

	kernels *Kernels
	runner  *Runner
	segment imagesearch.Segment
	onGPU   cuda.Buffer[uint32] // lengths
	placed  [numPlaces][]List   // by place, then list
}

func newCollection(t testing.TB, rng *rand.Rand, numDocs int, linear bool, lists []querytest.List) *collection {
	t.Helper()
	return collectionOn(gputest.NewSession(t), rng, numDocs, linear, lists)
}

func collectionOn(s *gputest.Session, rng *rand.Rand, numDocs int, linear bool, lists []querytest.List) *collection {
	s.Helper()
	c := &collection{Session: s, Collection: querytest.NewCollection(s, rng, numDocs, linear, lists)}
	c.segment = imagesearch.Segment{NumDocs: numDocs, Base: c.Base}
	return c
}

func (c *collection) toDevice(places ...place) {
	c.Helper()
	var err error
	c.kernels, err = New(c.Device)
	c.Must(err)
	c.runner, err = c.kernels.NewRunner(Limits{})
	c.Must(err)
	c.Cleanup(func() { c.Must(c.runner.Close()); c.Must(c.kernels.Close()) })
	c.upload(places...)
}

func (c *collection) upload(places ...place) {
	c.Helper()
	c.onGPU = gputest.Upload(c.Session, c.Lengths)
	if c.Live != nil {
		c.segment.Live = gputest.Upload(c.Session, querytest.Words(c.Live, c.NumDocs))
	}
	for i := range c.Lists {
		for _, p := range places {
			c.placed[p] = append(c.placed[p], c.put(&c.Lists[i], p))
		}
	}
	c.Must(c.Stream.Synchronize())
}

func (c *collection) put(l *postings.List, p place) List {
	payload, directory := l.Raw()
	words := make([]uint32, (len(payload)+15)/16*4+4) // not empty, even if all widths are 0
	for i, b := range payload {
		words[i/4] |= uint32(b) << (i % 4 * 8)
	}
	entries := make([]uint32, len(directory)*decode.EntryWords)
	for i, e := range directory {
		w := entries[i*decode.EntryWords:]
		w[0], w[1], w[2] = e.First, e.Last, e.Offset
		w[3] = uint32(e.Bound) | uint32(e.DocWidth)<<16 | uint32(e.FreqWidth)<<24
	}
	placed := List{Leg: leg.Leg{List: l}, DirectoryOnHost: p == onHost}
	if p == onDevice {
		placed.Payload = gputest.Upload(c.Session, words).Ptr()
	} else {
		placed.Payload = c.host(words)
	}
	if p == onHost {
		placed.Directory = c.host(entries)
	} else {
		placed.Directory = gputest.Upload(c.Session, entries).Ptr()
	}
	return placed
}

func (c *collection) host(words []uint32) cuda.Ptr[uint32] {
	b, err := cuda.AllocHost[uint32](c.Device, len(words))
	c.Must(err)
	c.Cleanup(func() { c.Must(b.Free()) })
	copy(b.Data(), words)
	return b.DevicePtr()
}

type testQuery struct {
	cpu traverse.Query
	gpu Query
}

// query sorts the lists by rising length.
func (c *collection) query(conjunctive bool, k int, boost, avgLen float64, p place, lists ...int) *testQuery {
	lists = slices.Clone(lists)
	slices.SortStableFunc(lists, func(x, y int) int { return int(c.Lists[x].DocFreq) - int(c.Lists[y].DocFreq) })
	q := &testQuery{cpu: traverse.Query{NumDocs: c.NumDocs, Live: c.Live, Base: c.segment.Base}, gpu: Query{Conjunctive: conjunctive, K: k}}
	for _, i := range lists {
		leg := c.Leg(i, boost, avgLen)
		q.cpu.Legs = append(q.cpu.Legs, leg)
		placed := c.placed[p][i]
		placed.Lengths, placed.Leg = c.onGPU.Ptr(), leg.Leg
		q.gpu.Lists = append(q.gpu.Lists, placed)
	}
	return q
}

// filter may be called again for another filter.
func (q *testQuery) filter(c *collection, bitmap []uint64) {
	q.gpu.Filter = gputest.Upload(c.Session, querytest.Words(bitmap, c.NumDocs))
	q.cpu.Live = c.Intersect(bitmap)
}

func (q *testQuery) matches(t testing.TB) []base.Hit {
	t.Helper()
	mode := traverse.Or
	if q.gpu.Conjunctive {
		mode = traverse.And
	}
	return querytest.Matches(t, mode, &q.cpu)
}

func candidates(hits []base.Hit, from base.DocID) *Candidates {
	hits = slices.Clone(hits)
	slices.SortFunc(hits, func(x, y base.Hit) int { return int(x.DocID) - int(y.DocID) })
	c := &Candidates{}
	for _, h := range hits {
		c.DocIDs = append(c.DocIDs, uint32(h.DocID-from))
		c.Scores = append(c.Scores, uint32(h.Score))
	}
	return c
}

func (c *collection) check(name string, q *testQuery, matches []base.Hit) {
	c.Helper()
	out := Candidates{DocIDs: []uint32{7}, Scores: []uint32{7}} // to be overwritten
	hits, count, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, &out)
	if err != nil {
		c.Fatalf("%s: %v", name, err)
	}
	want := matches[:min(q.gpu.K, len(matches))]
	if diff := querytest.Diff(hits, want); diff != "" {
		c.Fatalf("%s: of %d: %s", name, len(matches), diff)
	}
	if wantCount := len(matches); q.gpu.Count && count != int64(wantCount) {
		c.Fatalf("%s: counts %d, want %d", name, count, wantCount)
	}
	if q.gpu.K > 0 || !q.gpu.Conjunctive {
		if len(out.DocIDs) > 0 {
			c.Fatalf("%s: candidates that were not asked for: %v", name, out)
		}
		return
	}
	if q.gpu.Count { // only the number
		_, count, err := c.runner.Run(c.Stream, c.segment, &q.gpu, nil, nil)
		if err != nil || count != int64(len(matches)) {
			c.Fatalf("%s: counts %d, want %d: %v", name, count, len(matches), err)
		}
	}
	if w := candidates(matches, c.segment.Base); !slices.Equal(out.DocIDs, w.DocIDs) || !slices.Equal(out.Scores, w.Scores) {
		c.Fatalf("%s: %d candidates %v, want %d %v", name, len(out.DocIDs), out.DocIDs[:min(len(out.DocIDs), 5)], len(w.DocIDs), w.DocIDs[:min(len(w.DocIDs), 5)])
	}
}
