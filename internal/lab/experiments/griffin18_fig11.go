package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
	"github.com/griffin-search/griffin/trec"
)

func griffin18Fig11() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig11", Paper: "griffin18", Shows: "Fig. 11", Title: "Number of terms of a query",
		Did: "10,000 queries were drawn from the TREC Terabyte efficiency logs of 2005 and 2006; " +
			"about 27 % have 2 terms, 33 % have 3 and 24 % have 4. The text gives no other shares.",
		Ours: "The terms of every query of both logs, as the index of the wiki passages analyses them. Each query " +
			"counts once, whether or not the collection contains its terms. Numbers are counted, not timed.",
		Differs: "The paper does not describe how queries were selected or split into terms. The shares of both logs, " +
			"separately and together, differ from the paper's; therefore `griffin lab generate --like clueweb12` " +
			"selects queries by their number of terms.",
		Findings: fig11Findings, Verdicts: fig11Verdicts,
		Budget: time.Minute,
		Run:    runGriffin18Fig11,
	}
}

// Number of rows; the last includes higher counts.
const termCounts = 7

// The paper's shares in percent, by terms.
var griffin18Fig11Shares = map[int]float64{2: 27, 3: 33, 4: 24}

func runGriffin18Fig11(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	wiki, err := env.Wiki(ctx)
	if err != nil {
		return nil, err
	}
	var rows []string
	for n := 1; n < termCounts; n++ {
		rows = append(rows, fmt.Sprint(n))
	}
	rows = append(rows, fmt.Sprintf("%d and more", termCounts))
	t := lab.NewTable("Share of queries in percent", "terms", rows, []string{"2005 log", "2006 log", "both"})
	figure := &lab.Figure{
		Title: "Number of terms of a query", Kind: lab.Bars, X: "terms", Y: "share of queries, %", Categories: rows,
	}
	var both [termCounts]float64
	names := []string{lab.TB05, lab.TB06}
	for column, name := range names {
		topics, err := env.Log(name)
		if err != nil {
			return nil, err
		}
		counts := countTerms(wiki, topics)
		for i, n := range counts {
			both[i] += n
		}
		share(counts[:])
		fillShares(t, column, counts[:])
		figure.Series = append(figure.Series, lab.Series{Name: "TREC " + t.Columns[column], Points: lab.Heights(counts[:]...)})
	}
	share(both[:])
	fillShares(t, len(names), both[:])
	paper := make([]float64, termCounts)
	for n, s := range griffin18Fig11Shares {
		paper[n-1] = s
		for column := range t.Columns {
			t.SetPaper(n-1, column, s)
		}
	}
	figure.Series = append(figure.Series, lab.Series{Name: "paper (2, 3 and 4 terms only)", Paper: true, Points: lab.Heights(paper...)})
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}}, nil
}

func countTerms(c *lab.Collection, topics []trec.Topic) (counts [termCounts]float64) {
	for _, topic := range topics {
		if n := len(c.Terms(topic.Title)); n > 0 {
			counts[min(n, termCounts)-1]++
		}
	}
	return counts
}

// share converts counts to percentages.
func share(counts []float64) {
	sum := 0.0
	for _, n := range counts {
		sum += n
	}
	for i := range counts {
		counts[i] *= 100 / max(sum, 1)
	}
}

func fillShares(t *lab.Table, column int, shares []float64) {
	for row, s := range shares {
		t.Set(row, column, s)
	}
}
