package decode_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/decodetest"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

// BenchmarkTune prints the speed of the variants of simdbp and Para-EF.
func BenchmarkTune(b *testing.B) {
	n := benchSize(10_000_000)
	tiles, rounds := []int{1, 2, 4, 8}, 20
	if !gputest.OnGPU() {
		tiles, rounds = []int{8}, 1
	}
	for _, c := range []codec.Codec{codec.SIMDBP{}, codec.EF{}} {
		list := benchHostList(c, n, 12)
		for _, numLists := range []int{1, 8} {
			r := newRig(b)
			module, err := r.device.LoadModule("decodetest", decodetest.Image)
			r.must(err)
			b.Cleanup(func() { r.must(module.Unload()) })
			d := r.upload(slices.Repeat([]*hostList{list}, numLists))
			for _, tile := range tiles {
				batch := decode.PlanTiles(d.lists, tile)
				lists := upload(r, d.lists)
				for _, name := range decodetest.Variants {
					kernel, launch, err := decode.Variant(module, "decodetest_"+c.Name()+"_"+name)
					r.must(err)
					r.must(launch(r.stream, lists, batch))
					took := gputest.Elapsed(b, r.stream, func() {
						for range rounds {
							r.must(launch(r.stream, lists, batch))
						}
					})
					seconds := took.Seconds() / float64(rounds)
					bytes := float64(numLists) * (float64(list.read(decode.DocIDs)) + 4*float64(n))
					fmt.Printf("tune %s lists=%d tile=%d variant=%s: %.0f Gints/s, %.1f us, %.0f%% of copy, %d registers, %d local\n",
						c.Name(), numLists, tile, name, float64(n*numLists)/seconds/1e9, seconds*1e6, 100*bytes/seconds/1e9/gputest.CopyBandwidth(b, r.device), kernel.Registers(), kernel.LocalBytes())
				}
			}
		}
	}
}
