package intersect

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

type rig struct {
	*gputest.Session
	x *Intersector
}

func newRig(t testing.TB) *rig {
	t.Helper()
	r := &rig{Session: gputest.NewSession(t)}
	var err error
	r.x, err = New(r.Device)
	r.Must(err)
	t.Cleanup(func() { r.Must(r.x.Close()) })
	return r
}

// upload returns a device copy of values that ends at the end of its allocation
// and begins `shift` words after its start.
func (r *rig) upload(values []uint32, shift int) cuda.Buffer[uint32] {
	r.Helper()
	part := gputest.Alloc[uint32](r.Session, len(values)+shift).Slice(shift, shift+len(values))
	r.Must(cuda.CopyToDevice(r.Stream, part, values))
	return part
}

func (r *rig) download(b cuda.Buffer[uint32], n int) []uint32 {
	r.Helper()
	return gputest.Download(r.Session, b.Slice(0, n))
}

type candidates struct {
	docIDs    []uint32
	positions [][]uint32
}

func (r *rig) candidates(c Candidates, numLists int) candidates {
	r.Helper()
	n := int(r.download(c.Count, 1)[0])
	if n > c.DocIDs.Len() {
		r.Fatalf("%d candidates in room for %d", n, c.DocIDs.Len())
	}
	out := candidates{docIDs: r.download(c.DocIDs, n)}
	if !c.Positions.IsZero() {
		for l := range numLists {
			out.positions = append(out.positions, r.download(c.Row(l), n))
		}
	}
	return out
}

func (c candidates) equal(o candidates) bool {
	return slices.Equal(c.docIDs, o.docIDs) && slices.EqualFunc(c.positions, o.positions, slices.Equal[[]uint32])
}

// mergeLists is the CPU reference.
func mergeLists(lists ...[]uint32) candidates {
	c := candidates{positions: make([][]uint32, len(lists))}
	at := make([]int, len(lists))
	for i, x := range lists[0] {
		at[0] = i
		common := true
		for l, list := range lists[1:] {
			for at[l+1] < len(list) && list[at[l+1]] < x {
				at[l+1]++
			}
			common = common && at[l+1] < len(list) && list[at[l+1]] == x
		}
		if common {
			c.docIDs = append(c.docIDs, x)
			for l := range lists {
				c.positions[l] = append(c.positions[l], uint32(at[l]))
			}
		}
	}
	return c
}

func randomList(rng *rand.Rand, n int, limit uint32) []uint32 {
	seen := make(map[uint32]bool, n)
	out := make([]uint32, 0, n)
	for len(out) < n {
		if x := uint32(rng.Uint64N(uint64(limit))); !seen[x] {
			seen[x] = true
			out = append(out, x)
		}
	}
	slices.Sort(out)
	return out
}

func rising(n int, from, step uint32) []uint32 {
	out := make([]uint32, n)
	for i := range out {
		out[i] = from + uint32(i)*step
	}
	return out
}

const highest = uint32(base.NoDocID) - 1

// The shorter list comes first.
type listPair struct {
	name string
	a, b []uint32
}

func pairs() []listPair {
	rng := rand.New(rand.NewPCG(4, 9))
	cases := []listPair{
		{"both empty", nil, nil},
		{"empty", nil, rising(3, 1, 2)},
		{"one and the same", []uint32{7}, []uint32{7}},
		{"one, not the same", []uint32{7}, []uint32{8}},
		{"lowest and highest", []uint32{0, highest}, []uint32{0, 1, highest}},
		{"one at the end", []uint32{highest}, append(rising(2000, 0, 3), highest)},
		{"one past the end", []uint32{highest}, rising(2000, 0, 3)},
		{"identical", rising(5000, 10, 3), rising(5000, 10, 3)},
		{"identical, a tile", rising(1024, 0, 1), rising(1024, 0, 1)},
		{"identical, two merge tiles", rising(1792, 1, 2), rising(1792, 1, 2)},
		{"disjoint, before", rising(1500, 0, 1), rising(1700, 1500, 1)},
		{"disjoint, behind", rising(1500, 1700, 1), rising(1700, 0, 1)},
		{"interleaved", rising(1800, 0, 2), rising(1900, 1, 2)},
		{"one in a hundred", rising(41, 0, 100), rising(4100, 0, 1)},
		{"dense run within", rising(300, 4000, 1), rising(4000, 0, 2)},
	}
	for _, ratio := range []int{1, 2, 16, 130} {
		n := 9001/(ratio+1) + 1
		cases = append(cases, listPair{
			fmt.Sprintf("random, ratio %d", ratio), randomList(rng, n, 20_000), randomList(rng, n*ratio+5, 20_000),
		})
	}
	return append(cases, listPair{"random, all numbers", randomList(rng, 1111, highest), randomList(rng, 2222, highest)})
}

// asIfLong calls do with the launches for long lists: sums of groups, diagonals
// by their own kernel, tiles of items elements per thread, and fewer blocks
// than tiles.
func (r *rig) asIfLong(items int, do func()) {
	policy, maxGrid := tuning, r.x.maxGrid
	defer func() { tuning, r.x.maxGrid = policy, maxGrid }()
	tuning.ungroupedTiles, tuning.partitionTiles, tuning.fewElements, r.x.maxGrid = 1, 0, 50, 2
	tuning.smallMerge = MaxElements
	if items == largeItems {
		tuning.smallMerge = 0
	}
	do()
}

// With and without positions, with lengths known to the host or only to the
// device, on lists at any word offset, and with the launches for long lists.
func TestAllMethods(t *testing.T) {
	r := newRig(t)
	w, err := NewWorkspace(r.Device, 5000, 10_000)
	r.Must(err)
	defer w.Free()
	for _, long := range []bool{false, true} {
		for i, c := range pairs() {
			name := c.name
			if long {
				name += ", as if long"
				if len(c.a) < 50 || len(c.b) < 1000 {
					continue // the same launch: one tile
				}
			}
			t.Run(name, func(t *testing.T) {
				r := &rig{&gputest.Session{TB: t, Device: r.Device, Stream: r.Stream}, r.x}
				if !long {
					r.testMethods(w, c, i)
					return
				}
				r.asIfLong([]int{smallItems, largeItems}[i%2], func() { r.testMethods(w, c, i) })
			})
		}
	}
}

func (r *rig) testMethods(w *Workspace, c listPair, variant int) {
	a, b := List{DocIDs: r.upload(c.a, variant%4)}, List{DocIDs: r.upload(c.b, (variant/2)%4)}
	if variant%3 == 1 { // the buffers are larger than the lists
		a = List{DocIDs: r.upload(append(slices.Clone(c.a), 5, 5, 5, 5, 5), 0), Len: r.upload([]uint32{uint32(len(c.a))}, 0)}
		b = List{DocIDs: r.upload(append(slices.Clone(c.b), 5, 5, 5), 0), Len: r.upload([]uint32{uint32(len(c.b))}, 0)}
	}
	want := mergeLists(c.a, c.b)
	for _, numLists := range []int{2, 0} {
		out, err := NewCandidates(r.Device, numLists, min(a.bound(), b.bound()))
		r.Must(err)
		for _, m := range Methods() {
			r.Must(m.Run(r.x, r.Stream, w, a, b, out))
			got := r.candidates(out, numLists)
			expected := want
			if numLists == 0 {
				expected.positions = nil
			}
			if !got.equal(expected) {
				r.Errorf("%s, %d lists of positions: %s", m.Name, numLists, difference(got, expected))
			}
		}
		out.Free()
	}
}

func difference(got, want candidates) string {
	for i := range min(len(got.docIDs), len(want.docIDs)) {
		if got.docIDs[i] != want.docIDs[i] {
			return fmt.Sprintf("candidate %d is %d, want %d", i, got.docIDs[i], want.docIDs[i])
		}
		for l := range got.positions {
			if got.positions[l][i] != want.positions[l][i] {
				return fmt.Sprintf("candidate %d, %d, is at %d of list %d, want %d", i, got.docIDs[i], got.positions[l][i], l, want.positions[l][i])
			}
		}
	}
	return fmt.Sprintf("%d candidates, want %d", len(got.docIDs), len(want.docIDs))
}

// If only the device knows the lengths, Adaptive uses the tiles of a search
// from the crossing on, of a merge below it.
func TestCrossing(t *testing.T) {
	r := newRig(t)
	w, err := NewWorkspace(r.Device, 100, 2000)
	r.Must(err)
	defer w.Free()
	out, err := NewCandidates(r.Device, 0, 100)
	r.Must(err)
	defer out.Free()
	r.x.Crossing = 10
	short, long := rising(100, 0, 30), rising(2000, 0, 1)
	for _, c := range []struct{ na, nb, slots int }{
		{100, 1000, searchTile},
		{100, 999, mergeSlots(smallItems)},
		{100, 2000, searchTile},
		{99, 989, mergeSlots(smallItems)},
		{1, 10, searchTile},
		{1, 9, mergeSlots(smallItems)},
	} {
		a := List{DocIDs: r.upload(short, 0), Len: r.upload([]uint32{uint32(c.na)}, 0)}
		b := List{DocIDs: r.upload(long, 0), Len: r.upload([]uint32{uint32(c.nb)}, 0)}
		r.Must(r.x.Adaptive(r.Stream, w, a, b, out))
		want := mergeLists(short[:c.na], long[:c.nb])
		want.positions = nil
		if got := r.candidates(out, 0); !got.equal(want) {
			t.Errorf("lists of %d and %d: %s", c.na, c.nb, difference(got, want))
		}
		if slots := r.download(w.control.Slice(1, 2), 1)[0]; int(slots) != c.slots {
			t.Errorf("lists of %d and %d: tiles have %d slots, want %d", c.na, c.nb, slots, c.slots)
		}
	}
}

// Lengths differ by up to 2^19.
func TestFarApart(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(1, 19))
	long := rising(1<<19, 3, 7)
	b := List{DocIDs: r.upload(long, 0)}
	w, err := NewWorkspace(r.Device, 64, len(long))
	r.Must(err)
	defer w.Free()
	for _, n := range []int{1, 2, 64} {
		short := randomList(rng, n, 1<<22)
		short[n/2] = long[len(long)-1-n] // at least one common element
		slices.Sort(short)
		a := List{DocIDs: r.upload(short, 1)}
		out, err := NewCandidates(r.Device, 2, n)
		r.Must(err)
		for _, m := range Methods() {
			if m.Name == "merge-path" {
				continue // the emulator would merge half a million elements
			}
			r.Must(m.Run(r.x, r.Stream, w, a, b, out))
			if got, want := r.candidates(out, 2), mergeLists(short, long); !got.equal(want) {
				t.Errorf("%s, %d elements: %s", m.Name, n, difference(got, want))
			}
		}
		out.Free()
	}
}

func TestFind(t *testing.T) {
	r := newRig(t)
	r.testFind(t)
	r.asIfLong(smallItems, func() { r.testFind(t) })
}

func (r *rig) testFind(t *testing.T) {
	w, err := NewWorkspace(r.Device, 5000, 10_000)
	r.Must(err)
	defer w.Free()
	for _, c := range pairs() {
		a, b := List{DocIDs: r.upload(c.a, 0)}, List{DocIDs: r.upload(c.b, 3)}
		ranks, err := cuda.Alloc[uint32](r.Device, max(1, len(c.a)))
		r.Must(err)
		for _, levels := range []int{0, 1, 4} {
			r.Must(r.x.Find(r.Stream, w, levels, a, b, ranks))
			for i, got := range r.download(ranks, len(c.a)) {
				if want := contraction.Binary(c.b, 0, len(c.b), c.a[i]); int(got) != want {
					t.Fatalf("%s, %d levels: element %d, %d, is at %d, want %d", c.name, levels, i, c.a[i], got, want)
				}
			}
		}
		r.Must(ranks.Free())
	}
}

func TestStrides(t *testing.T) {
	for _, n := range []int{0, 1, 1024, 1025, 5000, 1 << 20, 1<<20 + 1, 16_000_000, 1 << 32} {
		for levels := 1; levels <= MaxLevels; levels++ {
			room := 0
			all := strides(n, levels)
			for l, stride := range all[:levels] {
				if l > 0 && all[l-1]%stride != 0 {
					t.Errorf("%d elements: stride %d is not a multiple of %d", n, all[l-1], stride)
				}
				room += tilesOf(n, stride)
			}
			if all[levels-1] != searchTile || room > pivotsOf(n) {
				t.Errorf("%d elements, %d levels: strides %d, %d splitters in room for %d", n, levels, all, room, pivotsOf(n))
			}
		}
	}
}

func TestCallsDoNotAllocate(t *testing.T) {
	r := newRig(t)
	docIDs := rising(2000, 0, 3)
	a := List{DocIDs: r.upload(docIDs, 0)}
	unknown := List{DocIDs: a.DocIDs, Len: r.upload([]uint32{2000}, 0)}
	c, err := NewChain(r.Device, 3, 2000, 2000, 7)
	r.Must(err)
	defer c.Free()
	out, err := NewCandidates(r.Device, 3, 2000)
	r.Must(err)
	defer out.Free()
	b := r.blocked(docIDs, 7, 1)
	b.Decode = func(s *cuda.Stream, _ Selection, dst cuda.Buffer[uint32]) error {
		return cuda.CopyDevice(s, dst, a.DocIDs)
	}
	lists := []Operand{{List: a}, {List: a}, {Blocks: b}}
	calls := Methods()
	for _, m := range Methods() {
		calls = append(calls, Method{Name: m.Name + ", length on the device", Run: func(x *Intersector, s *cuda.Stream, w *Workspace, _, b List, out Candidates) error {
			return m.Run(x, s, w, unknown, b, out)
		}})
	}
	calls = append(calls, Method{Name: "all", Run: func(x *Intersector, s *cuda.Stream, _ *Workspace, _, _ List, out Candidates) error {
		return x.All(s, c, lists, out)
	}})
	for _, m := range calls {
		if n := gputest.AllocsPerRun(3, func() { r.Must(m.Run(r.x, r.Stream, c.workspace, a, a, out)) }); n != 0 {
			t.Errorf("%s: %v allocations", m.Name, n)
		}
	}
}

func TestArguments(t *testing.T) {
	r := newRig(t)
	w, err := NewWorkspace(r.Device, 8, 1000)
	r.Must(err)
	defer w.Free()
	few := List{DocIDs: r.upload(rising(8, 0, 1), 0)}
	many := List{DocIDs: r.upload(rising(6000, 0, 1), 0)}
	room, err := NewCandidates(r.Device, 2, 8)
	r.Must(err)
	defer room.Free()
	bare, err := NewCandidates(r.Device, 0, 8)
	r.Must(err)
	defer bare.Free()
	short, err := NewCandidates(r.Device, 2, 7)
	r.Must(err)
	defer short.Free()
	wide, err := NewCandidates(r.Device, 2, 6000)
	r.Must(err)
	defer wide.Free()
	narrow := room
	narrow.Positions = room.Positions.Slice(0, 8)
	for _, c := range []struct {
		name string
		a, b List
		out  Candidates
	}{
		{"room for one candidate too few", few, few, short},
		{"room for positions in one list", few, few, narrow},
		{"no count", few, few, Candidates{DocIDs: room.DocIDs}},
		{"a workspace for shorter lists", many, many, wide},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, m := range Methods() {
				if err := m.Run(r.x, r.Stream, w, c.a, c.b, c.out); !errors.Is(err, base.ErrBadInput) {
					t.Errorf("%s, %s: error %v", c.name, m.Name, err)
				}
			}
		})
	}
	if err := r.x.MergeFind(r.Stream, w, MaxLevels+1, few, few, bare); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("too many levels: error %v", err)
	}
	if _, err := NewWorkspace(r.Device, 2, 1); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("a shortest list that is longer than the longest: error %v", err)
	}
	if _, err := NewWorkspace(r.Device, 1<<31, 1<<31); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("lists of more than MaxElements: error %v", err)
	}
}
