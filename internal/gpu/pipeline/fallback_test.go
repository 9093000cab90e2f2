package pipeline

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/score"
)

func TestPathNames(t *testing.T) {
	for path, want := range map[Path]string{PathAuto: "auto", PathImages: "images", PathPacked: "packed", PathBands: "bands", PathBands + 1: "Path(4)"} {
		if got := path.String(); got != want {
			t.Errorf("path %d is %q, want %q", uint8(path), got, want)
		}
	}
}

func TestIsDeviceError(t *testing.T) {
	for _, test := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{errors.New("another"), false},
		{&cuda.Error{Code: cuda.OutOfMemory}, true},
		{fmt.Errorf("wrapped: %w", &cuda.Error{Code: cuda.LaunchFailed}), true},
		{&cuda.Error{Code: cuda.Misuse}, false},
	} {
		if got := IsDeviceError(test.err); got != test.want {
			t.Errorf("%v: %t, want %t", test.err, got, test.want)
		}
	}
}

// Every reference keeps the lists.
func TestRetain(t *testing.T) {
	c := newCollection(t, 300, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	if v.Retain() != v {
		t.Error("Retain returns another view")
	}
	v.Release()
	q := c.query(t, false, 3, 1)
	q.Path = PathImages
	c.check(t, v, q, nil)
	if n := e.devices[0].Probe().Shards(); n != 1 {
		t.Errorf("%d shards after one of two Releases", n)
	}
	v.Release()
	if n := e.devices[0].Probe().Shards(); n != 0 {
		t.Errorf("%d shards after both", n)
	}
}

// heavy raises a query's weights so that its scores may exceed 2^32, although the scores of one term
// cannot: images can answer it, packedsearch cannot.
func (c *collection) heavy(tb testing.TB, q *Query) *Query {
	tb.Helper()
	avg := c.snapshot.Fields[0].AvgLen()
	for i := range q.Legs {
		leg := &q.Legs[i]
		leg.Term.Weight *= float32(3<<30) / float32(leg.Scale.Upper(leg.List.Max))
		leg.Scale = score.NewScale(leg.Term, c.segments[i/q.NumTerms].Segment.Meta().Fields[0].AvgLen, avg)
	}
	return q
}

// A packed batch answers by images what packedsearch cannot, unless the context has ended.
func TestPackedBatchFallsBack(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	for _, lanes := range []int{1, 3} {
		e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: lanes})
		v := c.attach(t, e)
		defer v.Release()
		queries := []*Query{
			c.heavy(t, c.directly(t, false, 2, 1)), c.directly(t, false, 4, 3), c.heavy(t, c.directly(t, false, 1, 0)),
			c.directly(t, true, 4, 3), c.heavy(t, c.directly(t, true, 3, 0)),
		}
		var trace Trace
		results := make([]Result, len(queries))
		if err := v.Run(t.Context(), queries, results, nil, &trace); err != nil {
			t.Fatal(err)
		}
		for i, q := range queries {
			c.compare(t, q, &results[i])
		}
		if s := e.Stats().Devices[0]; s.Packed != 2 || s.Queries != 5 || s.Asked != trace.Devices[0].Forms {
			t.Errorf("%d lanes: %+v, trace %+v; want 2 packed queries of 5", lanes, s, trace.Devices[0])
		}
		for _, some := range [][]*Query{queries[:1], queries[1:2], queries[1:4:4]} { // none of several, or the only one
			for i, r := range run(t, v, some) {
				c.compare(t, some[i], &r)
			}
		}
	}
}

// The device does not answer queries of a packed batch that others take.
func TestOthersTakePackedBatch(t *testing.T) {
	c := newCollection(t, 500, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	results := make([]Result, 2)
	if err := v.Run(t.Context(), []*Query{c.directly(t, false, 2), c.directly(t, false, 1)}, results, new(noOthers), nil); err != nil {
		t.Fatal(err)
	}
	for i, r := range results {
		if !errors.Is(r.Err, errLeft) || len(r.Hits) != 0 {
			t.Errorf("query %d: %+v", i, r)
		}
	}
	if s := e.Stats().Devices[0]; s.Packed != 0 || s.Launches != 0 {
		t.Errorf("%+v: want no work", s)
	}
}

// beginning ends the context when images of a query exceed the memory.
type beginning struct{ end context.CancelFunc }

func (o beginning) Begin(_ int, _, _ []int) { o.end() }
func (beginning) Take(int) bool             { return true }

// A query that packedsearch cannot answer has the error of the context that ends meanwhile.
func TestFallbackStops(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	e.devices[0].tight.Store(true)
	e.devices[0].Probe().SetLimit(0)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	q := c.heavy(t, c.directly(t, false, 2, 1))
	if err := v.Run(ctx, []*Query{q}, make([]Result, 1), beginning{cancel}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want %v", err, context.Canceled)
	}
}

// endingOthers leave all queries to the device and end the context at a query.
type endingOthers struct {
	at  int
	end context.CancelFunc
}

func (*endingOthers) Begin(_ int, _, _ []int) {}

func (o *endingOthers) Take(query int) bool {
	if query == o.at {
		o.end()
	}
	return true
}

// Batches on all paths stop when their context ends, and return its error.
func TestBatchesStop(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	for name, paths := range map[string][2]Path{
		"packed": {PathPacked, PathPacked}, "slices": {PathImages, PathImages}, "both": {PathPacked, PathImages},
	} {
		t.Run(name, func(t *testing.T) {
			e := open(t, Options{Memory: Memory{Bytes: 8 << 10}, Lanes: 1})
			v := c.attach(t, e)
			defer v.Release()
			e.devices[0].tight.Store(true)
			var queries []*Query
			for word := range 6 {
				q := c.heavy(t, c.query(t, false, word, word+1))
				q.Path = paths[word%2]
				queries = append(queries, q)
			}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			o := &endingOthers{at: 3, end: cancel}
			results := make([]Result, len(queries))
			if err := v.Run(ctx, queries, results, o, nil); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want %v", err, context.Canceled)
			}
			checkIdle(t, e)
		})
	}
}

// A batch of both paths needs neither others nor a trace, also if its images are too large for
// the memory together.
func TestMixedBatchAlone(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 8 << 10}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	var queries []*Query
	for word := range 8 {
		q := c.query(t, false, word)
		q.Path = PathImages + Path(word%2)
		queries = append(queries, q)
	}
	for i, r := range run(t, v, queries) {
		c.compare(t, queries[i], &r)
	}
	if !e.devices[0].tight.Load() {
		t.Error("the images fit together")
	}
}

// PathAuto answers up to fewQueries queries from compressed lists if their images have no room,
// and a larger batch by images, unless these exceed the memory many times. A conjunction with an
// unknown word needs no room.
func TestPathOn(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	for _, test := range []struct {
		path  Path
		room  bool
		and   bool
		crowd crowd
		want  Path
	}{
		{PathAuto, true, false, crowd{few: true}, PathImages},
		{PathAuto, true, false, crowd{}, PathImages},
		{PathAuto, false, false, crowd{few: true}, PathPacked},
		{PathAuto, false, true, crowd{few: true}, PathPacked},
		{PathAuto, false, false, crowd{}, PathImages},
		{PathAuto, false, true, crowd{times: crowdedAnd}, PathImages},
		{PathAuto, false, true, crowd{times: crowdedAnd + 0.1}, PathPacked},
		{PathAuto, true, true, crowd{times: crowdedAnd + 0.1}, PathImages},
		{PathAuto, false, false, crowd{times: crowdedAnd + 0.1}, PathImages},
		{PathAuto, false, false, crowd{times: crowdedOr}, PathImages},
		{PathAuto, false, false, crowd{times: crowdedOr + 0.1}, PathPacked},
		{PathAuto, false, true, crowd{times: crowdedOr + 0.1}, PathPacked},
		{PathImages, false, false, crowd{few: true}, PathImages},
		{PathImages, false, true, crowd{times: crowdedOr + 0.1}, PathImages},
		{PathPacked, true, false, crowd{few: true}, PathPacked},
		{PathPacked, false, false, crowd{}, PathPacked},
	} {
		q := c.query(t, test.and, 4, 3)
		q.Path = test.path
		d.Probe().SetLimit(1 << 20)
		if !test.room {
			d.Probe().SetLimit(0)
		}
		if got := v.pathOn(0, q, test.crowd); got != test.want {
			t.Errorf("%+v: path %s", test, got)
		}
	}
	d.Probe().SetLimit(0)
	none := c.query(t, true, 99, 3)
	if terms := none.terms(); !v.imageRoom(0, &terms) || !v.HasImages(none) {
		t.Error("a conjunction with an unknown word needs room")
	}
	some := c.query(t, false, 99, 98)
	if terms := some.terms(); !v.imageRoom(0, &terms) || !v.HasImages(some) {
		t.Error("unknown words need room")
	}
}

// Images that take exactly the free room have room. An unknown word has an image.
func TestImageRoomLimits(t *testing.T) {
	c := newCollection(t, 1000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	d := e.devices[0]
	q := c.query(t, false, 99, 4, 2)
	var size, bytes int64
	for i := range q.Legs {
		if q.Legs[i].DocFreq() > 0 {
			size += v.imageBytes(0, i/3, &q.Legs[i])
			bytes += q.Legs[i].SizeBytes()
		}
	}
	for missing := int64(-1); missing <= 1; missing++ {
		for d.Probe().SetLimit(size); d.Room() < size-missing; {
			d.Probe().SetLimit(d.Limit() + 1)
		}
		if d.Room() != size-missing {
			t.Fatalf("room %d, want %d", d.Room(), size-missing)
		}
		terms := q.terms()
		var l Located
		if v.Locate(q, &l); v.imageRoom(0, &terms) != (missing <= 0) || l.ImageRoom != (missing <= 0) || l.BytesImage != bytes || l.BytesFile != bytes {
			t.Errorf("%d bytes missing: room %t, %+v; want %d bytes", missing, v.imageRoom(0, &terms), l, bytes)
		}
		if l.Forms[0] != FormImage || l.Forms[1] != FormFile || l.Compressed[3] != FormImage {
			t.Errorf("forms %v and %v: want images of unknown words", l.Forms, l.Compressed)
		}
	}
}

// A step with candidates only counts them, even if Count is false, and its trace has the exact
// bytes of candidates and hits.
func TestStepTraffic(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, true, 4, 2, 0)
	hits, _ := c.oracle(t, q)
	var last *Candidates
	for first, k := range []int{0, 0, 10} {
		s := &Step{Legs: q.Legs, NumTerms: 3, First: first, End: first + 1, From: last, K: k}
		var trace Trace
		if err := v.Intersect(t.Context(), s, &trace); err != nil || s.Result.Err != nil {
			t.Fatal(err, s.Result.Err)
		}
		d := trace.Devices[0]
		to, from := int64(0), int64(8*s.Out.Len())
		if last != nil {
			to = int64(8 * last.Len())
		}
		if k > 0 {
			from = int64(8 * len(hits))
		} else if s.Result.Matches != int64(s.Out.Len()) || s.Out.Len() < 20 {
			t.Errorf("step %d: %d matches, %d candidates", first, s.Result.Matches, s.Out.Len())
		}
		if d.BytesTo != to || d.BytesFrom != from {
			t.Errorf("step %d: %d bytes to the device, %d from it; want %d, %d", first, d.BytesTo, d.BytesFrom, to, from)
		}
		last = &s.Out
	}
}

// Each failing call of a traced run reaches the query and is counted.
func TestTracedFaults(t *testing.T) {
	c := newCollection(t, 400, 1, "")
	for _, test := range []struct {
		path    Path
		queries int
	}{{PathImages, 1}, {PathImages, 2}, {PathPacked, 1}} {
		t.Run(fmt.Sprint(test.path, test.queries), func(t *testing.T) {
			var faults cuda.Faults
			e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1, Faults: &faults})
			v := c.attach(t, e)
			defer v.Release()
			var queries []*Query
			for i := range test.queries {
				q := c.query(t, false, 5+i, 2)
				q.Path = test.path
				queries = append(queries, q)
			}
			traced := func() []Result {
				results := make([]Result, len(queries))
				if err := v.Run(t.Context(), queries, results, nil, new(Trace)); err != nil {
					t.Fatal(err)
				}
				v.WaitForPromotions()
				return results
			}
			for range 3 {
				traced()
			}
			before := faults.Calls()
			traced()
			for call, n := range faults.Calls() {
				for nth := range n - before[call] {
					counted := e.Stats().Devices[0].Errors
					faults.Fail(call, nth+1, cuda.InvalidValue)
					r := traced()
					if !IsDeviceError(r[0].Err) || !strings.Contains(r[0].Err.Error(), call) || e.Stats().Devices[0].Errors == counted {
						t.Errorf("call %d of %s fails: error %v", nth+1, call, r[0].Err)
					}
					for i, r := range traced() {
						c.compare(t, queries[i], &r)
					}
				}
			}
		})
	}
}

// Images of exactly the limit fit together. A device without a shortage, and few queries, do not ask.
func TestCrowd(t *testing.T) {
	c := newCollection(t, 1000, 1, "")
	v := c.attach(t, open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1}))
	defer v.Release()
	queries := []*Query{c.query(t, false, 3, 1)}
	for len(queries) <= fewQueries {
		queries = append(queries, c.query(t, false, 3))
	}
	size := v.imageBytes(0, 0, &queries[0].Legs[0]) + v.imageBytes(0, 0, &queries[0].Legs[1])
	d := v.engine.devices[0]
	for _, test := range []struct {
		tight   bool
		limit   int64
		queries int
		want    crowd
	}{
		{false, size / 8, len(queries), crowd{}},
		{true, size / 8, len(queries), crowd{times: 8}},
		{true, size - 1, len(queries), crowd{times: float64(size) / float64(size-1)}},
		{true, size, len(queries), crowd{}},
		{true, size + 1, len(queries), crowd{}},
		{true, size / 8, fewQueries, crowd{few: true}},
		{true, 0, len(queries), crowd{times: float64(size)}},
	} {
		d.tight.Store(test.tight)
		d.Probe().SetLimit(test.limit)
		if got := v.crowd(0, queries[:test.queries]); got != test.want {
			t.Errorf("%+v: %+v", test, got)
		}
	}
}

// Nothing is launched for a step without candidates, or for a batch without a possible match.
func TestNothingToLaunch(t *testing.T) {
	c := newCollection(t, 500, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	var from Candidates
	from.Reset(2)
	q := c.query(t, true, 3, 1)
	s := &Step{Legs: q.Legs, NumTerms: 2, From: &from, K: 5, Count: true}
	if err := v.Intersect(t.Context(), s, nil); err != nil || s.Result.Err != nil || len(s.Result.Hits) != 0 {
		t.Errorf("errors %v, %v, hits %v", err, s.Result.Err, s.Result.Hits)
	}
	queries := make([]*Query, fewQueries+1)
	for i := range queries {
		queries[i] = c.query(t, true, 99, i)
		queries[i].Path = PathImages
	}
	for i, r := range run(t, v, queries) {
		c.compare(t, queries[i], &r)
	}
	if n := e.Stats().Devices[0].Launches; n != 0 {
		t.Errorf("%d launches", n)
	}
}
