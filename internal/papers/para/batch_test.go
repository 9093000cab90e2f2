package para_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

type engine struct {
	device  *cuda.Device
	stream  *cuda.Stream
	kernels *para.Kernels
}

func newEngine(t testing.TB) engine {
	t.Helper()
	d := gputest.Open(t)
	k, err := para.Load(d)
	must(t, err)
	s, err := d.NewStream()
	must(t, err)
	t.Cleanup(func() {
		must(t, s.Close())
		must(t, k.Close())
	})
	return engine{d, s, k}
}

type lists struct {
	plain      []intersect.View
	compressed []intersect.CompressedView
	arrays     []para.Array
	sizeBytes  int64

	query           []intersect.View // scratch of add
	compressedQuery []intersect.CompressedView
	arrayQuery      []para.Array
}

// The index data that a search needs.
func contractionOf(a intersect.Search, universe int, bitmaps bool) intersect.Contraction {
	if bitmaps {
		return intersect.DefaultContraction(universe)
	}
	return intersect.Contraction{Line: a == intersect.LinearRegression, BucketSize: 16, Universe: universe}
}

func (e engine) upload(t testing.TB, a intersect.Search, c intersect.Contraction, w *querytest.Workload) lists {
	t.Helper()
	var out lists
	for _, l := range w.Lists {
		if a.Compressed() {
			k := codec.Regression{Scheme: codec.Scheme(a - intersect.LRC)}
			var bytes []byte
			if len(l) > 0 {
				bytes = k.AppendList(nil, l)
			}
			p, err := intersect.NewCompressed(e.stream, e.device, k, bytes, len(l))
			must(t, err)
			t.Cleanup(func() { must(t, p.Free()) })
			out.compressed = append(out.compressed, p.View())
			out.sizeBytes += p.SizeBytes()
			continue
		}
		p, err := intersect.NewContracted(e.stream, e.device, l, c)
		must(t, err)
		t.Cleanup(func() { must(t, p.Free()) })
		out.plain = append(out.plain, p.View())
		out.sizeBytes += p.SizeBytes()
	}
	return out
}

// A query is given as list numbers.
func (l *lists) add(b *para.Batch, query []int) error {
	l.query, l.compressedQuery, l.arrayQuery = l.query[:0], l.compressedQuery[:0], l.arrayQuery[:0]
	for _, n := range query {
		switch {
		case l.compressed != nil:
			l.compressedQuery = append(l.compressedQuery, l.compressed[n])
		case l.arrays != nil:
			l.arrayQuery = append(l.arrayQuery, l.arrays[n])
		default:
			l.query = append(l.query, l.plain[n])
		}
	}
	switch {
	case l.compressed != nil:
		return b.AddCompressed(l.compressedQuery...)
	case l.arrays != nil:
		return b.AddArrays(l.arrayQuery...)
	}
	return b.Add(l.query...)
}

// At the limits of a batch's layout.
func edges() *querytest.Workload {
	rng := rand.New(rand.NewPCG(3, 5))
	const universe = 1 << 16
	random := func(n int) []uint32 {
		set := make([]uint32, n)
		for i := range set {
			set[i] = rng.Uint32N(universe)
		}
		slices.Sort(set)
		return slices.Compact(set)
	}
	every := make([]uint32, universe)
	for i := range every {
		every[i] = uint32(i)
	}
	w := &querytest.Workload{NumDocs: universe, Lists: [][]uint32{
		0: {}, 1: {0}, 2: {universe - 1}, 3: every, 4: random(127), 5: every[:128], 6: every[:129],
		7: random(3000), 8: random(9000), 9: random(30_000), 10: every[:1024], 11: every[1024:2048],
	}}
	w.Queries = [][]int{
		{0},
		{1},
		{3, 0},
		{1, 3},
		{2, 3, 9},
		{1, 2},
		{4, 3},
		{5, 6},
		{6, 6},
		{10, 11},
		{0, 1, 2},
		{7},
		{8, 7},
		{9, 8, 7},
		{3, 9, 8, 7, 4},
		{7, 7, 7, 7},
		{3, 10, 9, 8},
		{9, 9},
		{0},
	}
	for range 30 {
		q := make([]int, 1+rng.IntN(6))
		for i := range q {
			q[i] = 1 + rng.IntN(len(w.Lists)-1)
		}
		w.Queries = append(w.Queries, q)
	}
	return w
}

// checkBatches compares with a merge.
func checkBatches(t *testing.T, e engine, b *para.Batch, l *lists, w *querytest.Workload) {
	t.Helper()
	for from := 0; from < len(w.Queries); {
		to := from
		for ; to < len(w.Queries) && !b.Full(); to++ {
			must(t, l.add(b, w.Queries[to]))
		}
		must(t, b.Run(e.stream))
		total := 0
		for i, q := range w.Queries[from:to] {
			want := w.Intersect(q)
			total += len(want)
			if b.Count(i) != len(want) {
				t.Fatalf("query %d %v has %d DocIDs, want %d", from+i, q, b.Count(i), len(want))
			}
			if got := b.DocIDs(i); !slices.Equal(got, want) {
				t.Fatalf("query %d %v: the DocIDs differ from a merge", from+i, q)
			}
		}
		if b.Total() != total {
			t.Fatalf("%d DocIDs in all, want %d", b.Total(), total)
		}
		b.Reset()
		from = to
	}
}

func TestBatches(t *testing.T) {
	e := newEngine(t)
	workloads := map[string]*querytest.Workload{"edges": edges(), "gov": querytest.Gov(5, 1<<14, 160, 60)}
	for a := range intersect.NumSearches {
		for name, w := range workloads {
			t.Run(fmt.Sprintf("%s/%s", a, name), func(t *testing.T) {
				l := e.upload(t, a, contractionOf(a, w.NumDocs, false), w)
				for _, threshold := range []int{1, 1 << 13} {
					b, err := e.kernels.NewBatch(para.Options{Threshold: threshold, Search: a})
					must(t, err)
					checkBatches(t, e, b, &l, w)
					must(t, b.Close())
				}
			})
		}
	}
}

// With bitmaps for the longer lists, and default options.
func TestBatchesWithBitmaps(t *testing.T) {
	e := newEngine(t)
	for _, w := range []*querytest.Workload{edges(), querytest.Gov(6, 1<<15, 160, 40)} {
		l := e.upload(t, intersect.HashSegmentation, contractionOf(intersect.HashSegmentation, w.NumDocs, true), w)
		b, err := e.kernels.NewBatch(para.Options{Search: intersect.HashSegmentation})
		must(t, err)
		checkBatches(t, e, b, &l, w)
		must(t, b.Close())
	}
}

// More blocks than threads that sum their matches.
func TestManyBlocks(t *testing.T) {
	e := newEngine(t)
	w := edges()
	w.Queries = [][]int{{3}, {7}, {3, 3}, {3}, {9, 3}, {3}, {3}, {1}}
	l := e.upload(t, intersect.HashSegmentation, contractionOf(intersect.HashSegmentation, w.NumDocs, true), w)
	b, err := e.kernels.NewBatch(para.Options{Search: intersect.HashSegmentation})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	checkBatches(t, e, b, &l, w)
}

// Without queries, without elements, and with counts only.
func TestEmptyBatch(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	b, err := e.kernels.NewBatch(para.Options{CountOnly: true})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	must(t, b.Run(e.stream))
	if b.Len() != 0 || b.Total() != 0 {
		t.Errorf("an empty batch has %d queries and %d DocIDs", b.Len(), b.Total())
	}
	b.Reset()
	for _, q := range [][]int{{0}, {0, 3}, {3, 0}} {
		must(t, l.add(b, q))
	}
	must(t, b.Run(e.stream))
	for i := range b.Len() {
		if b.Count(i) != 0 {
			t.Errorf("query %d has %d DocIDs", i, b.Count(i))
		}
	}
	b.Reset()
	for _, q := range w.Queries {
		must(t, l.add(b, q))
	}
	must(t, b.Run(e.stream))
	for i, q := range w.Queries {
		if want := len(w.Intersect(q)); b.Count(i) != want {
			t.Errorf("query %v counts %d DocIDs, want %d", q, b.Count(i), want)
		}
	}
}

// By the elements of shortest lists, and for short lists by their tiles.
func TestFull(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	for _, c := range []struct {
		query   []int
		queries int
	}{
		{[]int{3, 5}, 32},  // 128 elements each
		{[]int{6}, 32},     // 129
		{[]int{4, 3}, 0},   // 127 or so, by elements
		{[]int{1, 3}, 256}, // 1: 16 count
	} {
		b, err := e.kernels.NewBatch(para.Options{Threshold: 4096})
		must(t, err)
		n := 0
		for ; !b.Full(); n++ {
			must(t, l.add(b, c.query))
		}
		want := c.queries
		if want == 0 {
			shortest := len(w.Lists[c.query[0]])
			want = (4096 + shortest - 1) / shortest
		}
		if n != want {
			t.Errorf("%d queries of %v fill a batch, want %d", n, c.query, want)
		}
		must(t, b.Close())
	}
}

func TestTwoBatches(t *testing.T) {
	e := newEngine(t)
	other, err := e.device.NewStream()
	must(t, err)
	defer func() { must(t, other.Close()) }()
	w := querytest.Gov(8, 1<<14, 160, 24)
	l := e.upload(t, intersect.HashSegmentation, contractionOf(intersect.HashSegmentation, w.NumDocs, false), w)
	var batches [2]*para.Batch
	for i, s := range []*cuda.Stream{e.stream, other} {
		b, err := e.kernels.NewBatch(para.Options{Search: intersect.HashSegmentation})
		must(t, err)
		defer func() { must(t, b.Close()) }()
		for _, q := range w.Queries[12*i : 12*i+12] {
			must(t, l.add(b, q))
		}
		must(t, b.Start(s))
		batches[i] = b
	}
	for i, b := range batches {
		must(t, b.Wait())
		for j, q := range w.Queries[12*i : 12*i+12] {
			if !slices.Equal(b.DocIDs(j), w.Intersect(q)) {
				t.Errorf("batch %d, query %d: the DocIDs differ from a merge", i, j)
			}
		}
	}
}

func TestBatchRefuses(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	for _, o := range []para.Options{{Threshold: -1}, {Threshold: para.MaxThreshold + 1}, {Search: intersect.NumSearches}} {
		if _, err := e.kernels.NewBatch(o); err == nil {
			t.Errorf("a batch with %+v is accepted", o)
		}
	}
	b, err := e.kernels.NewBatch(para.Options{})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	if b.Add() == nil || b.AddCompressed(intersect.CompressedView{}) == nil {
		t.Error("a query without lists, or of compressed lists for an uncompressed search, is accepted")
	}
	if b.Wait() == nil {
		t.Error("Wait before Start is accepted")
	}
	hashed, err := e.kernels.NewBatch(para.Options{Search: intersect.HashSegmentation})
	must(t, err)
	defer func() { must(t, hashed.Close()) }()
	compressed, err := e.kernels.NewBatch(para.Options{Search: intersect.SegLRC})
	must(t, err)
	defer func() { must(t, compressed.Close()) }()
	other := e.upload(t, intersect.HSLRC, intersect.Contraction{}, &querytest.Workload{Lists: [][]uint32{{1, 2, 3}}})
	if other.add(compressed, []int{0}) == nil {
		t.Error("a list of hs-lrc is accepted for searches in seglrc")
	}
	if l.add(hashed, []int{3, 9}) == nil {
		t.Error("lists without buckets are accepted for hash segmentation")
	}
	must(t, l.add(b, []int{3, 9}))
	must(t, b.Run(e.stream))
	if l.add(b, []int{3}) == nil || b.Start(e.stream) == nil {
		t.Error("Add after Start is accepted")
	}
}

// Each driver call fails once: the batch returns the error, and answers other
// queries correctly when it is reused.
func TestFaults(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	others := &querytest.Workload{NumDocs: w.NumDocs, Lists: w.Lists, Queries: [][]int{{9, 8, 7, 3, 2}, {6}}}
	failures := 0
	for nth := 1; ; nth++ {
		b, err := e.kernels.NewBatch(para.Options{})
		must(t, err)
		for _, q := range w.Queries {
			must(t, l.add(b, q))
		}
		faults := &cuda.Faults{}
		faults.Fail("", nth, cuda.OutOfMemory)
		e.device.InjectFaults(faults)
		err = b.Start(e.stream)
		waiting := err == nil
		if waiting {
			err = b.Wait()
		}
		e.device.InjectFaults(nil)
		if err == nil {
			must(t, b.Close())
			break // all calls have failed once
		}
		failures++
		if !errors.Is(err, cuda.ErrOutOfMemory) {
			t.Fatalf("call %d: %v", nth, err)
		}
		if waiting {
			must(t, e.stream.Synchronize())
		}
		b.Reset()
		checkBatches(t, e, b, &l, others)
		must(t, b.Close())
	}
	if failures < 10 {
		t.Errorf("only %d calls could fail", failures)
	}
}

// After Reserve, Start needs no memory.
func TestReserve(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	b, err := e.kernels.NewBatch(para.Options{})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	for _, q := range w.Queries {
		must(t, l.add(b, q))
	}
	faults := &cuda.Faults{}
	faults.Fail("cuMemAlloc_v2", 0, cuda.OutOfMemory)
	faults.Fail("cuMemHostAlloc", 0, cuda.OutOfMemory)
	e.device.InjectFaults(faults)
	err = b.Reserve(e.stream)
	e.device.InjectFaults(nil)
	if !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("without memory: %v", err)
	}
	must(t, b.Reserve(e.stream))
	e.device.InjectFaults(faults)
	err = b.Start(e.stream)
	e.device.InjectFaults(nil)
	must(t, err)
	if err := b.Reserve(e.stream); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("of a started batch: %v", err)
	}
	must(t, b.Wait())
}

func TestBatchAllocatesNothing(t *testing.T) {
	e := newEngine(t)
	w := edges()
	l := e.upload(t, intersect.BinarySearch, intersect.Contraction{}, w)
	b, err := e.kernels.NewBatch(para.Options{})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	query := []intersect.View{l.plain[9], l.plain[8], l.plain[7]}
	for range 100 {
		must(t, b.Add(query...))
	}
	b.Reset()
	if n := testing.AllocsPerRun(50, func() { must(t, b.Add(query...)) }); n != 0 {
		t.Errorf("Add allocates %.1f times", n)
	}
	answer := func() {
		b.Reset()
		must(t, b.Add(query...))
		must(t, b.Run(e.stream))
		if got := b.Count(0); got != len(b.DocIDs(0)) {
			t.Errorf("%d DocIDs, and a count of %d", len(b.DocIDs(0)), got)
		}
	}
	answer()
	if n := gputest.AllocsPerRun(5, answer); n != 0 {
		t.Errorf("a batch allocates %.1f times", n)
	}
}
