package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Fig10() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-fig10", Paper: "griffin18", Shows: "Fig. 10", Title: "Sizes of inverted lists",
		Did: "The sizes of the lists of 10,000 queries over about 100 of the 300 GB of ClueWeb12, 41 million " +
			"documents. Most lists have between 1 K and 1 M elements; the text gives no other number.",
		Ours: "The lists of the terms of queries, each counted once: over the wiki passages, and over a collection " +
			"similar to the paper's part of ClueWeb12: a third of its documents, and 10,000 queries with the shares of queries of 2, 3 and 4 terms of" +
			" Fig. 11. Lengths are counted, not timed.",
		Differs: "All 10,000 queries are of the 2006 log, not of both. 1,000 queries on the wiki passages. The collection is generated; the lengths of" +
			" its lists are not published, and the generator's follow the wiki passages.",
		Findings: fig10Findings, Verdicts: fig10Verdicts,
		Budget: time.Minute,
		Run:    runGriffin18Fig10,
	}
}

// Classes of Fig. 10: powers of ten.
var sizeClasses = []struct {
	name string
	to   int
}{
	{"up to 1 K", 1_000},
	{"1 K to 10 K", 10_000},
	{"10 K to 100 K", 100_000},
	{"100 K to 1 M", 1_000_000},
	{"1 M to 10 M", 10_000_000},
	{"over 10 M", 1 << 62},
}

func runGriffin18Fig10(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	wiki, err := env.Wiki(ctx)
	if err != nil {
		return nil, err
	}
	log, err := env.Log(lab.TB06)
	if err != nil {
		return nil, err
	}
	wikiQueries, err := wiki.Queries(log, lab.Pick(env, 1000, 100))
	if err != nil {
		return nil, err
	}
	web, webQueries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, err
	}
	var rows []string
	for _, c := range sizeClasses {
		rows = append(rows, c.name)
	}
	t := lab.NewTable("Share of lists in percent", "elements", append(rows, "1 K to 1 M (paper: most)"), []string{"wiki", "like ClueWeb12"})
	figure := &lab.Figure{Title: "Sizes of inverted lists", Kind: lab.Bars, X: "elements", Y: "share of lists, %", Categories: rows}
	for column, of := range []struct {
		c       *lab.Collection
		queries []lab.Query
	}{{wiki, wikiQueries}, {web, webQueries}} {
		shares, err := sizeShares(of.c, of.queries)
		if err != nil {
			return nil, err
		}
		fillShares(t, column, append(shares, shares[1]+shares[2]+shares[3]))
		figure.Series = append(figure.Series, lab.Series{Name: t.Columns[column], Points: lab.Heights(shares...)})
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}}, nil
}

// Shares of lists by size class, in percent.
func sizeShares(c *lab.Collection, queries []lab.Query) ([]float64, error) {
	counts := make([]float64, len(sizeClasses))
	for _, term := range lab.DistinctTerms(queries) {
		n, err := c.DocFreq(term)
		if err != nil {
			return nil, err
		}
		class := 0
		for n > sizeClasses[class].to {
			class++
		}
		counts[class]++
	}
	share(counts)
	return counts, nil
}
