package intersect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// blocked returns list as if compressed in blocks of 1<<shift; its decoder
// copies the selected blocks from the host.
func (r *rig) blocked(list []uint32, shift, stride int) *Blocks {
	n := tilesOf(len(list), 1<<shift)
	firsts := make([]uint32, (n-1)*stride+1)
	for i := range n {
		firsts[i*stride] = list[i<<shift]
	}
	return &Blocks{
		Firsts: r.upload(firsts, 1), Stride: stride, Len: len(list), BlockShift: shift,
		Decode: func(s *cuda.Stream, sel Selection, dst cuda.Buffer[uint32]) error {
			numbers := r.download(sel.Numbers, int(r.download(sel.Count, 1)[0]))
			for i, number := range numbers {
				block := list[number<<shift : min(len(list), int(number+1)<<shift)]
				if err := cuda.CopyToDevice(s, dst.Slice(i<<shift, i<<shift+len(block)), block); err != nil {
					return err
				}
			}
			return nil
		},
	}
}

// selectedBlocks is the CPU reference of block selection.
func selectedBlocks(a, b []uint32, shift int) []uint32 {
	var out []uint32
	begun := uint32(0) // blocks that begin at or before x
	for _, x := range a {
		for int(begun)<<shift < len(b) && b[begun<<shift] <= x {
			begun++
		}
		if begun > 0 && (len(out) == 0 || out[len(out)-1] != begun-1) {
			out = append(out, begun-1)
		}
	}
	return out
}

func blockPairs() []listPair {
	rng := rand.New(rand.NewPCG(8, 1))
	cases := []listPair{
		{"nothing before the first block", []uint32{1, 2, 3}, rising(700, 10, 2)},
		{"all behind the last block", []uint32{highest - 1, highest}, rising(700, 10, 2)},
		{"the first and the last element", []uint32{10, 10 + 2*699}, rising(700, 10, 2)},
		{"an element of each block", rising(8, 10, 256), rising(1000, 10, 2)},
		{"whole blocks", rising(200, 0, 5), rising(1024, 0, 1)},
		{"few in many blocks", randomList(rng, 50, 1<<20), randomList(rng, 12_000, 1<<20)},
		{"two tiles of elements", randomList(rng, 1500, 1<<16), randomList(rng, 9000, 1<<16)},
		{"runs in few blocks", rising(400, 30_000, 1), randomList(rng, 9000, 1<<16)},
		{"from the first of a block on", rising(300, 384, 1), rising(1024, 0, 1)},
		{"one element", []uint32{12}, []uint32{12}},
	}
	return append(cases, listPair{"no element", nil, rising(300, 0, 1)})
}

// On both sides of the crossing.
func TestSelectBlocks(t *testing.T) {
	r := newRig(t)
	for _, crossing := range []int{1, never} {
		r.x.BlockCrossing = crossing
		r.testSelectBlocks(t)
		r.asIfLong(smallItems, func() { r.testSelectBlocks(t) })
	}
}

func (r *rig) testSelectBlocks(t *testing.T) {
	w, err := NewWorkspace(r.Device, 2000, 20_000)
	r.Must(err)
	defer w.Free()
	for i, c := range blockPairs() {
		for _, shift := range []int{2, 7} {
			want := selectedBlocks(c.a, c.b, shift)
			b := r.blocked(c.b, shift, 1+i%2*3)
			a := List{DocIDs: r.upload(c.a, i%4)}
			sel, err := NewSelection(r.Device, b.NumBlocks())
			r.Must(err)
			r.Must(r.x.SelectBlocks(r.Stream, w, a, b, sel))
			if got := r.download(sel.Numbers, int(r.download(sel.Count, 1)[0])); !slices.Equal(got, want) {
				t.Errorf("%s, blocks of %d, crossing %d: selected %d, want %d", c.name, 1<<shift, r.x.BlockCrossing, got, want)
			}
			elements := len(want) << shift
			if n := len(want); n > 0 && int(want[n-1]) == b.NumBlocks()-1 {
				elements -= b.missing()
			}
			if got := r.download(sel.Len, 1)[0]; int(got) != elements {
				t.Errorf("%s, blocks of %d: %d elements, want %d", c.name, 1<<shift, got, elements)
			}
			sel.Free()
		}
	}
}

func TestIntersectBlocks(t *testing.T) {
	r := newRig(t)
	for _, crossing := range []int{1, DefaultBlockCrossing, never} {
		r.x.BlockCrossing = crossing
		r.testIntersectBlocks(t)
		r.asIfLong(smallItems, func() { r.testIntersectBlocks(t) })
	}
}

func (r *rig) testIntersectBlocks(t *testing.T) {
	w, err := NewWorkspace(r.Device, 2000, 20_000)
	r.Must(err)
	defer w.Free()
	for i, c := range blockPairs() {
		for _, shift := range []int{2, 7} {
			b := r.blocked(c.b, shift, 1+i%2*3)
			a := List{DocIDs: r.upload(append(slices.Clone(c.a), 1, 1), 0), Len: r.upload([]uint32{uint32(len(c.a))}, 0)}
			sel, err := NewSelection(r.Device, b.NumBlocks())
			r.Must(err)
			decoded, err := cuda.Alloc[uint32](r.Device, DecodedRoom(a, b))
			r.Must(err)
			out, err := NewCandidates(r.Device, 2, a.bound())
			r.Must(err)
			r.Must(r.x.IntersectBlocks(r.Stream, w, a, b, sel, decoded, out))
			if got, want := r.candidates(out, 2), mergeLists(c.a, c.b); !got.equal(want) {
				t.Errorf("%s, blocks of %d, crossing %d: %s", c.name, 1<<shift, r.x.BlockCrossing, difference(got, want))
			}
			out.Free()
			sel.Free()
			r.Must(decoded.Free())
		}
	}
}

// The chain was allocated for larger blocks.
func TestAllOfSmallBlocks(t *testing.T) {
	r := newRig(t)
	c, err := NewChain(r.Device, 3, 200, 2000, 7)
	r.Must(err)
	defer c.Free()
	out, err := NewCandidates(r.Device, 3, 200)
	r.Must(err)
	defer out.Free()
	a, b := rising(200, 0, 10), rising(2000, 0, 1)
	for shift := range 8 {
		blocks := r.blocked(b, shift, 4)
		for _, crossing := range []int{1, never} {
			r.x.BlockCrossing = crossing
			r.Must(r.x.All(r.Stream, c, []Operand{{List: List{DocIDs: r.upload(a, 0)}}, {Blocks: blocks}, {Blocks: blocks}}, out))
			if got, want := r.candidates(out, 3), mergeLists(a, b, b); !got.equal(want) {
				t.Errorf("blocks of %d, crossing %d: %s", 1<<shift, crossing, difference(got, want))
			}
		}
	}
}

func TestAll(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(5, 5))
	const shift = 5
	c, err := NewChain(r.Device, 5, 1200, 8000, shift)
	r.Must(err)
	defer c.Free()
	for numLists := 2; numLists <= 5; numLists++ {
		for variant := range 4 {
			var plain [][]uint32
			var operands []Operand
			for l := range numLists {
				n := []int{1200, 2400, 4000, 6000, 8000}[l]
				limit := uint32(9000)
				if variant == 3 {
					limit, n = 1<<20, n>>3 // the result is soon empty
				}
				list := randomList(rng, n, limit)
				plain = append(plain, list)
				if o := (Operand{List: List{DocIDs: r.upload(list, l%4)}}); l == 0 || (l+variant)%3 != 0 {
					operands = append(operands, o)
				} else {
					operands = append(operands, Operand{Blocks: r.blocked(list, shift, 4)})
				}
			}
			for _, rows := range []int{numLists, 0} {
				out, err := NewCandidates(r.Device, rows, len(plain[0]))
				r.Must(err)
				r.Must(r.x.All(r.Stream, c, operands, out))
				want := mergeLists(plain...)
				if rows == 0 {
					want.positions = nil
				}
				if got := r.candidates(out, rows); !got.equal(want) {
					t.Errorf("%d lists, variant %d: %s", numLists, variant, difference(got, want))
				}
				out.Free()
			}
		}
	}
}

func TestBlockArguments(t *testing.T) {
	r := newRig(t)
	w, err := NewWorkspace(r.Device, 8, 1000)
	r.Must(err)
	defer w.Free()
	a := List{DocIDs: r.upload(rising(8, 0, 1), 0)}
	good := r.blocked(rising(1000, 0, 1), 7, 1)
	sel, err := NewSelection(r.Device, 8)
	r.Must(err)
	defer sel.Free()
	out, err := NewCandidates(r.Device, 2, 8)
	r.Must(err)
	defer out.Free()
	small, err := NewSelection(r.Device, 7)
	r.Must(err)
	defer small.Free()
	decoded, err := cuda.Alloc[uint32](r.Device, 8<<7-1)
	r.Must(err)
	defer func() { r.Must(decoded.Free()) }()
	changed := func(change func(b *Blocks)) *Blocks {
		b := *good
		change(&b)
		return &b
	}
	for _, c := range []struct {
		name string
		b    *Blocks
		sel  Selection
	}{
		{"a directory that is too short", changed(func(b *Blocks) { b.Stride = 2 }), sel},
		{"no elements", changed(func(b *Blocks) { b.Len = 0 }), sel},
		{"no block size", changed(func(b *Blocks) { b.BlockShift = -1 }), sel},
		{"a selection that is too small", good, small},
		{"room to decode that is too small", good, sel},
	} {
		t.Run(c.name, func(t *testing.T) {
			if err := r.x.IntersectBlocks(r.Stream, w, a, c.b, c.sel, decoded, out); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: error %v", c.name, err)
			}
		})
	}
	chain, err := NewChain(r.Device, 3, 8, 1000, 7)
	r.Must(err)
	defer chain.Free()
	for n, lists := range map[int][]Operand{
		1: {{List: a}},
		2: {{Blocks: good}, {List: a}},
		4: {{List: a}, {List: a}, {List: a}, {List: a}},
	} {
		if err := r.x.All(r.Stream, chain, lists, out); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("%d lists: error %v", n, err)
		}
	}
	if err := errors.Join(r.Stream.Synchronize(), r.Device.Err()); err != nil {
		t.Error(fmt.Errorf("after errors of arguments: %w", err))
	}
}
