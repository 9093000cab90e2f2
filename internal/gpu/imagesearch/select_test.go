package imagesearch

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// randomOrder returns numbers of documents, 0 for some, and their order on the device.
func randomOrder(rng *rand.Rand, c *collection, bytes int, most uint64) ([]uint64, ByValue) {
	of := make([]uint64, c.NumDocs)
	words := make([]uint32, (c.NumDocs+7)/8*8*bytes/4)
	for d := range of {
		if rng.IntN(6) > 0 {
			of[d] = 1 + rng.Uint64N(most)
		}
		switch bytes {
		case 2:
			words[d/2] |= uint32(of[d]) << (d % 2 * 16)
		case 4:
			words[d] = uint32(of[d])
		default:
			words[2*d], words[2*d+1] = uint32(of[d]), uint32(of[d]>>32)
		}
	}
	return of, ByValue{Words: gputest.Upload(c.Session, words), Bytes: bytes, Most: most}
}

// wantSelected are the best k matches, and with ties all of the value of the last.
func wantSelected(matches []base.Hit, first base.DocID, of []uint64, by *ByValue, k int) []uint32 {
	key := func(d uint32) uint64 {
		switch v := of[d]; {
		case v == 0 && by.NoneFirst:
			return by.Most + 1
		case v == 0:
			return 0
		case by.Rising:
			return by.Most + 1 - v
		default:
			return v
		}
	}
	var docs []uint32
	for _, h := range matches {
		if d := uint32(h.DocID - first); !by.Bounded || key(d) < by.End {
			docs = append(docs, d)
		}
	}
	slices.SortFunc(docs, func(a, b uint32) int { return cmp.Or(cmp.Compare(key(b), key(a)), cmp.Compare(a, b)) })
	n := min(k, len(docs))
	for by.Ties && n > 0 && n < len(docs) && key(docs[n]) == key(docs[n-1]) {
		n++
	}
	return docs[:n]
}

// The selected documents are the best ones, in both directions, with and without ties, for numbers of all widths and
// few and many different ones.
func TestSelect(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		deleted                 float64
		mostBlocks              int // as in TestTally
	}{
		{1, 2, 4, 0, 0},
		{4097, 10, 6, 0, 0},
		{20011, 20, 4, 0.3, 0},
		{70003, 36, 1, 0, 0},
		{70003, 20, 2, 0.1, 1},
	} {
		t.Run(fmt.Sprintf("docs=%d/lists=%d", tt.numDocs, tt.lists), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), 79))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, false, 3)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			s, err := c.kernels.NewTally()
			must(t, err)
			defer func() { must(t, s.Close()) }()
			s.mostBlocks = tt.mostBlocks
			type column struct {
				of []uint64
				by ByValue
			}
			var columns []column
			for _, x := range []struct {
				bytes int
				most  uint64
			}{{2, 1}, {2, 1000}, {2, 1<<16 - 1}, {4, 1 << 20}, {8, 1<<64 - 2}, {8, 1 << 40}, {4, 3}} {
				of, by := randomOrder(rng, c, x.bytes, x.most)
				columns = append(columns, column{of, by})
			}
			queries := append(randomQueries(t, rng, c, tt.queries), c.query(Or, 0, nil, c.Saturation.AvgLen, 0))
			for i := range queries {
				q := &queries[i]
				_, matches := q.want(t)
				for j, col := range columns {
					if rng.IntN(2) == 0 {
						continue
					}
					by := col.by
					by.Rising, by.NoneFirst, by.Ties = rng.IntN(2) == 0, rng.IntN(2) == 0, rng.IntN(3) == 0
					if rng.IntN(2) == 0 {
						by.Bounded, by.End = true, []uint64{0, 1, by.Most, by.Most + 1, 1 + rng.Uint64N(by.Most)}[rng.IntN(5)]
					}
					q.gpu.K = []int{1, 10, 100, 1000}[rng.IntN(4)]
					want := wantSelected(matches, c.Base, col.of, &by, q.gpu.K)
					what := fmt.Sprintf("query %d, column %d, k %d, rising %t, none first %t, ties %t, bounded %t by %d", i, j, q.gpu.K, by.Rising, by.NoneFirst, by.Ties, by.Bounded, by.End)
					got, err := s.Select(c.Stream, c.segment, &q.gpu, &by)
					if by.Ties && len(want) > selectRoom && errors.Is(err, ErrUnsuited) {
						continue
					}
					if err != nil || s.Matches() != uint64(len(matches)) || len(got) > selectRoom {
						t.Fatalf("%s: %v, %d matches, want %d, %d documents", what, err, s.Matches(), len(matches), len(got))
					}
					got = slices.Clone(got)
					slices.Sort(got)
					slices.Sort(want)
					if !slices.Equal(got, want) {
						t.Fatalf("%s: %d documents, want %d", what, len(got), len(want))
					}
				}
			}
			// Counting after that begins with zeros.
			v := randomValues(rng, c, 1001, false, false, false)
			q := &queries[0]
			_, matches := q.want(t)
			must(t, s.Count(c.Stream, c.segment, &q.gpu, []Values{v.device}))
			if !slices.Equal(s.Counts(0), v.counts(matches, c.Base)) {
				t.Error("other counts after selections")
			}
		})
	}
}

func TestSelectArguments(t *testing.T) {
	rng := rand.New(rand.NewPCG(80, 1))
	c := randomCollection(t, rng, 3000, 4, false, 3)
	c.toDevice()
	s, err := c.kernels.NewTally()
	must(t, err)
	defer func() { must(t, s.Close()) }()
	_, good := randomOrder(rng, c, 4, 100)
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 1)
	for i, change := range []func(by *ByValue){
		func(by *ByValue) { by.Bytes = 3 },
		func(by *ByValue) { by.Bytes = 8 },
		func(by *ByValue) { by.Words = by.Words.Slice(0, 2999) },
		func(by *ByValue) { by.Most = ^uint64(0) },
	} {
		by := good
		change(&by)
		if _, err := s.Select(c.Stream, c.segment, &q.gpu, &by); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("case %d: %v", i, err)
		}
	}
	q.gpu.K = 0
	if _, err := s.Select(c.Stream, c.segment, &q.gpu, &good); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("no hits: %v", err)
	}
}
