package experiments

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Table4() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-table4", Paper: "ao11", Shows: "Table 4", Title: "Length ratio as intersection proceeds",
		Did: "The queries of 2 to 6 terms of the 2006 log on GOV, lists from short to long. Before intersecting " +
			"list x+1, R is the length of the intersection of the first x lists divided by the length of list " +
			"x+1, in percent. The other number is the length of the intersection in thousands. Both are means " +
			"over queries.",
		Ours: "The same on the collection similar to GOV in crawl order (`griffin lab generate --like gov`), with " +
			"up to 2,000 queries for each number of terms. Means over queries; nothing is timed.",
		Differs: "Only queries whose terms all occur in the collection. The collection is generated such that the " +
			"shortest lists have the published mean length; no other number of this table was a target.",
		Findings: ao11Table4Findings, Verdicts: ao11Table4Verdicts,
		Budget: 2 * time.Minute,
		Run:    runAo11Table4,
	}
}

// The paper's numbers, by number of terms less 2, then stage.
var (
	ao11Ratios  = [][]float64{{13.6}, {23.1, 0.97}, {28.6, 1.76, 0.22}, {32.0, 2.38, 0.35, 0.087}, {34.4, 2.82, 0.50, 0.13, 0.054}}
	ao11Lengths = [][]float64{{8.6}, {8.7, 2.0}, {8.4, 1.6, 0.8}, {8.0, 1.5, 0.6, 0.5}, {8.0, 1.5, 0.6, 0.4, 0.4}}
	ao11Shares  = []float64{16.1, 24.5, 22.8, 14.8, 8.24}
)

const (
	leastTerms = 2
	mostTerms  = 6
)

func runAo11Table4(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	var rows, columns []string
	for x := 1; x < mostTerms; x++ {
		rows = append(rows, fmt.Sprintf("x = %d", x))
	}
	var byTerms [mostTerms + 1][]lab.Query
	for _, q := range queries {
		if n := len(q.Terms); n <= mostTerms {
			byTerms[n] = append(byTerms[n], q)
		}
	}
	for n := leastTerms; n <= mostTerms; n++ {
		columns = append(columns, fmt.Sprintf("%d terms: R, %%", n), fmt.Sprintf("%d terms: length, K", n))
	}
	t := lab.NewTable("Length ratio R and length of the intersection before list x+1", "stage", rows, columns)
	shares := lab.NewTable("Share of queries by their number of terms, %", "terms", []string{"2", "3", "4", "5", "6"}, []string{"share"})
	lists := listCache{c: c, lists: map[string][]uint32{}}
	for n := leastTerms; n <= mostTerms; n++ {
		i := n - leastTerms
		shares.Set(i, 0, 100*float64(len(byTerms[n]))/float64(len(queries)))
		shares.SetPaper(i, 0, ao11Shares[i])
		ratios, lengths, err := meanStages(ctx, &lists, spread(byTerms[n], lab.Pick(env, 2000, 20)), n)
		if err != nil {
			return nil, err
		}
		for x := range mostTerms - 1 {
			if x >= n-1 {
				t.Leave(x, 2*i, "the query has no further list")
				t.Leave(x, 2*i+1, "the query has no further list")
				continue
			}
			t.Set(x, 2*i, ratios[x])
			t.SetPaper(x, 2*i, ao11Ratios[i][x])
			t.Set(x, 2*i+1, lengths[x])
			t.SetPaper(x, 2*i+1, ao11Lengths[i][x])
		}
	}
	return &lab.Result{Tables: []*lab.Table{t, shares}}, nil
}

// spread returns at most n queries, evenly spaced.
func spread(queries []lab.Query, n int) []lab.Query {
	if len(queries) <= n {
		return queries
	}
	out := make([]lab.Query, n)
	for i := range out {
		out[i] = queries[i*len(queries)/n]
	}
	return out
}

// meanStages intersects the lists of queries of n terms and returns, for each
// stage, the mean of R in percent and of the length in thousands.
func meanStages(ctx context.Context, lists *listCache, queries []lab.Query, n int) (ratios, lengths []float64, err error) {
	ratios, lengths = make([]float64, n-1), make([]float64, n-1)
	var result []uint32
	for _, q := range queries {
		if err := ctx.Err(); err != nil {
			return nil, nil, context.Cause(ctx)
		}
		all, err := lists.ofQuery(q)
		if err != nil {
			return nil, nil, err
		}
		result = append(result[:0], all[0]...)
		for x, next := range all[1:] {
			ratios[x] += 100 * float64(len(result)) / float64(len(next)) / float64(len(queries))
			lengths[x] += float64(len(result)) / 1000 / float64(len(queries))
			result = intersection(result, next)
		}
	}
	return ratios, lengths, nil
}

// intersection stores the common elements in a, which is not longer than b.
func intersection(a, b []uint32) []uint32 {
	kept := a[:0]
	at := 0
	for _, d := range a {
		step := 1
		for at+step < len(b) && b[at+step] < d {
			at += step
			step *= 2
		}
		if at = contraction.Binary(b, at, min(at+step+1, len(b)), d); at == len(b) {
			break
		}
		if b[at] == d {
			kept = append(kept, d)
		}
	}
	return kept
}

type listCache struct {
	c     *lab.Collection
	lists map[string][]uint32
}

func (l *listCache) list(term string) ([]uint32, error) {
	if docIDs, ok := l.lists[term]; ok {
		return docIDs, nil
	}
	docIDs, err := l.c.DocIDs(nil, term)
	if err == nil {
		l.lists[term] = docIDs
	}
	return docIDs, err
}

// ofQuery returns the lists of a query, from short to long.
func (l *listCache) ofQuery(q lab.Query) ([][]uint32, error) {
	lists := make([][]uint32, len(q.Terms))
	for i, t := range q.Terms {
		var err error
		if lists[i], err = l.list(t); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(lists, func(a, b []uint32) int { return cmp.Compare(len(a), len(b)) })
	return lists, nil
}
