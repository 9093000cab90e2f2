package experiments

import (
	"context"
	"math"
	"math/bits"
	"time"

	"github.com/griffin-search/griffin/internal/contraction"
	"github.com/griffin-search/griffin/internal/lab"
)

func ao11Fig3() lab.Experiment {
	return lab.Experiment{
		Name: "ao11-fig3", Paper: "ao11", Shows: "Fig. 3", Title: "Sizes of hash buckets",
		Did: "All lists of GOV with 2^12+1 to 2^13 DocIDs were divided into hash buckets by their leading m = 5 " +
			"bits of 21, and the non-empty buckets were counted by size: a binomial distribution, widened because" +
			" lists differ in length.",
		Ours: ao11Ours +
			" Next to them, the table has the sum of the binomial distributions for random lists of these " +
			"lengths. Counts of all lists of these lengths; nothing is timed.",
		Differs:  "The paper prints the figure without numbers, and has GOV only.",
		Findings: ao11Fig3Findings, Verdicts: ao11Fig3Verdicts,
		Budget: 3 * time.Minute,
		Run:    runAo11Fig3,
	}
}

type bucketCounts struct {
	bySize       []float64 // non-empty buckets
	empty, lists int
}

func runAo11Fig3(ctx context.Context, env *lab.Env) (*lab.Result, error) {
	// The toy collection has shorter lists.
	least, most := lab.Pick(env, 1<<12+1, 1<<9+1), lab.Pick(env, 1<<13, 1<<11)
	const m = 5
	t := lab.NewTable("Hash buckets of medium lists, 17 a list", "collection", ao11Names()[:ao11GOVs],
		[]string{"lists", "mean size", "standard deviation", "of the binomial", "empty, %"})
	f := &lab.Figure{Title: "Sizes of hash buckets, m = 5", Kind: lab.Lines, X: "DocIDs in a bucket", Y: "buckets per list and size"}
	err := ao11Rows(ctx, env, t, ao11GOVs, func(row int, name string, c *lab.Collection, queries []lab.Query) error {
		k := bits.Len(uint(c.NumDocs() - 1))
		counts, expected := bucketCounts{bySize: make([]float64, most+1)}, make([]float64, most+1)
		var docIDs []uint32
		for _, term := range lab.DistinctTerms(queries) {
			n, err := c.DocFreq(term)
			if err != nil {
				return err
			}
			if n < least || n > most {
				continue
			}
			if docIDs, err = c.DocIDs(docIDs[:0], term); err != nil {
				return err
			}
			counts.add(docIDs, uint8(k-m))
			addBinomial(expected, len(docIDs), math.Exp2(float64(k-m)), float64(c.NumDocs()))
		}
		mean, deviation := moments(counts.bySize)
		_, ofBinomial := moments(expected)
		buckets := float64(counts.empty)
		for _, n := range counts.bySize {
			buckets += n
		}
		t.Set(row, 0, float64(counts.lists))
		t.Set(row, 1, mean)
		t.Set(row, 2, deviation)
		t.Set(row, 3, ofBinomial)
		t.Set(row, 4, 100*float64(counts.empty)/max(buckets, 1))
		f.Series = append(f.Series, lab.Series{Name: name, Points: perList(counts.bySize, counts.lists)})
		if name == "GOVR" {
			f.Series = append(f.Series, lab.Series{Name: "binomial", Points: perList(expected, counts.lists)})
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return &lab.Result{Tables: []*lab.Table{t}, Figures: []*lab.Figure{f}}, nil
}

func (b *bucketCounts) add(docIDs []uint32, shift uint8) {
	b.lists++
	contraction.NewBucketsOf(docIDs, shift).Sizes(func(size int) {
		if size == 0 {
			b.empty++
			return
		}
		b.bySize[size]++
	})
}

// addBinomial adds the expected numbers of non-empty buckets by size, for a
// random list of n out of numDocs, in buckets of width documents.
func addBinomial(bySize []float64, n int, width, numDocs float64) {
	whole := math.Floor(numDocs / width)
	addBuckets(bySize, n, min(width/numDocs, 1), max(whole, 1))
	if rest := numDocs - whole*width; whole > 0 && rest > 0 {
		addBuckets(bySize, n, rest/numDocs, 1)
	}
}

// addBuckets adds the expected numbers for buckets into each of which one of n
// DocIDs falls with probability p.
func addBuckets(bySize []float64, n int, p, buckets float64) {
	if p >= 1 {
		bySize[n] += buckets
		return
	}
	const negligible = -60              // limit of a probability's logarithm
	logP := float64(n) * math.Log1p(-p) // for size 0
	step := math.Log(p) - math.Log1p(-p)
	for size := 1; size <= n; size++ {
		logP += math.Log(float64(n-size+1)/float64(size)) + step
		if logP > negligible {
			bySize[size] += buckets * math.Exp(logP)
		} else if float64(size) > float64(n)*p {
			return
		}
	}
}

// moments returns the mean and the standard deviation of sizes.
func moments(bySize []float64) (mean, deviation float64) {
	var sum, n, squares float64
	for size, count := range bySize {
		n += count
		sum += float64(size) * count
	}
	mean = sum / max(n, 1)
	for size, count := range bySize {
		squares += count * (float64(size) - mean) * (float64(size) - mean)
	}
	return mean, math.Sqrt(squares / max(n, 1))
}

// The largest size in the figure, as in the paper.
const figureBuckets = 600

// perList averages over several sizes for smooth lines.
func perList(bySize []float64, lists int) []lab.Point {
	const wide = 6
	var points []lab.Point
	for size := 1; size+wide <= min(len(bySize), figureBuckets); size += wide {
		sum := 0.0
		for _, n := range bySize[size : size+wide] {
			sum += n
		}
		points = append(points, lab.Point{X: float64(size) + (wide-1)/2.0, Y: sum / wide / float64(max(lists, 1))})
	}
	return points
}
