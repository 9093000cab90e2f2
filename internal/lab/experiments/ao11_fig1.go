package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Fig1() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig1", Paper: "ao11", Shows: "Fig. 1", Title: "Elements of lists by their index",
		Did: "Scatter plots of lists of GOV, GOVPR, GOVR, BD and BDR: element i over index i, every 50th. All are nearly lines; " +
			"those of the shuffled collections are lines to the eye.",
		Ours: ao11Ours + " The lists of three terms, whose lengths are closest to 10,000, 100,000 and 400,000, in each order. " +
			"Each plot has about 200 elements per list, evenly spaced: every 50th of 10,000. The table has each list's contraction ratio and R², as in ao11-table1. Nothing is timed.",
		Differs:  "The paper names neither the terms nor the lengths of its lists, and prints no numbers. Points are connected. Baidu's collections are not available.",
		Findings: ao11Fig1Findings, Verdicts: ao11Fig1Verdicts,
		Budget: 4 * time.Minute,
		Run:    runAo11Fig1,
	}
}

func runAo11Fig1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	targets := lab.Pick(env, []int{10_000, 100_000, 400_000}, []int{100, 400, 1000})
	var columns []string
	for _, of := range ao11Collections[:ao11GOVs] {
		columns = append(columns, of.name+": contraction ratio", of.name+": R²")
	}
	var terms []string
	var t *lab.Table
	var figures []*lab.Figure
	for i, of := range ao11Collections[:ao11GOVs] {
		env.Progress(of.name, i, ao11GOVs)
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return nil, err
		}
		if i == 0 {
			var rows []string
			if terms, rows, err = termsOfLengths(c, queries, targets); err != nil {
				return nil, err
			}
			t = lab.NewTable("Linearity of the lists in the figures", "list", rows, columns)
			for _, row := range rows {
				figures = append(figures, &lab.Figure{Title: "Elements of a " + row, Kind: lab.Lines, X: "index", Y: "DocID"})
			}
		}
		for row, term := range terms {
			docIDs, err := c.DocIDs(nil, term)
			if err != nil {
				return nil, err
			}
			l := contraction.Measure(docIDs)
			t.Set(row, 2*i, l.Contraction)
			t.Set(row, 2*i+1, l.R2)
			figures[row].Series = append(figures[row].Series, lab.Series{Name: of.name, Points: sampledPoints(docIDs)})
		}
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: figures}, nil
}

// termsOfLengths returns the terms of queries whose lists have the lengths closest to targets, in ascending order, and
// names of their lists.
func termsOfLengths(c *lab.Collection, queries []lab.Query, targets []int) (terms, names []string, err error) {
	all, err := byLength(c, queries)
	if err != nil {
		return nil, nil, err
	}
	for _, target := range targets {
		best := all[0]
		for _, l := range all {
			if max(l.n-target, target-l.n) < max(best.n-target, target-best.n) {
				best = l
			}
		}
		terms = append(terms, best.term)
		names = append(names, fmt.Sprintf("list of %d", best.n))
	}
	return terms, names, nil
}

// sampledPoints returns at most about 200 elements.
func sampledPoints(docIDs []uint32) []lab.Point {
	step := max(1, len(docIDs)/200)
	var points []lab.Point
	for i := 0; i < len(docIDs); i += step {
		points = append(points, lab.Point{X: float64(i), Y: float64(docIDs[i])})
	}
	return points
}
