package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/lab"
)

func ding09Fig3() lab.Experiment {
	return lab.Experiment{
		Name: "ding09-fig3", Paper: "ding09", Shows: "Fig. 3", Title: "Compressed size by method and level of recursion",
		Did: "Bytes per DocID of Rice coding, of PForDelta with a b for each block, and of the paper's PForDelta " +
			"with one b per list, whose exceptions and offsets are compressed again, recursively: 0 to 4 levels.",
		Ours: "The same on a sample of lists of all lengths of 1,000 queries on a generated collection similar to GOV2; the note has the number of postings. Sizes " +
			"include only DocIDs, not the directory of blocks. The last two columns have lists of the same lengths with random DocIDs. Sizes are exact; nothing is timed.",
		Differs: "The paper prints a figure without numbers: Rice is the smallest, no recursion is much worse than " +
			"PForDelta by blocks, one level is slightly better than it, and more levels gain little.",
		Findings: ding09Fig3Findings, Verdicts: ding09Fig3Verdicts,
		Budget: 2 * time.Minute,
		Run:    runDing09Fig3,
	}
}

func runDing09Fig3(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	c, queries, err := gov2(ctx, env)
	if err != nil {
		return nil, err
	}
	lists, err := listsOf(c, queries, lab.Pick(env, 20_000_000, 100_000))
	if err != nil {
		return nil, err
	}
	methods := []struct{ name, spec string }{
		{"Rice", "rice"},
		{"PForDelta, b by block", "pfordelta"},
	}
	for depth := range 5 {
		methods = append(methods, struct{ name, spec string }{fmt.Sprintf("one b, %d levels", depth), fmt.Sprintf("pfordelta-rec:depth=%d", depth)})
	}
	var rows []string
	for _, m := range methods {
		rows = append(rows, m.name)
	}
	t := lab.NewTable("Bytes per DocID", "method", rows, []string{"bytes", "to PForDelta by block", "bytes, random DocIDs", "random, to PForDelta by block"})
	sizes, random := make([]float64, len(methods)), make([]float64, len(methods))
	spread := evenlyRandom(env.Seed, c.NumDocs(), lists)
	for i, m := range methods {
		env.Progress("compress", i, len(methods))
		if sizes[i], err = bytesPerDocID(ctx, m.spec, lists); err != nil {
			return nil, err
		}
		if random[i], err = bytesPerDocID(ctx, m.spec, spread); err != nil {
			return nil, err
		}
	}
	for i := range methods {
		t.Set(i, 0, sizes[i])
		t.Set(i, 1, sizes[i]/sizes[1])
		t.Set(i, 2, random[i])
		t.Set(i, 3, random[i]/random[1])
	}
	figure := &lab.Figure{
		Title: "Compressed size", Kind: lab.Bars, X: "method", Y: "bytes per DocID",
		Categories: []string{"Rice", "PFD", "0 levels", "1", "2", "3", "4"},
		Series:     []lab.Series{{Name: "like GOV2", Points: lab.Heights(sizes...)}, {Name: "random DocIDs", Points: lab.Heights(random...)}},
	}
	note := fmt.Sprintf("%d lists with %d postings, of collection %s.", len(lists), count(lists), c.Describe())
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{figure}, Notes: []string{note}}, nil
}

// evenlyRandom returns lists of the same lengths: gaps are independent, with the mean of the list.
func evenlyRandom(seed uint64, numDocs int, lists [][]uint32) [][]uint32 {
	rng := rand.New(rand.NewPCG(seed, 3))
	out := make([][]uint32, len(lists))
	for i, l := range lists {
		rate := float64(len(l)) / float64(numDocs)
		at := uint32(0)
		for range l {
			at += 1 + uint32(rng.ExpFloat64()*max(1/rate-1, 0))
			out[i] = append(out[i], at)
		}
	}
	return out
}

func bytesPerDocID(ctx context.Context, spec string, lists [][]uint32) (float64, error) {
	c, err := codec.Lookup(spec)
	if err != nil {
		return 0, err
	}
	sizes := make([]int, len(lists))
	err = parallel(ctx, len(lists), func(i int) error {
		e := encode(c, lists[i])
		sizes[i] = len(e.data)
		if e.whole == nil {
			sizes[i] -= 64 // padding
		}
		return nil
	})
	sum := 0
	for _, s := range sizes {
		sum += s
	}
	return float64(sum) / float64(count(lists)), err
}
