package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/dispatch"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/query"
)

// Each time is the minimum of several runs.
type answers struct {
	times []time.Duration
	hits  []int
	found [][]base.Hit
}

// answer measures queries on one thread, including planning, after a warm-up.
func answer(ctx context.Context, env *lab.Env, c *lab.Collection, queries []lab.Query, runs int, o dispatch.Options) (*answers, error) {
	return answerBy(ctx, env, c, c.Searcher, queries, runs, o)
}

func answerBy(ctx context.Context, env *lab.Env, c *lab.Collection, searcher *dispatch.Searcher, queries []lab.Query, runs int, o dispatch.Options) (*answers, error) {
	scratch, err := dispatch.NewScratch(c.Snapshot.Options.Analyzer)
	if err != nil {
		return nil, err
	}
	var plan dispatch.Query
	hits := make([]base.Hit, 0, o.K)
	a := &answers{times: make([]time.Duration, len(queries)), hits: make([]int, len(queries)), found: make([][]base.Hit, len(queries))}
	for run := range runs + 1 {
		for i, q := range queries {
			if i%64 == 0 {
				env.Progress(fmt.Sprintf("%s %s", o.Mode, o.Traversal), run*len(queries)+i, (runs+1)*len(queries))
			}
			start := time.Now()
			if err := searcher.PrepareInto(&plan, scratch, &query.Words{Text: q.Text, Boost: 1}, o); err != nil {
				return nil, fmt.Errorf("query %s: %w", q.ID, err)
			}
			found, err := plan.Run(ctx, scratch, hits)
			if err != nil {
				return nil, fmt.Errorf("query %s: %w", q.ID, err)
			}
			took := time.Since(start)
			a.hits[i] = len(found.Hits)
			if run == 0 {
				a.found[i] = slices.Clone(found.Hits)
			}
			if run == 1 || run > 1 && took < a.times[i] {
				a.times[i] = took
			}
		}
	}
	return a, nil
}

func (a *answers) milliseconds() float64 {
	sum := time.Duration(0)
	for _, t := range a.times {
		sum += t
	}
	return float64(sum.Nanoseconds()) / 1e6 / float64(len(a.times))
}

// same compares the hits of another method.
func (a *answers) same(name string, found [][]base.Hit) error {
	for i := range a.found {
		if !slices.Equal(a.found[i], found[i]) {
			return fmt.Errorf("%s: query %d has other hits than on the CPU", name, i)
		}
	}
	return nil
}

// orElse returns the mean milliseconds if queries with fewer than 10 hits in a
// are also answered by other: ding09's AND+OR.
func (a *answers) orElse(other *answers) float64 {
	sum := a.milliseconds() * float64(len(a.times))
	for i, t := range other.times {
		if a.hits[i] < stagedK {
			sum += float64(t.Nanoseconds()) / 1e6
		}
	}
	return sum / float64(len(a.times))
}
