package pipeline

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/column"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
	"github.com/griffin-search/griffin/internal/gpu/imagesearch"
	"github.com/griffin-search/griffin/internal/sampletest"
)

// keywordColumns returns a column of keywords for each segment: with one value or several, in a share of the
// documents; nil for a segment without the field.
func (c *collection) keywordColumns(t *testing.T, rng *rand.Rand, number, terms int, multi bool) []Ordinals {
	t.Helper()
	out := make([]Ordinals, len(c.segments))
	for s := range out {
		if s > 0 && rng.IntN(4) == 0 {
			continue
		}
		var file bytes.Buffer
		w := column.NewWriter(&file, c.segments[s].NumDocs, column.Temp{})
		o, err := w.Ordinals("k")
		for d := 0; d < c.segments[s].NumDocs && err == nil; d++ {
			var values [][]byte
			for range []int{0, 1, 1, 1 + rng.IntN(3)}[rng.IntN(4)] {
				values = append(values, fmt.Appendf(nil, "k%05d", rng.IntN(terms)))
			}
			if !multi && len(values) > 1 {
				values = values[:1]
			}
			slices.SortFunc(values, bytes.Compare)
			err = o.Add(base.DocID(d), slices.CompactFunc(values, bytes.Equal))
		}
		if err = errors.Join(err, o.Close(), w.Close()); err != nil {
			t.Fatal(err)
		}
		set, err := column.Open(column.Memory(file.Bytes()), c.segments[s].NumDocs)
		if err != nil {
			t.Fatal(err)
		}
		out[s].Number = number
		if out[s].Column, _ = set.Column("k"); out[s].Column.MultiValued() && !multi {
			t.Fatal("a column of single values is multi-valued")
		}
	}
	return out
}

// Counts of matches and of values, on one device and on two that share the documents, with deletions, filters and
// columns with one value, several and none, equal the counts of the columns on the CPU.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(86, 1))
	c := newCollection(t, 3000, 3, "")
	columns := [][]Ordinals{
		c.keywordColumns(t, rng, 1, 300, false), c.keywordColumns(t, rng, 2, 40, true), c.keywordColumns(t, rng, 3, 70_000, false),
	}
	for _, devices := range []int{1, 2} {
		library := gputest.Configure(t, gputest.Config{Devices: devices, MemoryBytes: 256 << 20})
		e, err := Open(Options{Library: library.Path(), Devices: Selection{All: true}, Memory: Memory{Bytes: 8 << 20}, Lanes: 2})
		if err != nil {
			t.Fatal(err)
		}
		v := c.attach(t, e)
		var tally Tally
		for round := range sampletest.Rounds(20, 200) {
			first := rng.IntN(8)
			words := []int{first + 1 + rng.IntN(2), first}[:1+rng.IntN(2)]
			tally.Query = c.query(t, rng.IntN(2) == 0, words...)
			if rng.IntN(2) == 0 {
				tally.Query.Filters = c.filters(rng)
			}
			asked := pickColumns(rng, columns)
			tally.NumColumns, tally.Columns = len(asked), tally.Columns[:0]
			for s := range c.segments {
				for _, of := range asked {
					tally.Columns = append(tally.Columns, of[s])
				}
			}
			had := v.HasTally(&tally)
			if err := v.Tally(t.Context(), &tally, nil); err != nil || tally.Err != nil {
				t.Fatal(err, tally.Err)
			}
			none := slices.ContainsFunc(tally.Query.Filters, func(f Filter) bool { return f.IsNone() })
			if !none && !v.HasTally(&tally) || round == 0 && had {
				t.Errorf("round %d: lists and columns are on the devices: %t before, want them after", round, had)
			}
			c.compareTally(t, &tally)
		}
		if s := e.Stats().Devices[0]; s.Tallies != int64(sampletest.Rounds(20, 200)) || s.Columns == 0 || s.Launches == 0 {
			t.Errorf("%+v", s)
		}
		checkIdle(t, e)
		v.Release()
		if s := e.Stats().Devices[0]; s.Columns != 0 || s.SizeBytes != 0 {
			t.Errorf("after the release: %d columns, %d bytes", s.Columns, s.SizeBytes)
		}
		if err := e.Close(); err != nil {
			t.Error(err)
		}
	}
}

func pickColumns(rng *rand.Rand, columns [][]Ordinals) (picked [][]Ordinals) {
	for _, i := range rng.Perm(len(columns))[:rng.IntN(len(columns)+1)] {
		picked = append(picked, columns[i])
	}
	return picked
}

func (c *collection) compareTally(t *testing.T, tally *Tally) {
	t.Helper()
	_, candidates := c.oracle(t, tally.Query)
	for s := range c.segments {
		docs, got := candidates.Segments[s].DocIDs, &tally.Segments[s]
		if got.Matches != int64(len(docs)) {
			t.Fatalf("segment %d: %d matches, want %d", s, got.Matches, len(docs))
		}
		words := make([]uint64, (c.segments[s].NumDocs+63)/64)
		for _, d := range docs {
			words[d/64] |= 1 << (d % 64)
		}
		for i := range tally.NumColumns {
			of := tally.Columns[s*tally.NumColumns+i].Column
			if of == nil {
				if got.Counts[i] != nil || got.Missing[i] != got.Matches {
					t.Fatalf("segment %d: column %d that it lacks: %d values, %d missing", s, i, len(got.Counts[i]), got.Missing[i])
				}
				continue
			}
			want := make([]uint32, of.NumTerms())
			missing, err := of.CountOrdinals(words, want)
			if err != nil {
				t.Fatal(err)
			}
			if int64(missing) != got.Missing[i] || !slices.Equal(want, got.Counts[i]) {
				t.Fatalf("segment %d: column %d of %d values: %d missing, want %d, or other counts", s, i, of.NumTerms(), got.Missing[i], missing)
			}
		}
	}
}

// Without room for a column, and of columns with too many values, the CPU must count.
func TestTallyRefusals(t *testing.T) {
	rng := rand.New(rand.NewPCG(87, 1))
	c := newCollection(t, 3000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 10}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	tally := Tally{Query: c.query(t, false, 11), NumColumns: 1, Columns: c.keywordColumns(t, rng, 1, 300, false)}
	if err := v.Tally(t.Context(), &tally, nil); err != nil || tally.Err == nil {
		t.Errorf("little memory: %v, %v", err, tally.Err)
	}
	tally.NumColumns = imagesearch.MaxTallyCounts/tally.Columns[0].NumSlots() + 1
	tally.Columns = slices.Repeat(tally.Columns[:1], tally.NumColumns)
	if err := v.Tally(t.Context(), &tally, nil); err != nil || !errors.Is(tally.Err, errManyValues) || v.HasTally(&tally) {
		t.Errorf("many columns: %v, %v", err, tally.Err)
	}
	tally.NumColumns--
	tally.Columns = tally.Columns[1:]
	if err := tally.check(v); err != nil {
		t.Errorf("a column less: %v", err)
	}
	tally.NumColumns = 1
	checkIdle(t, e)
	tally.Columns = nil
	if err := v.Tally(t.Context(), &tally, nil); err != nil || !errors.Is(tally.Err, base.ErrBadInput) {
		t.Errorf("no columns: %v, %v", err, tally.Err)
	}
}
