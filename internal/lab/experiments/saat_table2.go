package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/internal/saat"
)

func saatTable2() lab.Experiment {
	return lab.Experiment{
		Name: "saat-table2", Paper: "saat", Shows: "Table 2", Title: "Clauses of heap algorithm 1",
		Did:  "How often each clause of Algorithm 1 ran over 20,000 queries on .GOV2.",
		Ours: "The same counts of Griffin's engine with Algorithm 1 on " + saatCollection + ".",
		Differs: "Counts grow with the queries and their postings: compare the shares. In 20,000 queries of k = 10 the" +
			" first clause ran about 10 times per query. Here a document whose sum equals the minimum of the heap" +
			" stays outside if its DocID is higher; it is counted in the last row. " +
			saatQueries,
		Verdicts: saatTable2Verdicts,
		Budget:   2 * time.Minute,
		Run: func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			n, err := countClauses(ctx, env, 1)
			if err != nil {
				return nil, err
			}
			return clauseTable("Algorithm 1", []clause{
				{"first clause (line 2)", n.Filled + n.FilledBefore, 199_965},
				{"second clause (line 12)", n.Updated, 143_406},
				{"third clause, in if (line 17)", n.Inserted, 73_733_775},
				{"third clause, else of if", n.Tied + n.Below, 378_923_996_448},
			}), nil
		},
	}
}

// Executions of a clause, here and in the paper (0: not readable).
type clause struct {
	name  string
	ours  uint64
	paper float64
}

// countClauses runs queries with a heap algorithm.
func countClauses(ctx context.Context, env *lab.Env, heap int) (saat.Counters, error) {
	queries, err := impactQueries(ctx, env, lab.Pick(env, 100, 20))
	if err != nil {
		return saat.Counters{}, err
	}
	e, err := saat.New(saat.Variant{Accumulators: saat.PagedArray, Heap: heap, Counted: true})
	if err != nil {
		return saat.Counters{}, err
	}
	err = searchAll(ctx, e, queries)
	return e.Counters(), err
}

func clauseTable(title string, clauses []clause) *lab.Result {
	var rows []string
	var total, paperTotal float64
	for _, c := range clauses {
		rows = append(rows, c.name)
		total += float64(c.ours)
		paperTotal += c.paper
	}
	t := lab.NewTable(title, "clause", rows, []string{"times", "share, %"})
	for i, c := range clauses {
		t.Set(i, 0, float64(c.ours))
		t.Set(i, 1, 100*float64(c.ours)/total)
		if c.paper > 0 {
			t.SetPapers(i, c.paper, 100*c.paper/paperTotal)
		}
	}
	return &lab.Result{Tables: []*lab.Table{t}}
}
