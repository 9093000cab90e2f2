package traverse_test

import (
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TestMaxScoreWindows: blocks of both lists are the windows of block-max-maxscore. The second
// list's bound rises in every other block, so that only these windows can reach the
// threshold. The blocks next to a window do not count for its bound.
func TestMaxScoreWindows(t *testing.T) {
	const numBlocks = 16
	x := oneSegment(
		numBlocks*codec.BlockLen, []float64{20, 1},
		listOf(0, 1, numBlocks*codec.BlockLen, always(1)),
		listOf(0, 1, numBlocks*codec.BlockLen, func(i int) uint32 {
			if block := uint32(i / codec.BlockLen); block%2 == 0 {
				return 2 + block
			}
			return 1
		}),
	)
	x.write(t, codec.SIMDBP{})
	tr, err := traverse.Lookup(traverse.Or, "block-max-maxscore")
	if err != nil {
		t.Fatal(err)
	}
	var s traverse.Scratch
	run(t, tr, &s, x.queries(t), 10)
	if want := int64(2 * codec.BlockLen * numBlocks / 2); s.Stats.PostingsScored != want {
		t.Errorf("%d postings are scored, want %d, the blocks that can reach the threshold", s.Stats.PostingsScored, want)
	}
}
