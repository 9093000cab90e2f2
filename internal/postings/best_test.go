package postings

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/score"
)

func TestFrontierAgainstDefinition(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var set frontierSet
	for range 2000 {
		maxFreq, maxLength := 1+rng.Uint32N(130), 1+rng.Uint32N(60)
		pairs := make([]pair, 1+rng.IntN(128))
		for i := range pairs {
			pairs[i] = pair{1 + rng.Uint32N(maxFreq), rng.Uint32N(maxLength)}
			if rng.IntN(40) == 0 {
				pairs[i].freq += 1 << 31
			}
		}
		var want []pair
		for _, p := range pairs {
			dominated := slices.ContainsFunc(pairs, func(q pair) bool { return q != p && q.freq >= p.freq && q.length <= p.length })
			if !dominated && !slices.Contains(want, p) {
				want = append(want, p)
			}
		}
		slices.SortFunc(want, func(a, b pair) int { return int(int64(a.freq) - int64(b.freq)) })
		for _, p := range pairs {
			set.add(p.freq, p.length)
		}
		former := pair{1, 1}
		if got := set.take([]pair{former}); got[0] != former || !slices.Equal(got[1:], want) {
			t.Fatalf("frontier of %v is %v, want %v", pairs, got, want)
		}
	}
}

func TestKthBestAgainstSort(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	for _, n := range []int{0, 1, 9, 10, 11, 99, 100, 101, 999, 1000, 1001, 3999, 4000, 4001, 4127, 4128, 20000} {
		for _, distinct := range []uint32{1, 2, 30, 1 << 16} {
			var b kthBest
			b.reset()
			values := make([]score.Bound, n)
			for i := range values {
				values[i] = score.Bound(rng.Uint32N(distinct))
			}
			for rest := values; len(rest) > 0; {
				size := min(1+rng.IntN(codec.BlockLen), len(rest))
				b.add(rest[:size])
				rest = rest[size:]
			}
			slices.Sort(values)
			slices.Reverse(values)
			var want [len(Kth)]score.Bound
			for i, k := range Kth {
				if n >= k {
					want[i] = values[k-1]
				}
			}
			if got := b.result(); got != want {
				t.Fatalf("%d values below %d: %v, want %v", n, distinct, got, want)
			}
		}
	}
}

// BenchmarkKthBest measures lists of different lengths. There are many lists, so that branch prediction
// cannot learn their order.
func BenchmarkKthBest(b *testing.B) {
	rng := rand.New(rand.NewPCG(3, 3))
	values := make([]score.Bound, 1<<20)
	for i := range values {
		values[i] = score.Bound(20000 + rng.Uint32N(30000))
	}
	for _, n := range []int{20, 50, 90, 300, 3000} {
		b.Run(fmt.Sprintf("postings=%d", n), func(b *testing.B) {
			var k kthBest
			for at := 0; b.Loop(); at = (at + n) % (len(values) - n) {
				k.reset()
				for block := range slices.Chunk(values[at:at+n], codec.BlockLen) {
					k.add(block)
				}
				k.result()
			}
		})
	}
}

// The bounds are the ones of Saturation, when they are computed and when they are known.
func TestBoundTable(t *testing.T) {
	for _, s := range []score.Saturation{{BM25: score.DefaultBM25, AvgLen: 100}, {BM25: score.BM25{K1: 0, B: 0}}, {Linear: true}} {
		table := new(boundTable)
		for round := range 2 {
			for freq := uint32(1); freq < 8; freq++ {
				for _, length := range []uint32{0, 1, 2, 99, 510, 511, 512, 1 << 31} {
					lower, upper := table.known(freq, length)
					if upper == 0 {
						lower, upper = table.compute(&s, freq, length)
					} else if round == 0 {
						t.Errorf("%+v: frequency %d, length %d: known before it is computed", s, freq, length)
					}
					if wantLower, wantUpper := s.Bounds(freq, length); lower != wantLower || upper != wantUpper {
						t.Errorf("%+v: frequency %d, length %d: %d to %d, want %d to %d", s, freq, length, lower, upper, wantLower, wantUpper)
					}
				}
			}
		}
	}
}
