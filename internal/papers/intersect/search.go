package intersect

import (
	_ "embed" // the image
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

//go:embed image/intersect_search.ptx.zst
var searchImage []byte

// Search is a search for an element of the shortest list in another, of Ao,
// Zhang, Wu, Stones, Wang, Liu, Liu and Lin, "Efficient parallel lists
// intersection and index compression algorithms using graphics processing
// units", PVLDB 4(8), 2011, §4 and §5.3. The first four are for uncompressed
// lists (Contracted), the others for the codec of that name (Compressed).
type Search uint8

// The searches.
const (
	BinarySearch Search = iota
	InterpolationSearch
	LinearRegression // within the safe search range; needs Contraction.Line
	HashSegmentation // within the hash bucket; needs Contraction.BucketSize or a bitmap
	LRC
	LRCSeg
	SegLRC
	HSLRC
	NumSearches
)

var searchNames = [NumSearches]string{"binary", "interpolation", "lr", "hs", "lrc", "lrcseg", "seglrc", "hslrc"}

// String returns the name in kernels: binary, interpolation, lr, hs, lrc,
// lrcseg, seglrc, hslrc.
func (a Search) String() string {
	if a >= NumSearches {
		return fmt.Sprintf("search %d", uint8(a))
	}
	return searchNames[a]
}

// Compressed reports whether a is for lists of a Regression codec.
func (a Search) Compressed() bool { return a >= LRC && a < NumSearches }

// SearchOf returns the search in lists of a scheme.
func SearchOf(s codec.Scheme) Search { return LRC + Search(s) }

// Suits reports whether the list has the data that the search needs.
func (v View) Suits(a Search) bool {
	switch {
	case v.numPostings == 0:
		return true
	case a == LinearRegression:
		return v.inverse != 0
	case a == HashSegmentation:
		return v.table != 0
	}
	return !a.Compressed()
}

// Searcher searches each element of the shortest list in the other lists in
// turn until one lacks it. It is safe for concurrent use.
type Searcher struct {
	x      *Intersector
	search [NumSearches]*cuda.Kernel
	place  [NumSearches]*cuda.Kernel
}

// Mirrors IntersectSearchParams of intersect_search.cu.
type searchParams struct {
	slots       slotsParams
	lists       cuda.Ptr[uint64]
	numLists    uint32
	numPostings uint32
}

// Mirrors IntersectPlaceParams.
type placeParams struct {
	lists     cuda.Ptr[uint64]
	docIDs    cuda.Ptr[uint32]
	count     cuda.Ptr[uint32]
	positions cuda.Ptr[uint32]
	numLists  uint32
	stride    uint32
}

// NewSearcher loads kernels that x.Close unloads.
func NewSearcher(x *Intersector) (*Searcher, error) {
	r := &Searcher{x: x}
	l := loader{device: x.device}
	l.module("intersect_search", searchImage)
	for a := range NumSearches {
		r.search[a] = load[searchParams](&l, "intersect_search_"+a.String())
		r.place[a] = load[placeParams](&l, "intersect_place_"+a.String())
	}
	x.modules = append(x.modules, l.modules...)
	if l.err != nil {
		return nil, fmt.Errorf("kernels of searches: %w", l.err)
	}
	return r, nil
}

// Operands are the lists of one query, sorted by length, in a table in device
// memory. The creator frees it, and keeps the lists.
type Operands struct {
	words    cuda.Buffer[uint64]
	search   Search
	numLists int
	shortest int
	total    int
}

// NewOperands sorts at least one uncompressed list for a search by length
// (stable) and waits for the copy.
func NewOperands(s *cuda.Stream, d *cuda.Device, a Search, lists ...*Contracted) (*Operands, error) {
	o := &Operands{search: a}
	order := ByLength(len(lists), func(i int) int { return lists[i].Len() })
	var words []uint64
	for _, i := range order {
		v := lists[i].View()
		if !v.Suits(a) {
			return nil, fmt.Errorf("intersect.NewOperands: list %d of %d lacks data for %s: %w", i, len(lists), a, base.ErrBadInput)
		}
		w := v.Words()
		words = append(words, w[:]...)
		o.count(v.Len())
	}
	return o, o.upload(s, d, words)
}

// NewCompressedOperands is NewOperands for lists of one Regression codec.
func NewCompressedOperands(s *cuda.Stream, d *cuda.Device, lists ...*Compressed) (*Operands, error) {
	o := &Operands{}
	order := ByLength(len(lists), func(i int) int { return lists[i].Len() })
	var words []uint64
	for _, i := range order {
		if lists[i].Scheme != lists[0].Scheme {
			return nil, fmt.Errorf("intersect.NewCompressedOperands: list %d has another codec than list 0: %w", i, base.ErrBadInput)
		}
		o.search = SearchOf(lists[i].Scheme)
		w := lists[i].View().Words()
		words = append(words, w[:]...)
		o.count(lists[i].Len())
	}
	return o, o.upload(s, d, words)
}

// ByLength sorts 0 to n-1 by length, stable.
func ByLength(n int, length func(int) int) []int {
	order := make([]int, n)
	for i := range order {
		at := i
		for ; at > 0 && length(order[at-1]) > length(i); at-- {
			order[at] = order[at-1]
		}
		order[at] = i
	}
	return order
}

// count adds a list; no shorter one may follow.
func (o *Operands) count(n int) {
	if o.numLists == 0 {
		o.shortest = n
	}
	o.numLists++
	o.total += n
}

func (o *Operands) upload(s *cuda.Stream, d *cuda.Device, words []uint64) error {
	if o.numLists == 0 {
		return fmt.Errorf("operands of no lists: %w", base.ErrBadInput)
	}
	var err error
	if o.words, err = cuda.Alloc[uint64](d, len(words)); err == nil {
		err = cuda.CopyToDevice(s, o.words, words)
	}
	if err = errors.Join(err, s.Synchronize()); err != nil {
		return errors.Join(fmt.Errorf("operands of %d lists: %w", o.numLists, err), o.Free())
	}
	return nil
}

// Shortest returns the length of the shortest list.
func (o *Operands) Shortest() int { return o.shortest }

// NumLists returns the number of lists.
func (o *Operands) NumLists() int { return o.numLists }

// Free frees the table, not the lists.
func (o *Operands) Free() error { return o.words.Free() }

// Search launches finding the DocIDs common to all lists. Out receives them,
// ascending, and, if it has Positions, their positions in each list, lists
// sorted by length. The workspace must be for shortest lists of at least
// o.Shortest().
func (r *Searcher) Search(s *cuda.Stream, w *Workspace, o *Operands, out Candidates) error {
	room := out.DocIDs.Len()
	switch {
	case room < o.shortest || out.Count.Len() != 1:
		return fmt.Errorf("intersect.Search: room for %d candidates and %d counts, shortest list of %d: %w", room, out.Count.Len(), o.shortest, base.ErrBadInput)
	case !out.Positions.IsZero() && out.Positions.Len() < o.numLists*room:
		return fmt.Errorf("intersect.Search: room for %d positions of %d candidates in %d lists: %w", out.Positions.Len(), room, o.numLists, base.ErrBadInput)
	}
	tiles := tilesOf(o.shortest, searchTile)
	slots, err := w.slots(s, tiles, false /* pairs */)
	if err != nil {
		return fmt.Errorf("intersect.Search: %w", err)
	}
	p := searchParams{slots: slots, lists: o.words.Ptr(), numLists: uint32(o.numLists), numPostings: uint32(o.shortest)}
	if err := cuda.Launch(s, r.search[o.search], r.x.grid(tiles), cuda.D1(blockThreads), 0, &p); err != nil {
		return err
	}
	return r.emit(s, slots, tiles, o, out)
}

// emit compacts the matches of all tiles and finds their positions.
func (r *Searcher) emit(s *cuda.Stream, slots slotsParams, tiles int, o *Operands, out Candidates) error {
	g := gatherParams{
		slots: slots, docIDs: out.DocIDs.Ptr(), count: out.Count.Ptr(), stride: uint32(out.DocIDs.Len()),
	}
	if err := r.x.gather(s, tiles, &g); err != nil {
		return err
	}
	p := placeParams{
		lists: o.words.Ptr(), docIDs: out.DocIDs.Ptr(), count: out.Count.Ptr(),
		numLists: uint32(o.numLists), stride: uint32(out.DocIDs.Len()),
	}
	if !out.Positions.IsZero() {
		p.positions = out.Positions.Ptr()
	}
	return cuda.Launch(s, r.place[o.search], r.x.grid(tiles), cuda.D1(blockThreads), 0, &p)
}
