package experiments

import (
	"context"
	"time"

	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Table1() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-table1", Paper: "griffin18", Shows: "Table 1", Title: "Compression ratio of PForDelta and EF",
		Did: "The average ratio of the size of lists of 32-bit DocIDs to their compressed size, in blocks of 128, over all lists of the experiments.",
		Ours: "The same over lists of all lengths on a generated collection similar to ClueWeb12: the ratio of the " +
			"sums, and, because “average over all lists” is ambiguous, the mean of the lists' own ratios. " +
			"PForDelta is the paper's of Fig. 3, with exceptions of four bytes (pfordelta:plain=1). Griffin's " +
			"own, in the last columns, stores an exception in one, two or four bytes and accounts for the " +
			"exceptions that short slots force. Sizes include one byte of width per block, but no other parts of " +
			"a directory.",
		Differs: "Relative to PForDelta, EF is better if gaps are large or uneven, and worse if terms occur in runs of" +
			" adjacent documents. The paper's documents are in crawl order; the clustering of our collection was " +
			"chosen for GOV, not for ClueWeb12.",
		Budget: 2 * time.Minute,
		Run:    runGriffin18Table1,
	}
}

func runGriffin18Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := clueweb(ctx, env)
	if err != nil {
		return nil, err
	}
	lists, err := listsOf(c, queries, lab.Pick(env, 20_000_000, 100_000))
	if err != nil {
		return nil, err
	}
	specs := []string{"pfordelta:plain=1", "ef", "pfordelta"}
	t := lab.NewTable("Compression ratio", "", []string{"all lists together", "mean of each list's"},
		[]string{"PForDelta", "EF", "EF to PForDelta", "Griffin's PForDelta", "EF to that"})
	var ratios [2][3]float64
	for column, spec := range specs {
		all, err := encodeAll(spec, lists)
		if err != nil {
			return nil, err
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		size, mean := 0, 0.0
		for i, e := range all {
			n := len(e.data) - 64 + len(e.blocks) // 64: padding
			size += n
			mean += 4 * float64(len(lists[i])) / float64(n)
		}
		ratios[0][column] = 4 * float64(count(lists)) / float64(size)
		ratios[1][column] = mean / float64(len(lists))
	}
	for row, r := range ratios {
		t.SetPapers(row, 3.3, 4.6, 4.6/3.3)
		t.Set(row, 0, r[0])
		t.Set(row, 1, r[1])
		t.Set(row, 2, r[1]/r[0])
		t.Set(row, 3, r[2])
		t.Set(row, 4, r[1]/r[2])
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}
