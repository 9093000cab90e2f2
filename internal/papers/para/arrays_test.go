package para_test

import (
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/papers/intersect"
	"github.com/griffin-search/griffin/internal/papers/para"
)

func uploaded[T any](t *testing.T, e engine, data []T) cuda.Buffer[T] {
	t.Helper()
	b, err := cuda.Alloc[T](e.device, len(data))
	must(t, err)
	t.Cleanup(func() { must(t, b.Free()) })
	must(t, cuda.CopyToDevice(e.stream, b, data))
	return b
}

// arrays uploads lists, with g parts unless it is 0.
func (e engine) arrays(t *testing.T, w *querytest.Workload, g int) lists {
	t.Helper()
	var out lists
	for _, l := range w.Lists {
		a := para.Array{DocIDs: uploaded(t, e, l), NumPostings: len(l)}
		if g > 0 && len(l) > 0 {
			a.PartLen = (len(l) + g - 1) / g
			var parts []para.Part
			for at := 0; at < len(l); at += a.PartLen {
				part := l[at:min(at+a.PartLen, len(l))]
				parts = append(parts, para.NewPart(part[0], contraction.NewSafeRange(part)))
			}
			a.Parts = uploaded(t, e, parts)
		}
		out.arrays = append(out.arrays, a)
	}
	return out
}

// withoutEmpty drops the queries with an empty list.
func withoutEmpty(w *querytest.Workload) *querytest.Workload {
	full := *w
	full.Queries = nil
	for _, q := range w.Queries {
		empty := false
		for _, n := range q {
			empty = empty || len(w.Lists[n]) == 0
		}
		if !empty {
			full.Queries = append(full.Queries, q)
		}
	}
	return &full
}

func TestArrays(t *testing.T) {
	e := newEngine(t)
	for name, w := range map[string]*querytest.Workload{"edges": edges(), "gov": querytest.Gov(5, 1<<14, 160, 60)} {
		w = withoutEmpty(w)
		for _, c := range []struct {
			search intersect.Search
			parts  int
		}{
			{intersect.BinarySearch, 0},
			{intersect.InterpolationSearch, 0},
			{intersect.LinearRegression, 1},
			{intersect.LinearRegression, 7},
			{intersect.LinearRegression, 1 << 12},
		} {
			t.Run(fmt.Sprintf("%s/%s/parts=%d", name, c.search, c.parts), func(t *testing.T) {
				l := e.arrays(t, w, c.parts)
				b, err := e.kernels.NewBatch(para.Options{Threshold: 1 << 13, Search: c.search, Local: c.parts > 0})
				must(t, err)
				checkBatches(t, e, b, &l, w)
				must(t, b.Close())
			})
		}
	}
}

func TestWithoutH(t *testing.T) {
	e := newEngine(t)
	for name, w := range map[string]*querytest.Workload{"edges": edges(), "gov": querytest.Gov(5, 1<<14, 160, 60)} {
		for _, a := range []intersect.Search{intersect.LRC, intersect.LRCSeg, intersect.SegLRC} {
			t.Run(fmt.Sprintf("%s/%s", name, a), func(t *testing.T) {
				l := e.upload(t, a, intersect.Contraction{}, w)
				b, err := e.kernels.NewBatch(para.Options{Threshold: 1 << 13, Search: a, WithoutH: true})
				must(t, err)
				checkBatches(t, e, b, &l, w)
				must(t, b.Close())
			})
		}
	}
}

func TestArraysRefuse(t *testing.T) {
	e := newEngine(t)
	for _, o := range []para.Options{
		{Search: intersect.BinarySearch, Local: true}, {Search: intersect.HSLRC, WithoutH: true}, {Search: intersect.LinearRegression, WithoutH: true},
	} {
		if _, err := e.kernels.NewBatch(o); err == nil {
			t.Errorf("a batch with %+v is accepted", o)
		}
	}
	list := para.Array{DocIDs: uploaded(t, e, []uint32{1, 2, 3}), NumPostings: 3}
	for _, o := range []para.Options{
		{Search: intersect.LinearRegression, Local: true}, {Search: intersect.LinearRegression}, {Search: intersect.HashSegmentation},
	} {
		b, err := e.kernels.NewBatch(o)
		must(t, err)
		if b.AddArrays(list) == nil {
			t.Errorf("%+v: a list without ranges is accepted", o)
		}
		if o.Local && b.Add(intersect.View{}) == nil {
			t.Error("a list without parts is accepted")
		}
		must(t, b.Close())
	}
	b, err := e.kernels.NewBatch(para.Options{})
	must(t, err)
	defer func() { must(t, b.Close()) }()
	long := list
	long.NumPostings = 4
	if b.AddArrays() == nil || b.AddArrays(long) == nil {
		t.Error("no lists, or a list longer than its buffer, are accepted")
	}
	must(t, b.AddArrays(list, list))
	if b.SizeBytes() != 8*(8+8+2+1) {
		t.Errorf("a query of two lists and one tile takes %d bytes", b.SizeBytes())
	}
}
