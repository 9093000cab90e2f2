package experiments

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

type paraWay struct {
	name        string
	search      intersect.Search
	contraction intersect.Contraction // without the Universe
	spec        string                // of a Regression codec; "": uncompressed
}

// ao11's searches on the GPU, with the paper's names, and one of ours.
var paraWays = []paraWay{
	{name: "IS", search: intersect.InterpolationSearch},
	{name: "BS", search: intersect.BinarySearch},
	{name: "LR", search: intersect.LinearRegression, contraction: intersect.Contraction{Line: true}},
	{name: "HS32", search: intersect.HashSegmentation, contraction: intersect.Contraction{BucketSize: 32}},
	{name: "HS16", search: intersect.HashSegmentation, contraction: intersect.Contraction{BucketSize: 16}},
	{name: "HS16 and bitmaps", search: intersect.HashSegmentation, contraction: intersect.Contraction{BucketSize: 16, BitmapShare: 1.0 / 64}},
	{name: "LRC", search: intersect.LRC, spec: "lrc"},
	{name: "LRCSeg", search: intersect.LRCSeg, spec: "lrcseg"},
	{name: "SegLRC", search: intersect.SegLRC, spec: "seglrc"},
	{name: "HS256_LRC", search: intersect.HSLRC, spec: "hs-lrc"},
	{name: "HS128_LRC", search: intersect.HSLRC, spec: "hs-lrc:bucket=128"},
}

func paraWayOf(name string) (*paraWay, bool) {
	for i := range paraWays {
		if paraWays[i].name == name {
			return &paraWays[i], true
		}
	}
	return nil, false
}

// Queries whose lists lie in device memory for one method.
type paraQueries struct {
	deviceMemory
	way        *paraWay
	kernels    *para.Kernels
	plain      [][]intersect.View           // by query
	compressed [][]intersect.CompressedView // by query
}

func newParaQueries(d *lab.Device, w *paraWay, queries [][][]uint32, universe int) (*paraQueries, error) {
	q := &paraQueries{deviceMemory: deviceMemory{device: d}, way: w}
	if err := q.load(queries, universe); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", w.name, err), q.free())
	}
	return q, nil
}

func (q *paraQueries) load(queries [][][]uint32, universe int) (err error) {
	if q.kernels, err = para.Load(q.device.Device); err != nil {
		return err
	}
	q.frees = append(q.frees, q.kernels.Close)
	if q.way.spec != "" {
		return q.loadCompressed(queries)
	}
	c := q.way.contraction
	c.Universe = universe
	there := map[*uint32]intersect.View{}
	for _, lists := range queries {
		var views []intersect.View
		for _, docIDs := range lists {
			v, ok := there[&docIDs[0]]
			if !ok {
				l, err := intersect.NewContracted(q.device.Stream, q.device.Device, docIDs, c)
				if err != nil {
					return err
				}
				q.frees = append(q.frees, l.Free)
				v = l.View()
				there[&docIDs[0]] = v
			}
			views = append(views, v)
		}
		q.plain = append(q.plain, views)
	}
	return nil
}

func (q *paraQueries) loadCompressed(queries [][][]uint32) error {
	found, err := codec.Lookup(q.way.spec)
	if err != nil {
		return err
	}
	c := found.(codec.Regression)
	there := map[*uint32]intersect.CompressedView{}
	var bytes []byte
	for _, lists := range queries {
		var views []intersect.CompressedView
		for _, docIDs := range lists {
			v, ok := there[&docIDs[0]]
			if !ok {
				bytes = c.AppendList(bytes[:0], docIDs)
				l, err := intersect.NewCompressed(q.device.Stream, q.device.Device, c, bytes, len(docIDs))
				if err != nil {
					return err
				}
				q.frees = append(q.frees, l.Free)
				v = l.View()
				there[&docIDs[0]] = v
			}
			views = append(views, v)
		}
		q.compressed = append(q.compressed, views)
	}
	return nil
}

type paraRun struct {
	queries, batches, found int
	took, device            time.Duration // total time; device: of the kernels
}

// Throughput is in queries per second, response in milliseconds per batch;
// share is the kernels' share of the total time.
func (r *paraRun) throughput() float64 { return float64(r.queries) / max(r.took.Seconds(), 1e-9) }
func (r *paraRun) response() float64   { return r.took.Seconds() * 1000 / float64(max(r.batches, 1)) }
func (r *paraRun) share() float64      { return min(1, r.device.Seconds()/max(r.took.Seconds(), 1e-9)) }

// run answers all queries in batches with a computational threshold,
// sequentially as in ao11: gather on the CPU, copy, compute, copy back,
// including the DocIDs. The time is the minimum of several rounds.
func (q *paraQueries) run(ctx context.Context, env *lab.Env, threshold int) (best paraRun, err error) {
	b, err := q.kernels.NewBatch(para.Options{Threshold: threshold, Search: q.way.search})
	if err != nil {
		return best, err
	}
	defer func() { err = errors.Join(err, b.Close()) }()
	n := max(len(q.plain), len(q.compressed))
	for round := range lab.Pick(env, 4, 1) {
		if ctx.Err() != nil {
			return best, context.Cause(ctx)
		}
		r := paraRun{queries: n}
		start := time.Now()
		for i := range n {
			if q.way.spec == "" {
				err = b.Add(q.plain[i]...)
			} else {
				err = b.AddCompressed(q.compressed[i]...)
			}
			if err != nil {
				return best, err
			}
			if b.Full() || i == n-1 {
				if err := b.Run(q.device.Stream); err != nil {
					return best, err
				}
				r.batches++
				r.found += b.Total()
				b.Reset()
			}
		}
		r.took = time.Since(start)
		if round == 0 || r.took < best.took {
			best = r
		}
	}
	best.device, err = q.kernelTime(b, n)
	return best, err
}

// Device time of the kernels of all batches.
func (q *paraQueries) kernelTime(b *para.Batch, n int) (sum time.Duration, err error) {
	for i := range n {
		if q.way.spec == "" {
			err = b.Add(q.plain[i]...)
		} else {
			err = b.AddCompressed(q.compressed[i]...)
		}
		if err != nil {
			return 0, err
		}
		if b.Full() || i == n-1 {
			if err := b.Run(q.device.Stream); err != nil {
				return 0, err
			}
			t, err := q.device.Time(context.Background(), 1, 1, func() error { return b.Launch(q.device.Stream) })
			if err != nil {
				return 0, err
			}
			sum += t.Min
			b.Reset()
		}
	}
	return sum, nil
}

// askedOf returns the lists of at most n queries with 2 or more terms, each
// from short to long.
func askedOf(c *lab.Collection, queries []lab.Query, n int) ([][][]uint32, error) {
	var several []lab.Query
	for _, q := range queries {
		if len(q.Terms) > 1 {
			several = append(several, q)
		}
	}
	lists := listCache{c: c, lists: map[string][]uint32{}}
	var asked [][][]uint32
	for _, q := range spread(several, n) {
		l, err := lists.ofQuery(q)
		if err != nil {
			return nil, err
		}
		asked = append(asked, l)
	}
	return asked, nil
}

func runWay(ctx context.Context, env *lab.Env, d *lab.Device, w *paraWay, queries [][][]uint32, universe int, thresholds ...int) (runs []paraRun, err error) {
	q, err := newParaQueries(d, w, queries, universe)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, q.free()) }()
	for _, threshold := range thresholds {
		r, err := q.run(ctx, env, threshold)
		if err != nil {
			return nil, fmt.Errorf("%s, threshold %d: %w", w.name, threshold, err)
		}
		runs = append(runs, r)
	}
	return runs, nil
}
