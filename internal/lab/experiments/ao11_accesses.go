package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Accesses() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-accesses", Paper: "ao11", Shows: "§4.3, accesses", Title: "Comparisons and memory accesses of a search",
		Did: "The paper explains its results by accesses to memory: binary search has one per comparison, interpolation search three; " +
			"safe ranges and hash buckets reduce the comparisons without additional accesses to the list. It has no counts.",
		Ours: ao11Ours + " Means over the searches of 60 queries with 2 or more terms: each DocID of the shortest list in the others, until one lacks it. " +
			"A search ends where it has the first element that is not smaller, as in `internal/contraction`. Accesses are to elements, to the pointers of two buckets, and to the line of a segment; " +
			"a list's own line is in a register. Nothing is timed; all find the same number of DocIDs.",
		Differs: "Interpolation search here compares less often than binary search, but accesses memory as often (GOVR) or more, and on GOV a few searches take far more steps than the mean, on which a warp waits: " +
			"so it can be slower on a GPU, as the paper says.",
		Findings: ao11AccessesFindings, Verdicts: ao11AccessesVerdicts,
		Budget: 4 * time.Minute,
		Run:    runAo11Accesses,
	}
}

// searchCost counts comparisons of the DocID with elements or boundaries, and accesses to memory; most are the
// comparisons of the longest search.
type searchCost struct{ searches, comparisons, accesses, most int }

// countedSearcher is a searcher that counts. hint returns where to search.
type countedSearcher struct {
	seq  []uint32
	cost *searchCost
	hint func(s *countedSearcher, x uint32) (lo, hi int)
}

func (*countedSearcher) reset() {}

func (s *countedSearcher) has(x uint32) bool {
	before := s.cost.comparisons
	s.cost.searches++
	lo, hi := s.hint(s, x)
	at := s.binary(s.seq, lo, hi, x)
	s.cost.most = max(s.cost.most, s.cost.comparisons-before)
	return at < len(s.seq) && s.seq[at] == x
}

func (s *countedSearcher) binary(seq []uint32, lo, hi int, x uint32) int {
	for lo < hi {
		mid := (lo + hi) / 2
		s.add(1, 1)
		if seq[mid] < x {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

func (s *countedSearcher) add(comparisons, accesses int) {
	s.cost.comparisons += comparisons
	s.cost.accesses += accesses
}

// interpolate returns an empty range at the result. A step reads both ends of the range and the element between.
func (s *countedSearcher) interpolate(x uint32) (at, same int) {
	s.add(2, 2)
	lo, hi := 0, len(s.seq)-1
	switch {
	case x <= s.seq[0]:
		return 0, 0
	case x > s.seq[hi]:
		return len(s.seq), len(s.seq)
	}
	for hi-lo > 1 {
		mid := contraction.Interpolation(lo, hi, s.seq[lo], s.seq[hi], x)
		s.add(1, 3)
		if s.seq[mid] < x {
			lo = mid
		} else {
			hi = mid
		}
	}
	return hi, hi
}

type hint = func(s *countedSearcher, x uint32) (lo, hi int)

func localHint(docIDs []uint32, parts int) hint {
	local := newLocalSearcher(docIDs, parts)
	return func(s *countedSearcher, x uint32) (lo, hi int) {
		i := s.binary(local.heads, 0, len(local.heads), x)
		if i == len(local.heads) || local.heads[i] != x {
			if i--; i < 0 {
				return 0, 0
			}
		}
		s.add(0, 1) // the segment's line
		lo, hi = local.ranges[i].Range(x)
		return i*local.size + lo, i*local.size + hi
	}
}

func hashHint(size int) func(l *ao11List) hint {
	return func(l *ao11List) hint {
		buckets := contraction.NewBuckets(l.docIDs, uint64(l.universe), size)
		return func(s *countedSearcher, x uint32) (lo, hi int) {
			s.add(1, 0) // with the last bucket
			if lo, hi = buckets.Range(x); lo < buckets.Len {
				s.add(0, 2)
			}
			return lo, hi
		}
	}
}

var countedWays = []struct {
	name string
	hint func(l *ao11List) hint
}{
	{"BS", func(l *ao11List) hint {
		return func(*countedSearcher, uint32) (lo, hi int) { return 0, len(l.docIDs) }
	}},
	{"IS", func(*ao11List) hint { return (*countedSearcher).interpolate }},
	{"LR", func(l *ao11List) hint {
		safe := contraction.NewSafeRange(l.docIDs)
		return func(_ *countedSearcher, x uint32) (lo, hi int) { return safe.Range(x) }
	}},
	{"LR, g = 16", func(l *ao11List) hint { return localHint(l.docIDs, 16) }},
	{"LR, g = 64", func(l *ao11List) hint { return localHint(l.docIDs, 64) }},
	{"HS256", hashHint(256)},
	{"HS128", hashHint(128)},
	{"HS64", hashHint(64)},
	{"HS32", hashHint(32)},
	{"HS16", hashHint(16)},
}

func runAo11Accesses(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	var rows, columns []string
	for _, w := range countedWays {
		rows = append(rows, w.name)
	}
	for _, of := range ao11Collections[:ao11GOVs] {
		columns = append(columns, of.name+": comparisons", of.name+": accesses", of.name+": most comparisons")
	}
	t := lab.NewTable("Means of a search, and the comparisons of the longest search", "search", rows, columns)
	for i, of := range ao11Collections[:ao11GOVs] {
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return nil, err
		}
		asked, err := askedOf(c, queries, lab.Pick(env, 60, 8))
		if err != nil {
			return nil, err
		}
		q, err := newParaQueries(ctx, asked, c.NumDocs())
		if err != nil {
			return nil, err
		}
		for row, w := range countedWays {
			env.Progress(of.name+", "+w.name, i*len(rows)+row, ao11GOVs*len(rows))
			if ctx.Err() != nil {
				return nil, context.Cause(ctx)
			}
			cost := new(searchCost)
			way := ao11Way{w.name, "", func(l *ao11List, _ codec.Codec) (searcher, error) {
				return &countedSearcher{seq: l.docIDs, cost: cost, hint: w.hint(l)}, nil
			}}
			r, err := way.prepare(asked, c.NumDocs())
			if err != nil {
				return nil, err
			}
			if found := r.run(); found != q.found() {
				return nil, fmt.Errorf("%s: %s finds %d DocIDs, not %d", of.name, w.name, found, q.found())
			}
			searches := float64(max(cost.searches, 1))
			t.Set(row, 3*i, float64(cost.comparisons)/searches)
			t.Set(row, 3*i+1, float64(cost.accesses)/searches)
			t.Set(row, 3*i+2, float64(cost.most))
		}
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}
