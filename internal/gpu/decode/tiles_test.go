package decode_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
)

// The tiles of a single list cover each block once, and their lengths
// differ by at most two blocks, the last by three.
func TestEvenTiles(t *testing.T) {
	for _, blocks := range []uint32{1, 2, 3, 4, 100, 6335, 6336, 6337, 12672, 12673, 78125, 101_376, 101_377, 101_378, 625_000, 1 << 25} {
		numTiles, tileBlocks, longer := decode.EvenTiles(blocks)
		covered := uint64(numTiles)*uint64(tileBlocks) + 2*uint64(longer)
		most := tileBlocks
		if longer > 0 {
			most += 2
		}
		if covered != uint64(blocks)+uint64(blocks)%2 || longer >= numTiles || most > decode.EFTileBlocks || tileBlocks == 0 || tileBlocks%2 != 0 {
			t.Errorf("%d blocks: %d tiles of %d, %d of them longer", blocks, numTiles, tileBlocks, longer)
		}
	}
}

// Single lists of Para-EF with all tile lengths: whole lists, and selected
// blocks in any order.
func TestTiles(t *testing.T) {
	r := newRig(t)
	rng := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{1, 128, 129, 5 * 128, 5*128 + 1, 16 * 128, 33*128 - 1, 63*128 + 77} {
		for _, spread := range []uint32{1, 3, 30, 2000, 60_000} {
			docIDs, freqs := make([]uint32, n), make([]uint32, n)
			docID := ^uint32(0)
			for i := range docIDs {
				docID += 1 + rng.Uint32N(spread)
				docIDs[i], freqs[i] = docID, 1
			}
			whole := newHostList(codec.EF{}, fmt.Sprintf("%d of gaps up to %d", n, spread), docIDs, freqs)
			blocks := (n + codec.BlockLen - 1) / codec.BlockLen
			some := make([]uint32, blocks)
			for i, b := range rng.Perm(blocks) {
				some[i] = uint32(b)
			}
			for _, list := range []*hostList{whole, whole.chosen(some)} {
				for most := (blocks + decode.EFTileBlocks - 1) / decode.EFTileBlocks; most <= blocks; most += 1 + most/2 {
					r.checkTiles(list, most)
				}
			}
		}
	}
}

func (r *rig) checkTiles(list *hostList, most int) {
	r.Helper()
	d := r.upload([]*hostList{list})
	got := make([]uint32, d.out.Len())
	for _, w := range []decode.What{decode.DocIDs, decode.Gaps} {
		r.Must(cuda.FillWords(r.Stream, d.out, canary))
		r.Must(r.kernels.DecodeTiles(r.Stream, w, d.lists[0], most))
		r.Must(cuda.CopyToHost(r.Stream, got, d.out))
		r.Must(r.Stream.Synchronize())
		compare(r, codec.EF{}, list, w, got)
	}
}
