package experiments

import (
	"context"
	"fmt"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/saat"
)

const saatCollection = saatCollectionOnly + "100 queries"

const saatCollectionOnly = "a generated collection of 25,205,179 documents similar to .GOV2, 3.74 million postings per query, with 8-bit impacts by BM25 " +
	"(k1 = 0.9, b = 0.4) in segments packed by QMX, without Griffin's bitmaps, k = 10, to completion, the first "

const saatQueries = "The paper's queries are from TREC's Million Query track, with 18.9 million postings each by its Table 2; " +
	"ours are from the Terabyte track of 2005."

const saatK = 10

// impactQueries opens the lists of at most n queries of the collection similar
// to .GOV2.
func impactQueries(ctx context.Context, env *lab.Env, n int) ([]saat.Query, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	x, err := env.Impacts(ctx, c, "qmx")
	if err != nil {
		return nil, err
	}
	var found []saat.Query
	for _, q := range queries[:min(n, len(queries))] {
		s, err := saat.NewQuery(x, q.Terms, saatK)
		if err != nil {
			return nil, fmt.Errorf("query %s: %w", q.ID, err)
		}
		found = append(found, s)
	}
	return found, nil
}

func searchAll(ctx context.Context, e *saat.Engine, queries []saat.Query) error {
	hits := make([]base.Hit, 0, saatK)
	for i := range queries {
		if _, err := e.Search(ctx, &queries[i], hits); err != nil {
			return err
		}
	}
	return nil
}
