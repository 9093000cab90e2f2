package pipeline

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/residency"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/score"
)

func usable(ordinal int) cuda.Info {
	return cuda.Info{Ordinal: ordinal, Name: "good", Major: 9, WarpSize: 32, MappedHost: true, Pools: true, DriverVersion: 13000}
}

func TestChoose(t *testing.T) {
	old := usable(1)
	old.Major, old.Name = 7, "old"
	infos := []cuda.Info{usable(0), old, usable(2)}
	for _, c := range []struct {
		selection Selection
		infos     []cuda.Info
		want      []int
		reason    string
	}{
		{Selection{All: true}, infos, []int{0, 2}, ""},
		{Selection{Auto: true}, infos, []int{0, 2}, ""},
		{Selection{Ordinals: []int{2, 0}}, infos, []int{2, 0}, ""},
		{Selection{Ordinals: []int{0, 1}}, infos, nil, "GPU 1 (old) cannot be used: compute capability 7.0"},
		{Selection{Ordinals: []int{3}}, infos, nil, "no GPU 3: the driver reports 3 GPUs"},
		{Selection{All: true}, infos[1:2], nil, "none of 1 GPUs can be used: GPU 1 (old): compute capability 7.0"},
		{Selection{Auto: true}, nil, nil, "the driver reports no GPU"},
	} {
		got, err := choose(c.selection, c.infos)
		switch {
		case c.reason == "":
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("%+v: %v, error %v; want %v", c.selection, got, err, c.want)
			}
		case !IsUnavailable(err) || !strings.Contains(err.Error(), c.reason):
			t.Errorf("%+v: %v, error %v; want %q", c.selection, got, err, c.reason)
		}
	}
}

// Ranges of devices partition the documents at words of bitmaps.
func TestSplit(t *testing.T) {
	for _, numDocs := range []int{0, 1, 63, 64, 65, 1000, 4096, 1_000_001} {
		for devices := 1; devices <= 8; devices++ {
			next := 0
			for i := range devices {
				from, to := split(numDocs, i, devices)
				if from != next || to < from || from%docAlign != 0 && from != numDocs {
					t.Fatalf("%d documents on %d devices: device %d has [%d, %d), want start %d", numDocs, devices, i, from, to, next)
				}
				next = to
			}
			if next != numDocs {
				t.Fatalf("%d documents on %d devices: ranges cover %d", numDocs, devices, next)
			}
		}
	}
}

func TestMergeHits(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 5))
	before := func(a, b base.Hit) int {
		if a.Before(b) {
			return -1
		}
		return 1
	}
	for range 2000 {
		k := 1 + rng.IntN(12)
		var lists [2][]base.Hit
		for i := range lists {
			for range rng.IntN(k + 1) {
				lists[i] = append(lists[i], base.Hit{DocID: base.DocID(rng.IntN(500) + 500*i), Score: base.Score(rng.IntN(6))})
			}
			slices.SortFunc(lists[i], before)
			lists[i] = slices.Compact(lists[i])
		}
		want := slices.Concat(lists[0], lists[1])
		slices.SortFunc(want, before)
		want = want[:min(k, len(want))]
		if got := mergeHits(slices.Clone(lists[0]), lists[1], k); !slices.Equal(got, want) {
			t.Fatalf("the best %d of %v and %v: %v, want %v", k, lists[0], lists[1], got, want)
		}
	}
}

// Word wi is in every (i+1)-th document.
func testIndex(tb testing.TB, numDocs, numWords int) *index.Snapshot {
	tb.Helper()
	ix := indextest.Write(tb, index.Options{Analyzer: "whitespace", NoStored: true}, func(w *indextest.Writer) {
		var text []byte
		for i := range numDocs {
			text = text[:0]
			for word := range numWords {
				if i%(word+1) == 0 {
					for range 1 + (i+word)%3 {
						text = fmt.Appendf(text, "w%d ", word)
					}
				}
			}
			w.AddText(i, string(text))
		}
	})
	return indextest.Snapshot(tb, ix)
}

func attached(tb testing.TB, s *index.Snapshot, o Options) (*Engine, *View) {
	tb.Helper()
	o.Library, o.Devices = gputest.Library(tb).Path(), Selection{Ordinals: []int{0}}
	e, err := Open(o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := e.Close(); err != nil {
			tb.Error(err)
		}
	})
	return e, attach(tb, e, s)
}

func attach(tb testing.TB, e *Engine, s *index.Snapshot) *View {
	tb.Helper()
	v, err := e.Attach([]Segment{{Key: "a", NumDocs: s.NumDocs, Segment: s.Segments[0].Segment}})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func testQuery(tb testing.TB, s *index.Snapshot, words ...string) *Query {
	tb.Helper()
	q := &Query{K: 5, Count: true, NumTerms: len(words), Legs: make([]Leg, len(words))}
	seg := s.Segments[0].Segment
	avg := s.Fields[0].AvgLen()
	for i, word := range words {
		leg := &q.Legs[i]
		leg.List = new(postings.List)
		found, err := seg.Find(0, []byte(word), leg.List)
		if err != nil {
			tb.Fatal(err)
		}
		if !found {
			continue
		}
		leg.Term = s.Options.BM25.NewTerm(score.IDF(uint64(s.NumDocs), uint64(leg.DocFreq())), 1, avg)
		leg.Scale = score.NewScale(leg.Term, avg, avg)
	}
	return q
}

// Run also rejects invalid queries and a lost device.
func TestRun(t *testing.T) {
	s := testIndex(t, 300, 6)
	e, v := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	defer v.Release()
	queries := []*Query{testQuery(t, s, "w1", "w2"), testQuery(t, s, "w2", "w4"), testQuery(t, s, "w5", "none")}
	queries[1].Conjunctive = true
	queries[2].Conjunctive = true
	results := make([]Result, 3)
	var trace Trace
	if err := v.Run(t.Context(), queries, results, nil, &trace); err != nil {
		t.Fatal(err)
	}
	// Of 300 documents, w1 is in every 2nd, w2 in every 3rd, w4 in every 5th.
	for i, want := range []int64{150 + 100 - 50, 20, 0} {
		if r := &results[i]; r.Err != nil || r.Matches != want || len(r.Hits) != int(min(want, 5)) {
			t.Errorf("query %d: %+v, want %d matches", i, r, want)
		}
	}
	// Lists are uploaded once; a query without a possible match uploads none.
	if d := trace.Devices[0]; d.ListsMissed != 3 || d.ListsHit != 1 || d.Device != "gpu0" {
		t.Errorf("%+v: want 3 misses and 1 hit", d)
	}
	bad := testQuery(t, s, "w1")
	bad.Legs = nil
	if err := v.Run(t.Context(), []*Query{bad}, results[:1], nil, nil); err != nil || results[0].Err == nil {
		t.Errorf("query without legs: error %v, result %+v", err, results[0])
	}
	lost := errors.New("lost")
	e.devices[0].Probe().Fail(lost)
	if err := v.Run(t.Context(), queries, results, nil, nil); err != nil || results[0].Err != lost || results[2].Err != lost { //nolint:errorlint // it is that one
		t.Errorf("lost device: error %v, results %+v", err, results)
	}
}

func TestRelease(t *testing.T) {
	s := testIndex(t, 300, 4)
	e, first := attached(t, s, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	second := attach(t, e, s)
	if lists, total, err := first.Warm(t.Context(), WarmOptions{}); err != nil || lists != 4 || total != 4 {
		t.Fatalf("%d of %d lists, error %v", lists, total, err)
	}
	first.Release()
	if n := e.Stats().Devices[0].Lists; n != 4 {
		t.Errorf("%d lists while a View holds them, want 4", n)
	}
	second.Release()
	if st := e.Stats().Devices[0]; st.Lists != 0 || st.SizeBytes != 0 || e.devices[0].Probe().Shards() != 0 {
		t.Errorf("%+v, %d shards: want none after the last Release", st, e.devices[0].Probe().Shards())
	}
}

// BenchmarkUpload copies through page-locked memory, decodes on the device, and builds images.
func BenchmarkUpload(b *testing.B) {
	numDocs := 2000
	if gputest.OnGPU() {
		numDocs = 400_000
	}
	s := testIndex(b, numDocs, 12)
	e, v := attached(b, s, Options{})
	v.Release()
	var numPostings int64
	for b.Loop() {
		v := attach(b, e, s)
		if _, _, err := v.Warm(b.Context(), WarmOptions{Progress: func(_, total int64) { numPostings = total }}); err != nil {
			b.Fatal(err)
		}
		v.Release()
	}
	seconds := b.Elapsed().Seconds()
	b.ReportMetric(float64(numPostings)*float64(b.N)/seconds/1e9, "Gpostings/s")
	b.ReportMetric(float64(e.Stats().Devices[0].BytesUploaded)/seconds/1e9, "GB/s-up")
}

// BenchmarkBatchOnHost measures, per query with resident lists: pins, kernel parameters,
// unpins.
func BenchmarkBatchOnHost(b *testing.B) {
	s := testIndex(b, 2000, 12)
	e, v := attached(b, s, Options{Memory: Memory{Bytes: 8 << 20}, Lanes: 1})
	defer v.Release()
	rng := rand.New(rand.NewPCG(6, 6))
	queries := make([]*Query, 1000)
	for i := range queries {
		queries[i] = testQuery(b, s, fmt.Sprint("w", rng.IntN(4)), fmt.Sprint("w", 4+rng.IntN(4)), fmt.Sprint("w", 8+rng.IntN(4)))
		queries[i].Count = false
	}
	results := make([]Result, len(queries))
	l := e.devices[0].lanes.take(nil, 1)
	defer func() { e.devices[0].lanes.put(l) }()
	if err := l.reserve(queries); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		l.reset()
		if n, err := l.gather(v, v.targets[0], queries, results); n != len(queries) || err != nil {
			b.Fatal(n, err)
		}
		l.batch.Reset(v.targets[0][0].segment)
		for i, q := range queries {
			var query imagesearch.Query
			if ok, err := l.query(&v.targets[0][0], 0, i, q, &results[i], &query); !ok || err != nil {
				b.Fatal(ok, err)
			}
			if _, err := l.batch.Add(&query); err != nil {
				b.Fatal(err)
			}
		}
		for _, e := range l.entries {
			residency.Probe{}.SetLoaded(e)
		}
		l.unpin(0)
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)/float64(len(queries))*1e9, "ns/query")
}
