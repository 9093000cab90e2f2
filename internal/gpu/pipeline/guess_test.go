package pipeline

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
)

// guessed returns the thresholds that a device has guessed, and how many were not reached.
func guessed(e *Engine) (made, missed int64) {
	for _, d := range e.devices {
		made, missed = made+d.guesses.Load(), missed+d.missed.Load()
	}
	return made, missed
}

// Batches of queries with filters, deletions and exclusions begin with guessed thresholds, of which some are too high, and have
// the hits and matches of a scan.
func TestGuessedThresholds(t *testing.T) {
	rng := rand.New(rand.NewPCG(101, 1))
	c := newCollection(t, 6000, 2, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 20}, Lanes: 2})
	v := c.attach(t, e)
	defer v.Release()
	some := c.some(rng, func(int) float64 { return 0.3 })
	for _, filtered := range []bool{true, false} {
		made, missed := guessed(e)
		var batch []*Query
		for range 60 {
			first := rng.IntN(5)
			q := c.query(t, false, first+1+rng.IntN(2), first)
			q.K, q.Count = 1+rng.IntN(10), rng.IntN(2) == 0
			if filtered {
				q.Filters = some
			}
			batch = append(batch, q)
		}
		c.checkBatch(t, v, batch)
		moreMade, moreMissed := guessed(e)
		if moreMade -= made; moreMade < int64(len(batch)) {
			t.Errorf("filtered %t: %d thresholds were guessed for %d queries", filtered, moreMade, len(batch))
		}
		if moreMissed -= missed; moreMissed > moreMade/8 {
			t.Errorf("filtered %t: %d guesses of %d were not reached", filtered, moreMissed, moreMade)
		}
	}
}

// A filter without the best documents makes guesses fail; the queries are repeated, and soon nothing is guessed.
func TestFailingGuesses(t *testing.T) {
	rng := rand.New(rand.NewPCG(102, 1))
	c := newCollection(t, 3000, 1, "")
	e := open(t, Options{Memory: Memory{Bytes: 4 << 20}, Lanes: 1})
	v := c.attach(t, e)
	defer v.Release()
	q := c.query(t, false, 1, 0)
	q.K = 1000
	best, _ := c.oracle(t, q)
	poor := c.some(rng, func(doc int) float64 {
		if slices.ContainsFunc(best, func(h base.Hit) bool { return int(h.DocID) == doc }) {
			return 0
		}
		return 1
	})
	for range 3 {
		var batch []*Query
		for range 20 {
			q := c.query(t, false, 1, 0)
			q.K, q.Count, q.Filters = 5, rng.IntN(2) == 0, poor
			batch = append(batch, q)
		}
		c.checkBatch(t, v, batch)
	}
	if made, missed := guessed(e); made != 20 || missed != 20 {
		t.Errorf("%d thresholds were guessed, %d not reached: want 20 of the first batch", made, missed)
	}
}

// Deletions and exclusions of the best documents of a word make guesses fail, too, as do shards without them, and
// soon nothing is guessed.
func TestFailingGuessesWithoutFilter(t *testing.T) {
	const each = 20
	for name, want := range map[string]int64{"deletions": each, "exclusions": each, "shards": (1 + 3) * each} { // the first shard has the best documents
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(103, 1))
			const numDocs, rich = 3000, 900
			c := newCollectionOf(t, rng, numDocs, 1, "", func(doc int) string {
				if doc < rich { // all are better than the others
					return "r0 r0 r0 r1"
				}
				return strings.Repeat("r0", doc%2) + strings.Repeat(" x", 4+rng.IntN(9))
			})
			if name == "deletions" {
				live := make([]uint64, (numDocs+63)/64)
				for d := rich; d < numDocs; d++ {
					live[d/64] |= 1 << (d % 64)
				}
				c.segments[0].Live = live
			}
			o := Options{Memory: Memory{Bytes: 4 << 20}, Lanes: 1}
			var e *Engine
			if name == "shards" {
				var err error
				if e, err = openTwo(t, o); err != nil {
					t.Fatal(err)
				}
				defer closeEngine(t, e)
			} else {
				e = open(t, o)
			}
			v := c.attach(t, e)
			defer v.Release()
			poor := c.some(rng, func(doc int) float64 { return float64(min(doc/rich, 1)) })
			for range 3 {
				var batch, same []*Query // with the same answers
				for range each {
					q := c.query(t, false, 0)
					q.K, q.Count = 5, rng.IntN(2) == 0
					same = append(same, q)
					if name == "exclusions" {
						one := c.query(t, false, 1, 0)
						one.K, one.Count, one.Parts = q.K, q.Count, []Part{Excluded, Optional}
						q.Filters, q = poor, one
					}
					batch = append(batch, q)
				}
				results := make([]Result, each)
				if err := v.Run(t.Context(), batch, results, nil, nil); err != nil {
					t.Fatal(err)
				}
				for i, q := range same {
					c.compare(t, q, &results[i])
				}
			}
			if made, missed := guessed(e); made != want || missed != each {
				t.Errorf("%d thresholds were guessed, %d not reached: want %d, and %d of the first batch", made, missed, want, each)
			}
		})
	}
}

// some returns filters that documents pass with a probability.
func (c *collection) some(rng *rand.Rand, share func(doc int) float64) []Filter {
	filters := make([]Filter, len(c.segments))
	for s := range filters {
		f := &filters[s]
		f.ID, f.Words = rng.Uint64(), make([]uint64, (c.segments[s].NumDocs+63)/64)
		for d := range c.segments[s].NumDocs {
			if rng.Float64() < share(int(c.segments[s].Base)+d) {
				f.Words[d/64] |= 1 << (d % 64)
				f.NumDocs++
			}
		}
	}
	return filters
}

func (c *collection) checkBatch(t *testing.T, v *View, batch []*Query) {
	t.Helper()
	results := make([]Result, len(batch))
	if err := v.Run(t.Context(), batch, results, nil, nil); err != nil {
		t.Fatal(err)
	}
	for i, q := range batch {
		c.compare(t, q, &results[i])
	}
}

func TestReached(t *testing.T) {
	hits := func(scores ...base.Score) (out []base.Hit) {
		for _, s := range scores {
			out = append(out, base.Hit{Score: s})
		}
		return out
	}
	for _, tt := range []struct {
		hits, more []base.Hit
		k          int
		want       bool
	}{
		{nil, hits(9, 7, 5), 3, true},
		{nil, hits(9, 7, 4), 3, false},
		{hits(8, 3), hits(6, 5, 1), 3, true},
		{hits(8, 3), hits(6, 4, 1), 3, false},
		{nil, nil, 1, false},
	} {
		if got := reached(slices.Clone(tt.hits), tt.more, tt.k, 5); got != tt.want {
			t.Errorf("%v and %v, k %d: %t", tt.hits, tt.more, tt.k, got)
		}
	}
}
