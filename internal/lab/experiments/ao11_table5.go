package experiments

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Table5() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-table5", Paper: "ao11", Shows: "Table 5", Title: "Bits of a deviation: theory and random lists",
		Did: "For lists of n out of 2^24 documents, the smallest t was computed for which the central moment of " +
			"order 22 proves that a DocID deviates by t or more from its line with a probability below 1e-5; " +
			"ceil(log2(t) + 1) is the number of bits of a deviation. The average bit-width was measured on lists " +
			"of BDR, compressed with LRC.",
		Ours: "The same bound in exact fractions (`internal/contraction`, DeviationBits), and the bits per DocID of" +
			" a random list of n out of 2^24, counting all bytes of `lrc`. Nothing is timed.",
		Differs:  "The lists are random instead of taken from BDR, which is Baidu's own collection in random order; it has 15,749,656 documents, a little less than 2^24.",
		Findings: ao11Table5Findings, Verdicts: ao11Table5Verdicts,
		Budget: time.Minute,
		Run:    runAo11Table5,
	}
}

func runAo11Table5(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	const m, epsilon = 1 << 24, 1e-5
	lengths := []int{100_000, 200_000, 400_000, 800_000, 1_000_000, 2_000_000}
	theory := []float64{18, 18, 17, 17, 17, 16}
	measured := []float64{17, 17, 17, 16, 15, 15}
	rows := []string{"100K", "200K", "400K", "800K", "1M", "2M"}
	t := lab.NewTable("", "n", rows, []string{"ceil(log2(min t) + 1)", "log2(min t) + 1", "average bit-width of LRC"})
	rng := rand.New(rand.NewPCG(env.Seed, 5))
	for i, n := range lengths {
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		t.Set(i, 0, float64(contraction.DeviationBits(n, m, contraction.DefaultOrder, epsilon)))
		t.SetPaper(i, 0, theory[i])
		t.SetText(i, 1, fmt.Sprintf("%.2f", contraction.DeviationLog2(n, m, contraction.DefaultOrder, epsilon)+1))
		list := drawList(rng, n, m)
		t.Set(i, 2, 8*float64(len(codec.Regression{Scheme: codec.LRC}.AppendList(nil, list)))/float64(n))
		t.SetPaper(i, 2, measured[i])
	}
	return &lab.Result{Tables: []*lab.Table{t}}, nil
}

// drawList returns n distinct numbers below m, sorted; all sets are equally
// likely.
func drawList(rng *rand.Rand, n, m int) []uint32 {
	has := make([]bool, m)
	for range n {
		for {
			if d := rng.IntN(m); !has[d] {
				has[d] = true
				break
			}
		}
	}
	list := make([]uint32, 0, n)
	for d, is := range has {
		if is {
			list = append(list, uint32(d))
		}
	}
	return list
}
