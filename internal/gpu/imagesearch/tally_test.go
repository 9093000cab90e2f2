package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// testValues are a column on the CPU: the numbers of each document.
type testValues struct {
	of     [][]uint32
	device Values
}

func randomValues(rng *rand.Rand, c *collection, numSlots int, wide, multi, sorted bool) testValues {
	v := testValues{of: make([][]uint32, c.NumDocs), device: Values{Wide: wide, NumSlots: numSlots}}
	var flat, starts []uint32
	for d := range v.of {
		n := 1
		if multi {
			n = rng.IntN(4)
		}
		starts = append(starts, uint32(len(flat)))
		if rng.IntN(5) == 0 || numSlots == 1 {
			if !multi {
				flat = append(flat, 0)
			}
			continue
		}
		for range n {
			x := 1 + rng.Uint32N(uint32(numSlots-1))
			if sorted {
				x = 1 + uint32(d*(numSlots-1)/c.NumDocs)
			}
			v.of[d], flat = append(v.of[d], x), append(flat, x)
		}
	}
	starts = append(starts, uint32(len(flat)))
	for len(flat)%8 != 0 || len(flat) == 0 {
		flat = append(flat, 0)
	}
	words := flat
	if !wide {
		words = make([]uint32, len(flat)/2)
		for i, x := range flat {
			words[i/2] |= x << (i % 2 * 16)
		}
	}
	v.device.Words = gputest.Upload(c.Session, words)
	if multi {
		v.device.Starts = gputest.Upload(c.Session, starts)
	}
	return v
}

// counts are of the matches: by slot, at 0 those without a value.
func (v *testValues) counts(matches []base.Hit, first base.DocID) []uint32 {
	counts := make([]uint32, v.device.NumSlots)
	for _, h := range matches {
		of := v.of[h.DocID-first]
		if len(of) == 0 {
			counts[0]++
		}
		for _, x := range of {
			counts[x]++
		}
	}
	return counts
}

// Counts of matches and of the values of columns in them equal the results of a loop over the CPU's matches: for OR and
// AND of lists of all kinds, with deleted documents and filters, few and many values, several columns, values in
// shared memory and not.
func TestTally(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		deleted                 float64
		mostBlocks              int // 1: a warp has several units at a time, and several times
	}{
		{1, 2, 4, 0, 0},
		{33, 4, 6, 0.2, 0},
		{4097, 10, 12, 0, 0},
		{20011, 20, 12, 0.3, 0},
		{70003, 36, 3, 0, 0},
		{70003, 36, 6, 0.1, 1},
		{32*1024*tallyUnits + 40_001, 20, 6, 0, 1},
	} {
		t.Run(fmt.Sprintf("docs=%d/lists=%d/blocks=%d", tt.numDocs, tt.lists, tt.mostBlocks), func(t *testing.T) {
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), 77))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, false, 3)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			columns := []testValues{
				randomValues(rng, c, 1001, false, false, false),
				randomValues(rng, c, 40, false, false, true),
				randomValues(rng, c, 2, true, false, false),
				randomValues(rng, c, 70_000, true, false, false),
				randomValues(rng, c, 300, false, true, false),
				randomValues(rng, c, 20_000, true, true, false),
				randomValues(rng, c, 1, false, false, false),
				randomValues(rng, c, 70_000, true, false, true),
			}
			s, err := c.kernels.NewTally()
			must(t, err)
			defer func() { must(t, s.Close()) }()
			s.mostBlocks = tt.mostBlocks
			queries := randomQueries(t, rng, c, tt.queries)
			all := c.query(Or, 0, nil, c.Saturation.AvgLen)
			for i := range queries {
				q := &queries[i]
				picked := pick(rng, rng.IntN(4), len(columns))
				var asked []Values
				for _, j := range picked {
					asked = append(asked, columns[j].device)
				}
				must(t, s.Count(c.Stream, c.segment, &q.gpu, asked))
				_, matches := q.want(t)
				what := fmt.Sprintf("query %d (mode %d, %d terms)", i, q.gpu.Mode, len(q.gpu.Terms))
				if s.Matches() != uint64(len(matches)) {
					t.Fatalf("%s: %d matches, want %d", what, s.Matches(), len(matches))
				}
				for n, j := range picked {
					if want := columns[j].counts(matches, c.Base); !slices.Equal(s.Counts(n), want) {
						t.Fatalf("%s: column %d: other counts than those of the CPU", what, j)
					}
				}
			}
			must(t, s.Count(c.Stream, c.segment, &all.gpu, []Values{columns[0].device}))
			live := uint64(0)
			for d := range c.NumDocs {
				if c.Live == nil || c.Live[d/64]>>(d%64)&1 != 0 {
					live++
				}
			}
			if s.Matches() != live {
				t.Errorf("a query without terms has %d matches, want %d", s.Matches(), live)
			}
			for name, b := range map[string]cuda.Buffer[uint32]{"bits": s.bits, "counts": s.counts} {
				left := make([]uint32, b.Len())
				must(t, cuda.CopyToHost(c.Stream, left, b))
				must(t, c.Stream.Synchronize())
				if slices.Max(left) != 0 {
					t.Errorf("%s are not 0 between launches", name)
				}
			}
		})
	}
}

// After a failed launch the next one begins with zeros.
func TestTallyAfterFailure(t *testing.T) {
	rng := rand.New(rand.NewPCG(78, 1))
	c := randomCollection(t, rng, 5000, 8, false, 3)
	c.toDevice()
	s, err := c.kernels.NewTally()
	must(t, err)
	defer func() { must(t, s.Close()) }()
	v := randomValues(rng, c, 100, false, false, false)
	q := c.query(Or, 0, nil, c.Saturation.AvgLen, 2, 7)
	for range 2 {
		must(t, s.Count(c.Stream, c.segment, &q.gpu, []Values{v.device}))
		_, matches := q.want(t)
		if s.Matches() != uint64(len(matches)) || !slices.Equal(s.Counts(0), v.counts(matches, c.Base)) {
			t.Fatalf("%d matches, want %d, or other counts", s.Matches(), len(matches))
		}
		must(t, cuda.Fill(c.Stream, s.bits, 0xFF))
		must(t, cuda.Fill(c.Stream, s.counts, 1))
		must(t, cuda.Fill(c.Stream, s.state, 1))
		s.failed = true
	}
}

func TestTallyArguments(t *testing.T) {
	rng := rand.New(rand.NewPCG(79, 1))
	c := randomCollection(t, rng, 3000, 4, false, 3)
	c.toDevice()
	s, err := c.kernels.NewTally()
	must(t, err)
	defer func() { must(t, s.Close()) }()
	v := randomValues(rng, c, 100, false, false, false)
	q := c.query(Or, 0, nil, c.Saturation.AvgLen, 1)
	short, many, many32, none := v.device, v.device, v.device, v.device
	short.Words = short.Words.Slice(0, 1499)
	many.NumSlots = MaxTallySlots + 1
	many32.Wide = true
	none.NumSlots = 0
	for i, bad := range []Values{short, many32, none} {
		if err := s.Count(c.Stream, c.segment, &q.gpu, []Values{bad}); !errors.Is(err, base.ErrBadInput) {
			t.Errorf("column %d: %v", i, err)
		}
	}
	if err := s.Count(c.Stream, c.segment, &q.gpu, []Values{many}); !errors.Is(err, ErrUnsuited) {
		t.Errorf("many values: %v", err)
	}
	for len(q.gpu.Terms) <= maxTallyTerms {
		q.gpu.Terms = append(q.gpu.Terms, q.gpu.Terms[0])
	}
	if err := s.Count(c.Stream, c.segment, &q.gpu, nil); !errors.Is(err, ErrUnsuited) {
		t.Errorf("many terms: %v", err)
	}
}

// If memory for counts is refused, the next Count or Select works.
func TestTallyMemoryRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(80, 1))
	c := randomCollection(t, rng, 5000, 8, false, 3)
	c.toDevice()
	few, many := randomValues(rng, c, 100, false, false, false), randomValues(rng, c, 6000, false, false, false)
	of, by := randomOrder(rng, c, 4, 5000)
	q := c.query(Or, 10, nil, c.Saturation.AvgLen, 2, 7)
	_, matches := q.want(t)
	for _, call := range []string{"cuMemAlloc_v2", "cuMemHostAlloc", "cuMemHostGetDevicePointer_v2", "cuMemFree_v2", "cuMemFreeHost"} {
		for _, selects := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/select=%t", call, selects), func(t *testing.T) {
				s, err := c.kernels.NewTally()
				must(t, err)
				defer func() { must(t, s.Close()) }()
				must(t, s.Count(c.Stream, c.segment, &q.gpu, []Values{few.device}))
				gputest.Fail(t, c.Device, call, 1, cuda.OutOfMemory)
				for round := range 2 {
					var docs []uint32
					if selects {
						docs, err = s.Select(c.Stream, c.segment, &q.gpu, &by)
					} else {
						err = s.Count(c.Stream, c.segment, &q.gpu, []Values{many.device})
					}
					switch {
					case round == 0:
						if !errors.Is(err, cuda.ErrOutOfMemory) {
							t.Fatalf("the call that fails: %v", err)
						}
					case err != nil:
						t.Fatal(err)
					case selects:
						want := wantSelected(matches, c.Base, of, &by, q.gpu.K)
						for _, d := range want {
							if !slices.Contains(docs, d) {
								t.Fatalf("document %d of the best is not in %v", d, docs)
							}
						}
					case !slices.Equal(s.Counts(0), many.counts(matches, c.Base)):
						t.Fatal("other counts than those of the CPU")
					}
				}
				must(t, s.Count(c.Stream, c.segment, &q.gpu, []Values{few.device}))
				if !slices.Equal(s.Counts(0), few.counts(matches, c.Base)) {
					t.Error("few values: other counts than those of the CPU")
				}
			})
		}
	}
}

// The counts of a query have bounded memory, for any number of columns.
func TestTallyCountsAreBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(81, 1))
	c := randomCollection(t, rng, 3000, 4, false, 3)
	c.toDevice()
	s, err := c.kernels.NewTally()
	must(t, err)
	defer func() { must(t, s.Close()) }()
	v := randomValues(rng, c, 100, true, false, false)
	large := v.device
	large.NumSlots = MaxTallySlots
	q := c.query(Or, 0, nil, c.Saturation.AvgLen, 1)
	_, matches := q.want(t)
	for n := 3; n <= MaxTallyCounts/MaxTallySlots; n++ {
		must(t, s.Count(c.Stream, c.segment, &q.gpu, slices.Repeat([]Values{large}, n)))
		if got := s.Counts(n - 1); !slices.Equal(got[:100], v.counts(matches, c.Base)) {
			t.Errorf("%d columns: other counts than those of the CPU", n)
		}
		if s.counts.Len() > MaxTallyCounts || s.out.Len() > MaxTallyCounts {
			t.Errorf("%d columns: memory for %d and %d counts", n, s.counts.Len(), s.out.Len())
		}
	}
	one := v.device
	one.NumSlots = 1
	err = s.Count(c.Stream, c.segment, &q.gpu, append(slices.Repeat([]Values{large}, MaxTallyCounts/MaxTallySlots), one))
	if !errors.Is(err, ErrUnsuited) {
		t.Errorf("a count more: %v", err)
	}
}
