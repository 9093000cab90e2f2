package experiments

import (
	"cmp"
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/griffin-search/griffin/internal/lab"
)

// listsOf returns lists of the terms of queries that have at least least postings,
// about budget postings in all: every so-many-th of them by length, so that
// lists of all lengths are among them as in the whole. The longest come last.
func listsOf(c *lab.Collection, queries []lab.Query, least, budget int) ([][]uint32, error) {
	type length struct {
		term string
		n    int
	}
	var lengths []length
	total := 0
	for _, term := range lab.DistinctTerms(queries) {
		n, err := c.DocFreq(term)
		if err != nil {
			return nil, err
		}
		if n >= least {
			lengths = append(lengths, length{term, n})
			total += n
		}
	}
	slices.SortFunc(lengths, func(a, b length) int {
		return cmp.Or(cmp.Compare(a.n, b.n), cmp.Compare(a.term, b.term))
	})
	step := max(1, (total+budget/2)/budget)
	var lists [][]uint32
	for i := step / 2; i < len(lengths); i += step {
		list, err := c.DocIDs(nil, lengths[i].term)
		if err != nil {
			return nil, err
		}
		lists = append(lists, list)
	}
	return lists, nil
}

// count is the number of values of lists.
func count(lists [][]uint32) int {
	n := 0
	for _, l := range lists {
		n += len(l)
	}
	return n
}

// parallel calls do with 0 to n-1 on all processors, each number once, and returns
// the first error, or that of ctx.
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
