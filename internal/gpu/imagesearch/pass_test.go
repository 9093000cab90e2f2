package imagesearch

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// passList copies a list to page-locked or device memory.
func (c *collection) passList(i int, onHost bool) *PassList {
	payload, directory := c.Lists[i].Raw()
	quads := (len(payload) + 15) / 16
	words := make([]uint32, 4*quads, 4*(quads+len(directory)))
	for j, b := range payload {
		words[j/4] |= uint32(b) << (8 * (j % 4))
	}
	for _, e := range directory {
		words = append(words, e.First, e.Last, e.Offset, uint32(e.Bound)|uint32(e.DocWidth)<<16|uint32(e.FreqWidth)<<24)
	}
	var at cuda.Ptr[uint32]
	if onHost {
		h, err := cuda.AllocHost[uint32](c.Device, len(words))
		c.Must(err)
		c.Cleanup(func() { c.Must(h.Free()) })
		copy(h.Data(), words)
		at = h.DevicePtr()
	} else {
		at = gputest.Upload(c.Session, words).Ptr()
	}
	return &PassList{
		Payload: at, Directory: at + cuda.Ptr[uint32](16*quads), Cuts: c.kernels.NewCuts(c.NumDocs, directory),
		Shape: c.shape(i), Lengths: c.onGPU,
	}
}

// toPass makes the lists of a pass.
func (c *collection) toPass(rng *rand.Rand) (p *Pass, lists []*PassList) {
	p, err := c.kernels.NewPass()
	c.Must(err)
	c.Cleanup(func() { c.Must(p.Close()) })
	for i := range c.Lists {
		lists = append(lists, c.passList(i, rng.IntN(2) == 0))
	}
	return p, lists
}

func (c *collection) addLists(p *Pass, lists []*PassList) {
	p.Reset(c.segment)
	for i, l := range lists {
		n, err := p.AddList(l)
		c.Must(err)
		if n != i {
			c.Fatalf("list %d has number %d", i, n)
		}
	}
}

type passTest struct {
	testQuery
	pass PassQuery
}

func (c *collection) passQuery(mode Mode, k int, boosts map[int]float64, avgLen float64, lists ...int) passTest {
	q := passTest{c.query(mode, k, boosts, avgLen, lists...), PassQuery{Mode: mode, K: k}}
	for i, l := range lists {
		q.pass.Terms = append(q.pass.Terms, PassTerm{q.cpu.Legs[i].Leg, l})
	}
	return q
}

// passBytes is the memory in which the largest band of some units fits.
func (p *Pass) passBytes(units int) int {
	size := int64(1)
	for ; ; size += size/8 + 128 {
		b := bandPlanner{p: p}
		if b.divide(size) == nil && b.bands[0].to >= min(units, p.numUnits(), p.mostUnits()) {
			return int(passBuffers * ((size + 255) &^ 255))
		}
	}
}

// A pass equals the CPU's exhaustive traversal, with bands of any width.
func TestPass(t *testing.T) {
	for _, tt := range []struct {
		numDocs, lists, queries int
		linear                  bool
		maxFreq                 uint32
		deleted                 float64
		unit, units             int // the smallest width of a band, and the width that memory has room for
	}{
		{1, 2, 4, false, 3, 0, 1, 1},
		{33, 4, 8, false, 3, 0, 4, 1},
		{4097, 10, 12, false, 600, 0, 1, 1},
		{20011, 20, 10, false, 40, 0, 1, 1},
		{20011, 20, 6, false, 40, 0, 1, 2},
		{30000, 12, 6, false, 30_000, 0.3, 1, 3},
		{9000, 45, 6, true, 255, 0, 1, 1},
		{9000, 40, 4, true, 5000, 0.1, 1, 2},
		{5000, 10, 8, true, 1, 0, 1, 1},      // all scores of a list are equal
		{53_001, 8, 4, false, 9, 0.1, 4, 12}, // larger than a tile
		{50_000, 36, 2, true, 255, 0, 2, 2},  // more terms than lanes
		{230_000, 4, 2, false, 4, 0, 4, 100}, // more room than the widest band needs
	} {
		name := fmt.Sprintf("docs=%d/lists=%d/linear=%v/deleted=%v/unit=%d/units=%d", tt.numDocs, tt.lists, tt.linear, tt.deleted, tt.unit, tt.units)
		t.Run(name, func(t *testing.T) {
			sampletest.SkipRace(t) // goroutines only describe bands: TestPassRefuses
			rng := rand.New(rand.NewPCG(uint64(tt.numDocs), uint64(tt.lists)))
			c := randomCollection(t, rng, tt.numDocs, tt.lists, tt.linear, tt.maxFreq)
			if tt.deleted > 0 {
				c.DeleteSome(rng, tt.deleted)
			}
			c.toDevice()
			c.kernels.passes.unit = tt.unit
			p, lists := c.toPass(rng)
			c.addLists(p, lists)
			memory := gputest.Alloc[byte](c.Session, p.passBytes(tt.units))
			for range 2 {
				c.addLists(p, lists)
				var queries []passTest
				for range tt.queries {
					avgLen, boosts := c.Saturation.AvgLen, map[int]float64{}
					if rng.IntN(3) == 0 {
						avgLen *= 0.5 + rng.Float64()
						for l := range c.Lists {
							boosts[l] = 0.1 + 3*rng.Float64()
						}
					}
					terms := 1 + rng.IntN(min(6, len(c.Lists)))
					if rng.IntN(6) == 0 {
						terms = len(c.Lists)
					}
					k := []int{1, 10, 10, 100, 500, 1000}[rng.IntN(6)]
					q := c.passQuery(Mode(rng.IntN(2)), k, boosts, avgLen, pick(rng, terms, len(c.Lists))...)
					n, err := p.Add(&q.pass)
					if errors.Is(err, ErrUnsuited) && tt.linear && len(q.pass.Terms) == len(c.Lists) {
						continue // scores may exceed 32 bits
					}
					if err != nil || n != len(queries) {
						t.Fatalf("query %d is %d: %v", len(queries), n, err)
					}
					queries = append(queries, q)
				}
				c.Must(cuda.Fill(c.Stream, memory, 0xA5))
				c.Must(c.Stream.Synchronize())
				c.Must(p.Run(memory, nil, nil))
				for i := range queries {
					q := &queries[i]
					what := fmt.Sprintf("query %d (mode %d, k %d, %d terms)", i, q.pass.Mode, q.pass.K, len(q.pass.Terms))
					q.compare(t, what, c, p.AppendHits(nil, i), 0)
				}
			}
			if s := p.Stats(); s.Bands < (p.numUnits()+p.mostUnits()-1)/p.mostUnits() || tt.units == 1 && tt.unit == 1 && tt.numDocs > 20000 && s.Bands < 2 || s.Blocks == 0 || s.Filling <= 0 || s.Searching <= 0 || s.Took <= 0 {
				t.Errorf("%+v, of %d units, %d at a time", s, p.numUnits(), tt.units)
			}
		})
	}
}

// newPass makes a collection with a pass and memory for its narrowest bands, of one superblock.
func newPass(t *testing.T, numDocs, numLists int) (c *collection, p *Pass, lists []*PassList, memory cuda.Buffer[byte]) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(numDocs), 3))
	c = randomCollection(t, rng, numDocs, numLists, false, 9)
	c.toDevice()
	c.kernels.passes.unit = 1
	p, lists = c.toPass(rng)
	c.addLists(p, lists)
	c.Must(c.Stream.Synchronize()) // the lists are there
	return c, p, lists, gputest.Alloc[byte](c.Session, p.passBytes(1))
}

func (c *collection) runPass(p *Pass, lists []*PassList, memory cuda.Buffer[byte], queries ...*passTest) {
	c.Helper()
	c.addLists(p, lists)
	for _, q := range queries {
		_, err := p.Add(&q.pass)
		c.Must(err)
	}
	c.Must(cuda.Fill(c.Stream, memory, 0xFF))
	c.Must(c.Stream.Synchronize())
	c.Must(p.Run(memory, nil, nil))
	for i, q := range queries {
		q.compare(c, fmt.Sprintf("query %d", i), c, p.AppendHits(nil, i), 0)
	}
}

// An And query whose lists are all sparse looks up no range behind the last document, where directories have no bucket.
func TestPassSparseAnd(t *testing.T) {
	c, p, lists, memory := newPass(t, 8193, 10)
	for _, terms := range [][]int{{7}, {7, 9}, {9}, {7, 8, 9}} {
		for _, i := range terms {
			if kind := c.images[i].kind; kind == dense {
				t.Fatalf("list %d is dense", i)
			}
		}
		for _, mode := range []Mode{Or, And} {
			q := c.passQuery(mode, 10, nil, c.Saturation.AvgLen, terms...)
			c.runPass(p, lists, memory, &q)
		}
	}
}

// A threshold of other segments leaves out only lower scores.
func TestPassThreshold(t *testing.T) {
	c, p, lists, memory := newPass(t, 9000, 6)
	q := c.passQuery(Or, 10, nil, c.Saturation.AvgLen, 1, 2, 3)
	hits, _ := q.want(t)
	for _, n := range []int{10, 5, 1} {
		q.pass.Threshold = hits[n-1].Score
		c.addLists(p, lists)
		_, err := p.Add(&q.pass)
		c.Must(err)
		c.Must(p.Run(memory, nil, nil))
		got := p.AppendHits(nil, 0)
		for i, h := range hits {
			if h.Score >= q.pass.Threshold && (i >= len(got) || got[i] != h) {
				t.Fatalf("threshold %d: %v, want %v", q.pass.Threshold, got, hits)
			}
		}
	}
}

func TestPassRefuses(t *testing.T) {
	c, p, lists, memory := newPass(t, 9000, 6)
	for name, tt := range map[string]struct {
		edit func(l *PassList)
		want error
	}{
		"documents":  {func(l *PassList) { l.Shape.NumDocs++ }, base.ErrBadInput},
		"payload":    {func(l *PassList) { l.Payload = 0 }, base.ErrBadInput},
		"no cuts":    {func(l *PassList) { l.Cuts = nil }, base.ErrBadInput},
		"other cuts": {func(l *PassList) { l.Cuts = &Cuts{unit: 2} }, base.ErrBadInput},
		"lengths":    {func(l *PassList) { l.Lengths = l.Lengths.Slice(0, 8999) }, base.ErrBadInput},
		"postings":   {func(l *PassList) { l.Shape.DocFreq = 0 }, base.ErrBadInput},
		"long":       {func(l *PassList) { l.Cuts = &Cuts{unit: 1, freqWidth: 16} }, ErrUnsuited},
	} {
		l := *lists[0]
		tt.edit(&l)
		if _, err := p.AddList(&l); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	for name, tt := range map[string]struct {
		edit func(q *PassQuery)
		want error
	}{
		"k":         {func(q *PassQuery) { q.K = MaxPassK + 1 }, ErrUnsuited},
		"no hits":   {func(q *PassQuery) { q.K = 0 }, base.ErrBadInput},
		"terms":     {func(q *PassQuery) { q.Terms = nil }, base.ErrBadInput},
		"mode":      {func(q *PassQuery) { q.Mode = 9 }, base.ErrBadInput},
		"many":      {func(q *PassQuery) { q.Terms = make([]PassTerm, MaxPassTerms+1) }, ErrUnsuited},
		"list":      {func(q *PassQuery) { q.Terms[1].List = len(lists) }, base.ErrBadInput},
		"linear":    {func(q *PassQuery) { q.Terms[1].Term.Linear = true }, ErrUnsuited},
		"no number": {func(q *PassQuery) { q.Terms[0].List = -1 }, base.ErrBadInput},
	} {
		q := c.passQuery(Or, 10, nil, c.Saturation.AvgLen, 1, 2)
		tt.edit(&q.pass)
		if _, err := p.Add(&q.pass); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	if p.Len() != 0 || len(p.terms) != 0 {
		t.Errorf("%d queries, %d terms after errors", p.Len(), len(p.terms))
	}
	c.Must(p.Run(memory, nil, nil)) // no query
	q := c.passQuery(Or, 10, nil, c.Saturation.AvgLen, 1, 2)
	_, err := p.Add(&q.pass)
	c.Must(err)
	if err := p.Run(memory.Slice(0, memory.Len()/4), nil, nil); !errors.Is(err, ErrBand) {
		t.Errorf("a quarter of the memory: %v", err)
	}
	asked := 0
	if err := p.Run(memory, nil, func() bool { asked++; return asked == 2 }); !errors.Is(err, ErrStopped) || p.Stats().Bands != 1 {
		t.Errorf("stopped before the second band: %v, %d bands", err, p.Stats().Bands)
	}
	if err := p.Run(memory, func(*cuda.Stream) error { return cuda.ErrOutOfMemory }, nil); !errors.Is(err, cuda.ErrOutOfMemory) {
		t.Errorf("uploads: %v", err)
	}
	c.runPass(p, lists, memory, &q)
}

// After an error of any call, nothing is running, and the next pass is right.
func TestPassFaults(t *testing.T) {
	c, p, lists, memory := newPass(t, 9000, 6)
	q, other := c.passQuery(Or, 10, nil, c.Saturation.AvgLen, 1, 2), c.passQuery(And, 100, nil, c.Saturation.AvgLen, 0, 4)
	for _, call := range []string{"cuLaunchKernel", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuEventRecord", "cuStreamWaitEvent", "cuMemsetD8Async"} {
		for nth := 1; nth <= 2; nth++ {
			c.addLists(p, lists)
			for _, q := range []*passTest{&q, &other} {
				_, err := p.Add(&q.pass)
				c.Must(err)
			}
			gputest.Fail(t, c.Device, call, nth, cuda.OutOfMemory)
			if err := p.Run(memory, nil, nil); !errors.Is(err, cuda.ErrOutOfMemory) {
				t.Errorf("%s %d: %v", call, nth, err)
			}
			c.runPass(p, lists, memory, &q, &other)
		}
	}
}
