package experiments

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/lab"
)

type termLength struct {
	term string
	n    int
}

// byLength returns the terms of queries that occur in the collection, shortest
// list first.
func byLength(c *lab.Collection, queries []lab.Query) ([]termLength, error) {
	var terms []termLength
	for _, t := range lab.DistinctTerms(queries) {
		n, err := c.DocFreq(t)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			terms = append(terms, termLength{t, n})
		}
	}
	slices.SortFunc(terms, func(a, b termLength) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term))
	})
	return terms, nil
}

// listsOf returns lists with a total of about budget postings: every nth by
// length, so that all lengths are represented, the longest last.
func listsOf(c *lab.Collection, queries []lab.Query, budget int) ([][]uint32, error) {
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	total := 0
	for _, t := range terms {
		total += t.n
	}
	step := max(1, (total+budget/2)/budget)
	var lists [][]uint32
	for i := step / 2; i < len(terms); i += step {
		list, err := c.DocIDs(nil, terms[i].term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

func count(lists [][]uint32) int {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	return n
}

// parallel calls do with 0 to n-1 on all cores, and returns the first error, or
// the error of ctx.
func parallel(ctx context.Context, n int, do func(i int) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan int)
	var wg sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		wg.Go(func() {
			for i := range next {
				if err := do(i); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range n {
		if ctx.Err() != nil {
			break
		}
		next <- i
	}
	close(next)
	wg.Wait()
	return context.Cause(ctx)
}
