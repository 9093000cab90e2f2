package pipeline

import (
	"bytes"
	"cmp"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// numbers returns a column of numbers for each segment, which some documents lack.
func (c *collection) numbers(t *testing.T, number int, value func() int64, rng *rand.Rand) []Ordinals {
	t.Helper()
	out := make([]Ordinals, len(c.segments))
	for s := range out {
		var file bytes.Buffer
		w := column.NewWriter(&file, c.segments[s].NumDocs, column.Temp{})
		n, err := w.Numbers("n")
		for d := 0; d < c.segments[s].NumDocs && err == nil; d++ {
			if d == 0 || rng.IntN(6) > 0 {
				err = n.Add(base.DocID(d), []int64{value()})
			}
		}
		if err = errors.Join(err, n.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		set, err := column.Open(column.Memory(file.Bytes()), c.segments[s].NumDocs)
		if err != nil {
			t.Fatal(err)
		}
		out[s].Number = number
		out[s].Column, _ = set.Column("n")
	}
	return out
}

// The best matches by columns of all widths are there, in both directions, with documents without a value first and last,
// and the matches are counted.
func TestSelect(t *testing.T) {
	rng := rand.New(rand.NewPCG(88, 1))
	c := newCollection(t, 3000, 2, "")
	columns := [][]Ordinals{
		c.numbers(t, 1, func() int64 { return rng.Int64N(5) }, rng),
		c.numbers(t, 2, func() int64 { return rng.Int64N(1<<20) - 1<<19 }, rng),
		c.numbers(t, 3, func() int64 { return rng.Int64() - math.MaxInt64/2 }, rng),
	}
	for _, devices := range []int{1, 2} {
		library := gputest.Configure(t, gputest.Config{Devices: devices, MemoryBytes: 256 << 20})
		e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 8 << 20}, Lanes: 2})
		if err != nil {
			t.Fatal(err)
		}
		v := c.attach(t, e)
		for range sampletest.Rounds(12, 150) {
			first := rng.IntN(8)
			q := c.query(t, rng.IntN(2) == 0, []int{first + 1 + rng.IntN(2), first}[:1+rng.IntN(2)]...)
			q.K = []int{1, 10, 300}[rng.IntN(3)]
			if rng.IntN(2) == 0 {
				q.Filters = c.filters(rng)
			}
			s := Select{Query: q, Columns: columns[rng.IntN(len(columns))], Rising: rng.IntN(2) == 0, NoneFirst: rng.IntN(2) == 0, Ties: rng.IntN(3) == 0}
			if err := v.Select(t.Context(), &s, nil); err != nil || s.Err != nil {
				t.Fatal(err, s.Err)
			}
			c.compareSelect(t, &s)
		}
		checkIdle(t, e)
		v.Release()
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func (c *collection) compareSelect(t *testing.T, s *Select) {
	t.Helper()
	q := *s.Query
	_, candidates := c.oracle(t, &q)
	for i := range c.segments {
		docs, got := slices.Clone(candidates.Segments[i].DocIDs), &s.Segments[i]
		cursor := s.Columns[i].Column.Cursor()
		key := func(d uint32) (class int, v int64) {
			value, ok, err := cursor.Value(base.DocID(d))
			switch {
			case err != nil:
				t.Fatal(err)
			case !ok && s.NoneFirst:
				return -1, 0
			case !ok:
				return 1, 0
			case !s.Rising:
				value = ^value
			}
			return 0, value
		}
		slices.SortFunc(docs, func(a, b uint32) int {
			ca, va := key(a)
			cb, vb := key(b)
			return cmp.Or(cmp.Compare(ca, cb), cmp.Compare(va, vb), cmp.Compare(a, b))
		})
		if got.Matches != int64(len(docs)) {
			t.Fatalf("segment %d: %d matches, want %d", i, got.Matches, len(docs))
		}
		for _, d := range docs[:min(len(docs), q.K)] {
			if !slices.Contains(got.Docs, d) {
				t.Fatalf("segment %d: document %d of the best %d is missing", i, d, q.K)
			}
		}
	}
}

// A column in which documents have several values is left to the CPU.
func TestSelectRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(89, 1))
	c := newCollection(t, 600, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 1 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	s := Select{Query: c.query(t, false, 5), Columns: c.keywordColumns(t, rng, 1, 30, true)}
	if err := v.Select(t.Context(), &s, nil); err != nil || !errors.Is(s.Err, errNoOrder) {
		t.Errorf("several values: %v, %v", err, s.Err)
	}
	s.Columns = nil
	if err := v.Select(t.Context(), &s, nil); err != nil || !errors.Is(s.Err, base.ErrBadInput) {
		t.Errorf("no column: %v, %v", err, s.Err)
	}
}
