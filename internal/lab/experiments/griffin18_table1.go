package experiments

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
)

func griffin18Table1() lab.Experiment {
	return lab.Experiment{
		Name: "griffin18-table1", Paper: "griffin18", Shows: "Table 1", Title: "Compression ratio of PForDelta and EF",
		Did: "The average ratio of the size of lists of 32-bit DocIDs to their compressed size, in blocks of 128, over all lists of the experiments.",
		Ours: "The same over all lists of the queries of a generated collection similar to the paper's part of ClueWeb12: the ratio of the " +
			"sums, and, because “average over all lists” is ambiguous, the mean of the lists' own ratios. " +
			"PForDelta and EF are the paper's of Figs. 3 and 4 (pfordelta:plain=1, ef:plain=1), which the engine griffin18 uses. Griffin's " +
			"own PForDelta stores an exception in one, two or four bytes and accounts for the " +
			"exceptions that short slots force; its EF subtracts the position from a DocID. Sizes include one byte of width per block, but no other parts of " +
			"a directory. Sizes are counted, not timed; every list is decoded and compared.",
		Differs: "Relative to PForDelta, EF is better if gaps are large or uneven, and worse if terms occur in runs of" +
			" adjacent documents. The paper's documents are in crawl order; the clustering of our collection was " +
			"chosen for GOV, not for ClueWeb12. In the mean of each list's, lists up to one block have the weight of long ones.",
		Findings: griffin18Table1Findings, Verdicts: griffin18Table1Verdicts,
		Budget: 6 * time.Minute,
		Run:    runGriffin18Table1,
	}
}

func runGriffin18Table1(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := griffin18Log(ctx, env)
	if err != nil {
		return nil, err
	}
	terms, err := byLength(c, queries)
	if err != nil {
		return nil, err
	}
	specs := []string{"pfordelta:plain=1", "ef:plain=1", "pfordelta", "ef"}
	codecs := make([]codec.Codec, len(specs))
	for i, spec := range specs {
		if codecs[i], err = codec.Lookup(spec); err != nil {
			return nil, err
		}
	}
	sizes := make([][]int, len(terms)) // of each list, by codec
	if err := parallel(ctx, len(terms), func(i int) error {
		list, err := c.DocIDs(nil, terms[i].term)
		if err != nil {
			return err
		}
		sizes[i], err = codedSizes(codecs, list)
		return err
	}); err != nil {
		return nil, err
	}
	t := lab.NewTable("Compression ratio", "", []string{"all lists together", "mean of each list's"},
		[]string{"PForDelta", "EF", "EF to PForDelta", "Griffin's PForDelta", "Griffin's EF", "Griffin's EF to its PForDelta"})
	postings, total, means := 0, make([]int, len(specs)), make([]float64, len(specs))
	for i, of := range sizes {
		postings += terms[i].n
		for k, size := range of {
			total[k] += size
			means[k] += 4 * float64(terms[i].n) / float64(size) / float64(len(terms))
		}
	}
	for row := range t.Rows {
		r := means
		if row == 0 {
			r = make([]float64, len(specs))
			for k := range r {
				r[k] = 4 * float64(postings) / float64(total[k])
			}
		}
		t.SetPapers(row, 3.3, 4.6, 4.6/3.3)
		for column, v := range []float64{r[0], r[1], r[1] / r[0], r[2], r[3], r[3] / r[2]} {
			t.Set(row, column, v)
		}
	}
	return &lab.Result{
		Tables: []*lab.Table{t},
		Notes:  []string{fmt.Sprintf("%d lists with %d postings.", len(terms), postings)},
	}, nil
}

// codedSizes encodes a list by each codec, and checks the decoded DocIDs.
func codedSizes(codecs []codec.Codec, list []uint32) ([]int, error) {
	var sizes []int
	for _, c := range codecs {
		e := encode(c, list)
		sizes = append(sizes, len(e.data)-64+len(e.blocks)) // 64: padding
		var block [codec.BlockLen]uint32
		for i, b := range e.blocks {
			want := list[i*codec.BlockLen : min(len(list), (i+1)*codec.BlockLen)]
			if _, err := c.DecodeDocIDs(&block, e.data[b.offset:], b.base, len(want), b.width); err != nil {
				return nil, fmt.Errorf("%s: block %d: %w", c.Name(), i, err)
			}
			if !slices.Equal(block[:len(want)], want) {
				return nil, fmt.Errorf("%s: block %d decodes to other DocIDs", c.Name(), i)
			}
		}
	}
	return sizes, nil
}
