package experiments

import (
	"context"
	"fmt"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/collection"
	"github.com/griffin-search/griffin/internal/lab"
)

const ao11Compression = "The ratio is 4 bytes per DocID divided by the bytes of the compressed lists, including the data needed to search them: " +
	"9 bytes per segment or block (a DocID, an offset, a width) and the lines. " +
	"Lists are a sample of all lengths, about 4 million postings. Nothing is timed."

func ao11Fig7() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig7", Paper: "ao11", Shows: "Fig. 7", Title: "Compression ratio by share of exceptions",
		Did: "All lists of GOV were compressed with seven codecs, with segments of 64 for codecs of d-gaps and of " +
			"256 for codecs of lines, and proportions of exceptions per segment up to 0.6. " +
			"PFD, NewPFD and ParaPFD are smallest; no exceptions are close to the best for each codec, and LRC hardly changes.",
		Ours: ao11Ours + " " + ao11Compression,
		Differs: "The paper prints the figure without numbers; the last column has its best ratios, of Table 2. Our PForDelta " +
			"family has a directory entry for each block of two segments. As in the paper, all ratios except LRC's rise first, then fall.",
		Findings: ao11Fig7Findings, Verdicts: ao11Fig7Verdicts,
		Budget: 2 * time.Minute,
		Run:    runAo11Fig7,
	}
}

func ao11ShareSteps(env *lab.Env) []float64 {
	return lab.Pick(env, []float64{0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6}, []float64{0, 0.3})
}

func ao11Lists(env *lab.Env, c *lab.Collection, queries []lab.Query) ([][]uint32, error) {
	return listsOf(c, queries, lab.Pick(env, 4_000_000, 50_000))
}

// compressionRatio is of a codec of ao11Codecs.
func compressionRatio(spec string, share float64, lists [][]uint32) (float64, error) {
	c, err := codec.Lookup(fmt.Sprintf(spec, share))
	if err != nil {
		return 0, err
	}
	return 4 * float64(count(lists)) / float64(encodedSize(c, lists)), nil
}

func runAo11Fig7(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov(ctx, env, collection.Crawl)
	if err != nil {
		return nil, err
	}
	lists, err := ao11Lists(env, c, queries)
	if err != nil {
		return nil, err
	}
	shares := ao11ShareSteps(env)
	var rows, columns []string
	for _, s := range shares {
		columns = append(columns, fmt.Sprintf("%g", s))
	}
	columns = append(columns, "best")
	for _, cd := range ao11Codecs {
		rows = append(rows, cd.name)
	}
	t := lab.NewTable("Compression ratio by the share of exceptions", "codec", rows, columns)
	f := &lab.Figure{Title: "Compression ratio on the collection like GOV", Kind: lab.Lines, X: "share of exceptions allowed", Y: "compression ratio"}
	for row, cd := range ao11Codecs {
		series, best := lab.Series{Name: cd.name}, 0.0
		for column, share := range shares {
			if err := ctx.Err(); err != nil {
				return nil, context.Cause(ctx)
			}
			ratio, err := compressionRatio(cd.spec, share, lists)
			if err != nil {
				return nil, err
			}
			t.Set(row, column, ratio)
			series.Points = append(series.Points, lab.Point{X: share, Y: ratio})
			best = max(best, ratio)
		}
		t.Set(row, len(shares), best)
		t.SetPaper(row, len(shares), ao11BestRatios["GOV"][row])
		f.Series = append(f.Series, series)
		env.Progress("compress", row+1, len(ao11Codecs))
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{f}}, nil
}
