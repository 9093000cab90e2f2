package experiments

import (
	"context"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Table1() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-table1", Paper: "ao11", Shows: "Table 1", Title: "Contraction ratio and R² by length of list",
		Did: "For each list, the least-squares line through its DocIDs; the part of the list that a search around " +
			"the line must cover, (L + R)/n; and the coefficient of determination. Means over the lists of a " +
			"length class.",
		Ours: "The same over generated collections similar to GOV, GOV2 (5,038,710 documents) and their reordered " +
			"variants. Their locality, that is the number of sites and the narrowness of topics, was chosen once " +
			"to approximate the paper's numbers. All lists of the terms of all queries of the 2006 log; nothing is timed.",
		Differs: "Terms of the 2006 log that do not occur in the wiki passages are missing, so short lists are rarer. " +
			"GOVPR's PageRank is replaced by a rank computed from the site, the length of a document and chance. " +
			"Baidu's collection is not available.",
		Findings: ao11Table1Findings, Verdicts: ao11Table1Verdicts,
		Budget: 10 * time.Minute,
		Run:    runAo11Table1,
	}
}

// Length classes; to is exclusive.
var ao11Classes = []struct {
	name     string
	from, to int
}{
	{"(0K,100K)", 1, 100_000},
	{"[100K,200K)", 100_000, 200_000},
	{"[200K,400K)", 200_000, 400_000},
	{"[400K,600K)", 400_000, 600_000},
	{"[600K,800K)", 600_000, 800_000},
	{"[800K,1M)", 800_000, 1_000_000},
}

// Contraction ratio and R² of GOV, GOVPR, GOVR, GOV2, GOV2R, BD and BDR by
// class.
var ao11Table1Paper = [][14]float64{
	{0.2198, 0.9613, 0.2496, 0.9573, 0.1227, 0.9870, 0.4294, 0.8731, 0.1025, 0.9898, 0.3323, 0.9271, 0.1113, 0.9891},
	{0.0375, 0.9991, 0.0751, 0.9952, 0.0030, 0.9999, 0.2460, 0.9636, 0.0033, 0.9999, 0.1357, 0.9746, 0.0033, 0.9999},
	{0.0306, 0.9995, 0.0618, 0.9966, 0.0019, 0.9999, 0.1516, 0.9847, 0.0023, 0.9999, 0.0760, 0.9943, 0.0022, 0.9999},
	{0.0186, 0.9997, 0.0565, 0.9972, 0.0012, 0.9999, 0.1217, 0.9896, 0.0016, 0.9999, 0.0661, 0.9957, 0.0017, 0.9999},
	{0.0069, 0.9999, 0.0388, 0.9985, 0.0008, 0.9999, 0.1296, 0.9884, 0.0013, 0.9999, 0.0667, 0.9973, 0.0014, 0.9999},
	{0.0060, 0.9999, 0.0308, 0.9990, 0.0006, 0.9999, 0.1076, 0.9946, 0.0011, 0.9999, 0.0838, 0.9955, 0.0009, 0.9999},
}

func runAo11Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	var columns, rows []string
	for _, c := range ao11Collections {
		columns = append(columns, c.name)
	}
	columns = append(columns, "BD", "BDR")
	for _, c := range ao11Classes {
		rows = append(rows, c.name)
	}
	ratio := lab.NewTable("Contraction ratio", "postings of a list", rows, columns)
	r2 := lab.NewTable("Coefficient of determination", "postings of a list", rows, columns)
	figure := &lab.Figure{
		Title: "Contraction ratio", Kind: lab.Lines, LogX: true, LogY: true,
		X: "postings of a list (mean of the class)", Y: "contraction ratio",
	}
	for i, paper := range ao11Table1Paper {
		for j := range columns {
			ratio.SetPaper(i, j, paper[2*j])
			r2.SetPaper(i, j, paper[2*j+1])
		}
	}
	for j, of := range ao11Collections {
		env.Progress("linearity of "+of.name, j, len(ao11Collections))
		c, queries, err := of.open(ctx, env)
		if err != nil {
			return nil, err
		}
		classes, err := linearityByClass(ctx, c, lab.DistinctTerms(queries))
		if err != nil {
			return nil, err
		}
		series := lab.Series{Name: of.name}
		for i, class := range classes {
			if class.lists == 0 {
				reason := "No term of the queries has a list of this length here."
				ratio.Leave(i, j, reason)
				r2.Leave(i, j, reason)
				continue
			}
			n := float64(class.lists)
			ratio.Set(i, j, class.ratio/n)
			r2.Set(i, j, class.r2/n)
			series.Points = append(series.Points, lab.Point{X: class.postings / n, Y: math.Max(class.ratio/n, 1e-5)})
		}
		if len(series.Points) > 0 {
			figure.Series = append(figure.Series, series)
		}
	}
	for j := len(ao11Collections); j < len(columns); j++ {
		ratio.LeaveColumn(j, noBaidu)
		r2.LeaveColumn(j, noBaidu)
	}
	return &lab.Result{
		Tables: []*lab.Table{ratio, r2}, Figures: []*lab.Figure{figure},
		Notes: []string{
			"Random order makes lists linear in any collection: then the ratio depends only on the length of the list and the number of documents. " +
				"GOVR and GOV2R therefore agree with the paper from 100K postings on, although no parameter was chosen for them.",
		},
	}, nil
}

// Sums over the lists of a class.
type classLinearity struct {
	lists               int
	postings, ratio, r2 float64
}

func linearityByClass(ctx context.Context, c *lab.Collection, terms []string) ([]classLinearity, error) {
	classes := make([]classLinearity, len(ao11Classes))
	var mu sync.Mutex
	memory := sync.Pool{New: func() any { return new([]uint32) }}
	err := parallel(ctx, len(terms), func(i int) error {
		n, err := c.DocFreq(terms[i])
		if err != nil {
			return err
		}
		for class, bounds := range ao11Classes {
			if n < max(2, bounds.from) || n >= bounds.to {
				continue
			}
			buffer := memory.Get().(*[]uint32)
			defer memory.Put(buffer)
			if *buffer, err = c.DocIDs((*buffer)[:0], terms[i]); err != nil {
				return fmt.Errorf("term %q: %w", terms[i], err)
			}
			l := contraction.Measure(*buffer)
			mu.Lock()
			defer mu.Unlock()
			sum := &classes[class]
			sum.lists++
			sum.postings += float64(n)
			sum.ratio += l.Contraction
			sum.r2 += l.R2
			return nil
		}
		return nil
	})
	return classes, err
}
