package residency

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
)

// columnsOf returns columns of documents that have values with a probability.
func columnsOf(t *testing.T, rng *rand.Rand, numDocs int, columns map[string]func() []int64, share float64) map[string]*column.Column {
	t.Helper()
	var out bytes.Buffer
	w := column.NewWriter(&out, numDocs, column.Temp{})
	for i := range len(columns) {
		name := fmt.Sprint(i)
		n, err := w.Numbers(name)
		if err != nil {
			t.Fatal(err)
		}
		for d := range numDocs {
			if d > 0 && rng.Float64() >= share {
				continue
			}
			if err := n.Add(base.DocID(d), columns[name]()); err != nil {
				t.Fatal(err)
			}
		}
		if err := n.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	set, err := column.Open(column.Memory(out.Bytes()), numDocs)
	if err != nil {
		t.Fatal(err)
	}
	made := map[string]*column.Column{}
	for name := range columns {
		made[name], _ = set.Column(name)
	}
	return made
}

// The bitmap of ranges of columns of all widths, with and without missing values, is the one of the CPU, and
// each column is uploaded once.
func TestRanges(t *testing.T) {
	rng := rand.New(rand.NewPCG(84, 1))
	for _, share := range []float64{1, 0.7} {
		s := makeSegment(t, 6000)
		d := openOneOfTwo(t, false)
		from, to := 1024, 5001
		p := d.Shard(s, from, to)
		u := d.uploaders[0]
		columns := columnsOf(t, rng, s.NumDocs, map[string]func() []int64{
			"0": func() []int64 { return []int64{rng.Int64N(1000) - 500} },
			"1": func() []int64 { return []int64{rng.Int64N(1 << 20)} },
			"2": func() []int64 { return []int64{rng.Int64() - math.MaxInt64/2} },
			"3": func() []int64 { return []int64{7} },
			"4": func() []int64 { return []int64{math.MinInt64 + rng.Int64N(2)*math.MaxInt64} },
		}, share)
		var counts Counts
		for round := range 60 {
			var ranges []ColumnRange
			want := make([]uint64, (s.NumDocs+63)/64)
			for i := range want {
				want[i] = math.MaxUint64
			}
			for range 1 + rng.IntN(2) {
				r := ColumnRange{Number: rng.IntN(len(columns))}
				r.Column = columns[fmt.Sprint(r.Number)]
				lo, hi := r.Column.Bounds()
				bound := func() int64 {
					switch rng.IntN(6) {
					case 0:
						return []int64{lo, hi, math.MinInt64, math.MaxInt64}[rng.IntN(4)]
					case 1:
						return lo + rng.Int64N(3) - 1
					}
					return lo + int64(rng.Float64()*float64(uint64(hi)-uint64(lo)))
				}
				r.Lo, r.Hi = bound(), bound()
				one := make([]uint64, len(want))
				if rng.IntN(3) == 0 {
					for range 1 + rng.IntN(MaxRuns/2) { // of one or two values
						v := bound()
						r.Values = append(r.Values, v, v+rng.Int64N(2))
					}
					slices.Sort(r.Values)
					r.Values = slices.Compact(r.Values)
					r.Lo, r.Hi = r.Values[0], r.Values[len(r.Values)-1]
					if err := r.Column.Set(r.Values, one); err != nil {
						t.Fatal(err)
					}
				} else if r.Lo <= r.Hi {
					if err := r.Column.Range(r.Lo, r.Hi, one); err != nil {
						t.Fatal(err)
					}
				}
				ranges = append(ranges, r)
				for i := range want {
					want[i] &= one[i]
				}
			}
			e, err := u.Filter(p, &Filter{ID: rng.Uint64(), Ranges: ranges}, &counts)
			if err != nil {
				t.Fatal(err)
			}
			got := make([]uint32, e.Bits().Len())
			if err := cuda.CopyToHost(u.stream, got, e.Bits()); err != nil {
				t.Fatal(err)
			}
			if err := u.Synchronize(); err != nil {
				t.Fatal(err)
			}
			ones := 0
			for doc := range to - from {
				w := want[(from+doc)/64] >> ((from + doc) % 64) & 1
				if uint64(got[doc/32]>>(doc%32)&1) != w {
					t.Fatalf("round %d: %+v: document %d: not %d", round, ranges, from+doc, w)
				}
				ones += int(w)
			}
			if e.NumDocs() != ones {
				t.Fatalf("round %d: %+v: %d documents, want %d", round, ranges, e.NumDocs(), ones)
			}
			e.Unpin()
		}
		if c := d.Stats().Cache; c.Columns != 5 || c.Filters != 60 {
			t.Errorf("%+v: want 5 columns, 60 filters", c)
		}
		p.Release()
		if c := d.Stats().Cache; c.Columns != 0 || c.Filters != 0 {
			t.Errorf("after the release of the shard: %+v", c)
		}
	}
}

// Without room for a column, or if it is not worth its room, the words are computed. A column with several
// values of a document, or with all numbers, is not flat.
func TestRangesWithoutRoom(t *testing.T) {
	rng := rand.New(rand.NewPCG(85, 1))
	d, s := openDevice(t, 6000, DeviceOptions{Memory: Memory{Bytes: 1 << 20}, Uploaders: 1})
	p := d.Shard(s, 0, s.NumDocs)
	defer p.Release()
	u := d.uploaders[0]
	columns := columnsOf(t, rng, s.NumDocs, map[string]func() []int64{
		"0": func() []int64 { return []int64{rng.Int64N(100)} },
		"1": func() []int64 { return []int64{rng.Int64N(100), 7} },
		"2": func() []int64 { return []int64{[]int64{math.MinInt64, math.MaxInt64}[rng.IntN(2)]} },
	}, 1)
	ranges := []ColumnRange{{Column: columns["0"], Lo: 10, Hi: 20}}
	if !ranges[0].IsFlat() || (&ColumnRange{Column: columns["1"]}).IsFlat() || (&ColumnRange{Column: columns["2"]}).IsFlat() {
		t.Errorf("which columns are flat: %d, %d, %d bytes", flatBytes(columns["0"]), flatBytes(columns["1"]), flatBytes(columns["2"]))
	}
	d.limit[0].Store(4 << 10) // a bitmap has room
	var counts Counts
	words := randomFilter(rng, s.NumDocs).Words
	computed := 0
	f := &Filter{ID: 1, Ranges: ranges, Compute: func() ([]uint64, error) {
		computed++
		return words, nil
	}}
	e, err := u.Filter(p, f, &counts)
	if err != nil || computed != 1 || d.Stats().Cache.Columns != 0 {
		t.Fatalf("%v, computed %d times, %+v", err, computed, d.Stats().Cache)
	}
	defer e.Unpin()
	got := make([]uint32, e.Bits().Len())
	if err := cuda.CopyToHost(u.stream, got, e.Bits()); err != nil {
		t.Fatal(err)
	}
	if err := u.Synchronize(); err != nil {
		t.Fatal(err)
	}
	for i, w := range words {
		if got[2*i] != uint32(w) || got[2*i+1] != uint32(w>>32) {
			t.Fatalf("word %d: %x %x, want %x", i, got[2*i], got[2*i+1], w)
		}
	}
	f = &Filter{ID: 2, Ranges: ranges, Compute: func() ([]uint64, error) { return nil, base.ErrCorrupt }}
	if _, err := u.Filter(p, f, &counts); err == nil || u.Busy() || d.Probe().Users() != 1 {
		t.Errorf("words that cannot be computed: %v, %d pins", err, d.Probe().Users())
	}
}
