package intersect

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// Each driver call of a conjunction fails in turn: either the answer is right,
// or there is a driver error and all memory is freed.
func TestFaults(t *testing.T) {
	first, second := rising(300, 0, 3), rising(700, 0, 2)
	want := mergeLists(first, second, second)
	run := func(t *testing.T, d *cuda.Device) {
		got, err := conjunction(t, d, first, second)
		if gputest.Survived(t, err) && !got.equal(want) {
			t.Error(difference(got, want))
		}
	}
	gputest.EachFault(t, cuda.OutOfMemory, []string{"cuMemAlloc_v2", "cuModuleLoadDataEx"}, run)
	gputest.EachFault(t, cuda.LaunchFailed, []string{"cuLaunchKernel"}, run)
}

// conjunction intersects a with b and the result with b.
func conjunction(t *testing.T, d *cuda.Device, a, b []uint32) (got candidates, err error) {
	var frees []func() error
	defer func() {
		for _, free := range frees {
			if e := free(); err == nil {
				err = e
			}
		}
	}()
	x, err := New(d)
	if err != nil {
		return got, err
	}
	frees = append(frees, x.Close)
	s, err := d.NewStream()
	if err != nil {
		return got, err
	}
	frees = append(frees, s.Close)
	var lists []Operand
	for _, docIDs := range [][]uint32{a, b, b} {
		memory, err := cuda.Alloc[uint32](d, len(docIDs))
		if err != nil {
			return got, err
		}
		frees = append(frees, memory.Free)
		if err := cuda.CopyToDevice(s, memory, docIDs); err != nil {
			return got, err
		}
		lists = append(lists, Operand{List: List{DocIDs: memory}})
	}
	c, err := NewChain(d, len(lists), len(a), len(b), 7)
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { c.Free(); return nil })
	out, err := NewCandidates(d, len(lists), len(a))
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { out.Free(); return nil })
	if err := x.All(s, c, lists, out); err != nil {
		return got, err
	}
	if err := s.Synchronize(); err != nil {
		return got, err
	}
	r := &rig{&gputest.Session{TB: t, Device: d, Stream: s}, x}
	return r.candidates(out, len(lists)), nil
}

func TestSearchFaults(t *testing.T) {
	first, second := rising(300, 0, 3), rising(700, 0, 2)
	want := mergeLists(first, second)
	for _, a := range []Search{HashSegmentation, SegLRC} {
		run := func(t *testing.T, d *cuda.Device) {
			got, err := searched(t, d, a, first, second)
			if gputest.Survived(t, err) && !got.equal(want) {
				t.Error(difference(got, want))
			}
		}
		gputest.EachFault(t, cuda.OutOfMemory, []string{"cuMemAlloc_v2", "cuModuleLoadDataEx", "cuMemcpyHtoDAsync_v2", "cuLaunchKernel"}, run)
	}
}

func searched(t *testing.T, d *cuda.Device, a Search, first, second []uint32) (got candidates, err error) {
	var frees []func() error
	defer func() {
		for i := range frees {
			err = errors.Join(err, frees[len(frees)-1-i]())
		}
	}()
	x, err := New(d)
	if err != nil {
		return got, err
	}
	frees = append(frees, x.Close)
	searcher, err := NewSearcher(x)
	if err != nil {
		return got, err
	}
	s, err := d.NewStream()
	if err != nil {
		return got, err
	}
	frees = append(frees, s.Close)
	o, lists, err := operandsOf(d, s, a, first, second)
	frees = append(frees, lists...)
	if err != nil {
		return got, err
	}
	frees = append(frees, o.Free)
	w, err := NewWorkspace(d, len(first), len(first))
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { w.Free(); return nil })
	out, err := NewCandidates(d, 2, len(first))
	if err != nil {
		return got, err
	}
	frees = append(frees, func() error { out.Free(); return nil })
	if err := errors.Join(searcher.Search(s, w, o, out), s.Synchronize()); err != nil {
		return got, err
	}
	r := &rig{&gputest.Session{TB: t, Device: d, Stream: s}, x}
	return r.candidates(out, 2), nil
}

func operandsOf(d *cuda.Device, s *cuda.Stream, a Search, lists ...[]uint32) (o *Operands, frees []func() error, err error) {
	var plain []*Contracted
	var compressed []*Compressed
	for _, docIDs := range lists {
		if !a.Compressed() {
			l, err := NewContracted(s, d, docIDs, Contraction{BucketSize: 16, Universe: 2000})
			if err != nil {
				return nil, frees, err
			}
			plain, frees = append(plain, l), append(frees, l.Free)
			continue
		}
		k := codec.Regression{Scheme: codec.Scheme(a - LRC)}
		l, err := NewCompressed(s, d, k, k.AppendList(nil, docIDs), len(docIDs))
		if err != nil {
			return nil, frees, err
		}
		compressed, frees = append(compressed, l), append(frees, l.Free)
	}
	if a.Compressed() {
		o, err = NewCompressedOperands(s, d, compressed...)
	} else {
		o, err = NewOperands(s, d, a, plain...)
	}
	return o, frees, err
}
