package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func saatTable3() lab.Experiment {
	return lab.Experiment{
		Name: "saat-table3", Paper: "saat", Shows: "Table 3", Title: "Clauses of heap algorithm 2",
		Did: "How often each clause of Algorithm 2 ran: in over 99.9 % of the cases a single comparison is made, " +
			"and it is false. (The other numbers of the table are unreadable in the available text.)",
		Ours:     "The same counts of Griffin's engine with Algorithm 2 on " + saatCollection + ".",
		Differs:  "As in saat-table2.",
		Verdicts: saatTable3Verdicts,
		Budget:   2 * time.Minute,
		Run: func(ctx context.Context, env *lab.Env) (*lab.Result, error) {
			n, err := countClauses(ctx, env, 2)
			if err != nil {
				return nil, err
			}
			r := clauseTable("Algorithm 2", []clause{
				{"the heap is not full, a new document (line 6)", n.Filled, 0},
				{"the heap is not full, a document again (line 4 false)", n.FilledBefore, 0},
				{"heap insert (line 13)", n.Inserted, 0},
				{"heap update (line 15)", n.Updated, 0},
				{"equal to the least, DocID after it (line 2 true)", n.Tied, 0},
				{"one comparison, false (line 2)", n.Below, 0},
			})
			r.Tables[0].SetPaper(5, 1, 99.9)
			return r, nil
		},
	}
}
