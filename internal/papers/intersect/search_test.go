package intersect_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/querytest"
	"github.com/griffin-search/griffin/internal/papers/intersect"
)

type searchCase struct {
	name     string
	lists    [][]uint32
	universe int
}

func rising(rng *rand.Rand, n, universe int) []uint32 {
	set := make(map[uint32]bool, n)
	for len(set) < n {
		set[uint32(rng.Int64N(int64(universe)))] = true
	}
	out := make([]uint32, 0, n)
	for d := range set {
		out = append(out, d)
	}
	slices.Sort(out)
	return out
}

// clustered returns n ascending numbers, most of them consecutive.
func clustered(rng *rand.Rand, n int, most uint32) []uint32 {
	out := make([]uint32, n)
	d := uint32(0)
	for i := range out {
		d++
		if rng.IntN(40) == 0 {
			d += rng.Uint32N(most)
		}
		out[i] = d
	}
	return out
}

func searchCases() []searchCase {
	const last = int(base.NoDocID) // not a valid DocID
	rng := rand.New(rand.NewPCG(11, 4))
	dense := make([]uint32, 3000)
	for i := range dense {
		dense[i] = uint32(i)
	}
	outlier := append(slices.Clone(dense), uint32(last)-1)
	even, odd := make([]uint32, 700), make([]uint32, 900)
	for i := range even {
		even[i] = uint32(2 * i)
	}
	for i := range odd {
		odd[i] = uint32(2*i + 1)
	}
	long := rising(rng, 20_000, 1<<20)
	return []searchCase{
		{"one element", [][]uint32{{7}, {7}}, 8},
		{"one that is missing", [][]uint32{{7}, {3, 9}}, 10},
		{"an empty list", [][]uint32{{}, {3, 9}}, 10},
		{"a list alone", [][]uint32{rising(rng, 1500, 1<<16)}, 1 << 16},
		{"the same twice", [][]uint32{long[:5000], long[:5000]}, 1 << 20},
		{"disjoint", [][]uint32{even, odd}, 1801},
		{"every document", [][]uint32{rising(rng, 1025, 3000), dense}, 3000},
		{"the last DocID", [][]uint32{{0, 5, uint32(last) - 1}, {5, 6, uint32(last) - 1}, outlier}, last},
		{"one of many", [][]uint32{{long[12_345]}, long}, 1 << 20},
		{"one of 2^19", [][]uint32{{spread(1<<19, 16)[300_000]}, spread(1<<19, 16)}, 1 << 23},
		{"beyond the end", [][]uint32{{5, 1 << 20}, long[:100]}, 1<<20 + 1},
		{"beyond the end, with bits of the first 32", [][]uint32{{0, 5, 1 << 20, 1<<20 + 5}, {0, 5, 99, 100, 101}}, 1<<20 + 6},
		{"clusters", [][]uint32{clustered(rng, 3000, 2000), clustered(rng, 9000, 500), clustered(rng, 4000, 1000)}, 1 << 20},
		{"ratios", [][]uint32{long, rising(rng, 300, 1<<20), rising(rng, 3000, 1<<20), long}, 1 << 20},
		{"six lists", [][]uint32{
			rising(rng, 4000, 1<<13), rising(rng, 5000, 1<<13), rising(rng, 6000, 1<<13),
			rising(rng, 3000, 1<<13), rising(rng, 7000, 1<<13), rising(rng, 6500, 1<<13),
		}, 1 << 13},
	}
}

// plainContraction is the minimum that a search needs.
func plainContraction(a intersect.Search, universe int) intersect.Contraction {
	switch a {
	case intersect.LinearRegression:
		return intersect.Contraction{Line: true}
	case intersect.HashSegmentation:
		return intersect.Contraction{BucketSize: 16, Universe: universe}
	}
	return intersect.Contraction{}
}

type searching struct {
	*gputest.Session
	searcher *intersect.Searcher
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func newSearching(t testing.TB) searching {
	t.Helper()
	e := searching{Session: gputest.NewSession(t)}
	x, err := intersect.New(e.Device)
	must(t, err)
	t.Cleanup(func() { must(t, x.Close()) })
	e.searcher, err = intersect.NewSearcher(x)
	must(t, err)
	return e
}

func (e searching) operands(t testing.TB, a intersect.Search, c intersect.Contraction, lists [][]uint32) *intersect.Operands {
	t.Helper()
	var plain []*intersect.Contracted
	var compressed []*intersect.Compressed
	for _, l := range lists {
		if !a.Compressed() {
			p, err := intersect.NewContracted(e.Stream, e.Device, l, c)
			must(t, err)
			t.Cleanup(func() { must(t, p.Free()) })
			plain = append(plain, p)
			continue
		}
		k := codec.Regression{Scheme: codec.Scheme(a - intersect.LRC), SegmentLen: 64, Exceptions: codec.Share(len(lists)%2) * 0.1}
		var bytes []byte
		if len(l) > 0 {
			bytes = k.AppendList(nil, l)
		}
		p, err := intersect.NewCompressed(e.Stream, e.Device, k, bytes, len(l))
		must(t, err)
		t.Cleanup(func() { must(t, p.Free()) })
		compressed = append(compressed, p)
	}
	var o *intersect.Operands
	var err error
	if a.Compressed() {
		o, err = intersect.NewCompressedOperands(e.Stream, e.Device, compressed...)
	} else {
		o, err = intersect.NewOperands(e.Stream, e.Device, a, plain...)
	}
	must(t, err)
	t.Cleanup(func() { must(t, o.Free()) })
	return o
}

// run returns DocIDs and their positions in each list, shortest first.
func (e searching) run(t testing.TB, o *intersect.Operands) (docIDs []uint32, positions [][]uint32) {
	t.Helper()
	w, err := intersect.NewWorkspace(e.Device, o.Shortest(), o.Shortest())
	must(t, err)
	defer w.Free()
	out, err := intersect.NewCandidates(e.Device, o.NumLists(), o.Shortest())
	must(t, err)
	defer out.Free()
	must(t, e.searcher.Search(e.Stream, w, o, out))
	count := int(gputest.Download(e.Session, out.Count)[0])
	docIDs = gputest.Download(e.Session, out.DocIDs.Slice(0, count))
	for l := range o.NumLists() {
		positions = append(positions, gputest.Download(e.Session, out.Row(l).Slice(0, count)))
	}
	return docIDs, positions
}

func checkSearch(t *testing.T, e searching, a intersect.Search, c intersect.Contraction, lists [][]uint32) {
	t.Helper()
	docIDs, positions := e.run(t, e.operands(t, a, c, lists))
	if want := querytest.Intersect(lists); !slices.Equal(docIDs, want) {
		t.Fatalf("%d DocIDs %v, want %d: %v", len(docIDs), head(docIDs), len(want), head(want))
	}
	order := intersect.ByLength(len(lists), func(i int) int { return len(lists[i]) })
	for row, l := range order {
		for i, d := range docIDs {
			if want := contraction.Binary(lists[l], 0, len(lists[l]), d); int(positions[row][i]) != want {
				t.Fatalf("DocID %d is at %d of list %d, want %d", d, positions[row][i], l, want)
			}
		}
	}
}

func head(docIDs []uint32) []uint32 { return docIDs[:min(8, len(docIDs))] }

func TestSearches(t *testing.T) {
	e := newSearching(t)
	for a := range intersect.NumSearches {
		for _, c := range searchCases() {
			t.Run(fmt.Sprintf("%s/%s", a, c.name), func(t *testing.T) {
				checkSearch(t, e, a, plainContraction(a, c.universe), c.lists)
			})
		}
	}
}

// Hash segmentation with bitmaps instead of buckets for all lists, and for the
// longer ones.
func TestSearchInBitmaps(t *testing.T) {
	e := newSearching(t)
	for _, c := range searchCases() {
		if c.universe > 1<<21 {
			continue // the bitmap would cover all possible DocIDs
		}
		for _, share := range []float64{1e-9, 1.0 / 8} {
			t.Run(fmt.Sprintf("%s/%g", c.name, share), func(t *testing.T) {
				contracted := intersect.Contraction{BucketSize: 16, BitmapShare: share, Universe: c.universe}
				checkSearch(t, e, intersect.HashSegmentation, contracted, c.lists)
			})
		}
	}
}

func TestSearchRefuses(t *testing.T) {
	e := newSearching(t)
	l, err := intersect.NewContracted(e.Stream, e.Device, []uint32{1, 2, 3}, intersect.Contraction{})
	must(t, err)
	defer func() { must(t, l.Free()) }()
	for _, a := range []intersect.Search{intersect.LinearRegression, intersect.HashSegmentation, intersect.LRC} {
		if _, err := intersect.NewOperands(e.Stream, e.Device, a, l); err == nil {
			t.Errorf("%s accepts a list without a line or buckets", a)
		}
	}
	if _, err := intersect.NewOperands(e.Stream, e.Device, intersect.BinarySearch); err == nil {
		t.Error("operands without lists are accepted")
	}
	if _, err := intersect.NewContracted(e.Stream, e.Device, []uint32{9}, intersect.Contraction{BucketSize: 16, Universe: 9}); err == nil {
		t.Error("DocID 9 of 9 documents is accepted")
	}
	damaged := codec.Regression{}.AppendList(nil, []uint32{3, 900, 901, 7000})
	damaged[0]++
	if _, err := intersect.NewCompressed(e.Stream, e.Device, codec.Regression{}, damaged, 4); err == nil {
		t.Error("a damaged list is accepted")
	}
}

// Words of lists in device memory are changed: no access leaves the lists, and
// kernels terminate.
func TestSearchInDamaged(t *testing.T) {
	e := newSearching(t)
	rng := rand.New(rand.NewPCG(31, 32))
	for a := intersect.LRC; a < intersect.NumSearches; a++ {
		for round := range 12 {
			k := codec.Regression{Scheme: codec.Scheme(a - intersect.LRC), SegmentLen: 16, Exceptions: codec.Share(round%2) * 0.2}
			var lists []*intersect.Compressed
			for _, n := range []int{200, 900} {
				l, err := intersect.NewCompressed(e.Stream, e.Device, k, k.AppendList(nil, rising(rng, n, 1<<14)), n)
				must(t, err)
				t.Cleanup(func() { must(t, l.Free()) })
				words := make([]uint32, l.Words.Len())
				must(t, cuda.CopyToHost(e.Stream, words, l.Words))
				must(t, e.Stream.Synchronize())
				for i := range words {
					if round >= 8 || i < 6 && i == round-2 || rng.IntN(30) == 0 {
						words[i] = rng.Uint32() >> rng.IntN(32)
					}
				}
				must(t, cuda.CopyToDevice(e.Stream, l.Words, words))
				lists = append(lists, l)
			}
			o, err := intersect.NewCompressedOperands(e.Stream, e.Device, lists...)
			must(t, err)
			e.run(t, o)
			must(t, o.Free())
		}
	}
}
