package traverse

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/score"
)

func partitionCost(bounds []score.Bound, lambda int64, ends []int) (cost int64) {
	start := 0
	for _, end := range ends {
		cost += lambda
		for _, b := range bounds[start:end] {
			cost += int64(slices.Max(bounds[start:end]) - b)
		}
		start = end
	}
	return cost
}

// leastCost tries all possible last blocks.
func leastCost(bounds []score.Bound, lambda int64) int64 {
	least := make([]int64, len(bounds)+1)
	for end := 1; end <= len(bounds); end++ {
		least[end] = math.MaxInt64
		highest, sum := int64(0), int64(0)
		for start := end - 1; start >= 0; start-- {
			highest, sum = max(highest, int64(bounds[start])), sum+int64(bounds[start])
			least[end] = min(least[end], least[start]+lambda+highest*int64(end-start)-sum)
		}
	}
	return least[len(bounds)]
}

func TestCutBoundsWorkedNumber(t *testing.T) {
	bounds := []score.Bound{5, 1, 1, 7}
	if ends := cutBounds(bounds, 3); !slices.Equal(ends, []int{1, 3, 4}) {
		t.Errorf("cut at %v", ends)
	}
	for _, tt := range []struct {
		ends []int
		want int64
	}{{[]int{1, 3, 4}, 9}, {[]int{4}, 17}, {[]int{1, 2, 3, 4}, 12}} {
		if got := partitionCost(bounds, 3, tt.ends); got != tt.want {
			t.Errorf("cost of the cuts %v is %d, want %d", tt.ends, got, tt.want)
		}
	}
}

func TestCutBoundsIsNearlyTheBest(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 7))
	worst := 1.0
	for range 300 {
		n := 1 + rng.IntN(400)
		bounds := make([]score.Bound, n)
		level := score.Bound(rng.Uint32())
		for i := range bounds {
			if rng.IntN(30) == 0 {
				level = score.Bound(rng.Uint32())
			}
			bounds[i] = max(level, score.Bound(rng.Uint32N(20000)))
			if rng.IntN(10) == 0 {
				bounds[i] = score.Bound(rng.Uint32())
			}
		}
		lambda := int64(1) << rng.IntN(24)
		ends := cutBounds(bounds, lambda)
		if !slices.IsSorted(ends) || ends[len(ends)-1] != n || len(slices.Compact(slices.Clone(ends))) != len(ends) {
			t.Fatalf("not a cut of %d: %v", n, ends)
		}
		worst = max(worst, float64(partitionCost(bounds, lambda, ends))/float64(leastCost(bounds, lambda)))
	}
	if worst > (1+partitionEdges)*(1+partitionSteps) {
		t.Errorf("cost is %.3f times the least", worst)
	}
	t.Logf("worst: %.3f times the least", worst)
}

func TestVariableBlocksSeek(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	for range 200 {
		v := &variableBlocks{}
		d := uint32(0)
		for range rng.IntN(60) {
			d += 1 + rng.Uint32N(20)
			v.last = append(v.last, d)
		}
		at := 0
		for doc := uint32(0); doc < d+30; doc += rng.Uint32N(50) {
			want, _ := slices.BinarySearch(v.last, doc)
			if at = v.seek(at, doc); at != want {
				t.Fatalf("seek(%d) = %d, want %d of %v", doc, at, want, v.last)
			}
		}
	}
}

func BenchmarkCutBounds(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 5))
	bounds := make([]score.Bound, 1<<18)
	for i := range bounds {
		bounds[i] = score.Bound(20000 + rng.Uint32N(1<<rng.IntN(16)))
	}
	for b.Loop() {
		cutBounds(bounds, variableLambda)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(bounds)), "ns/posting")
}
