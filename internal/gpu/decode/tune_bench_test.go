package decode_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/gpu/cuda"
	"github.com/griffin-search/griffin/internal/gpu/decode"
	"github.com/griffin-search/griffin/internal/gpu/decodetest"
	"github.com/griffin-search/griffin/internal/gpu/gputest"
)

func BenchmarkTune(b *testing.B) {
	n := benchSize(10_000_000)
	r := newRig(b)
	module, err := r.Device.LoadImage("decodetest", decodetest.Image)
	r.Must(err)
	b.Cleanup(func() { r.Must(module.Unload()) })
	for _, gap := range []int{12, 3, 100} {
		tuneEF(b, r, module, benchHostList(codec.EF{}, n, gap), gap)
	}
	for _, numLists := range []int{1, 8} {
		tuneSIMDBP(b, r, module, benchHostList(codec.SIMDBP{}, n, 12), numLists)
	}
}

func tuneSIMDBP(b *testing.B, r *rig, module *cuda.Module, list *hostList, numLists int) {
	d := r.upload(slices.Repeat([]*hostList{list}, numLists))
	tiles := []int{1, 2, 4, 8}
	if !gputest.OnGPU() {
		tiles = tiles[3:]
	}
	for _, tile := range tiles {
		batch := decode.PlanTiles(d.lists, tile)
		lists := gputest.Upload(r.Session, d.lists)
		for _, name := range decodetest.Variants {
			kernel, launch, err := decode.Variant(module, "decodetest_simdbp_"+name)
			r.Must(err)
			tuned(b, r, list, numLists, fmt.Sprintf("simdbp lists=%d tile=%d variant=%s", numLists, tile, name), kernel,
				func() error { return launch(r.Stream, lists, batch) })
		}
	}
}

func tuneEF(b *testing.B, r *rig, module *cuda.Module, list *hostList, gap int) {
	d := r.upload([]*hostList{list})
	for _, blocks := range decodetest.EFBlocks {
		kernel, launch, err := decode.SingleVariant(module, fmt.Sprintf("decodetest_ef_%d", blocks))
		r.Must(err)
		wave := r.Device.Info().Multiprocessors * 4 * blocks
		for _, waves := range []float64{0.9, 1, 1.5, 2, 3} {
			tiles := int(waves * float64(wave))
			if list.n > tiles*decode.EFTileBlocks*codec.BlockLen {
				continue
			}
			tuned(b, r, list, 1, fmt.Sprintf("ef gap=%d waves=%.2f variant=%d", gap, waves, blocks), kernel,
				func() error { return launch(r.Stream, d.lists[0], tiles) })
		}
	}
}

func tuned(b *testing.B, r *rig, list *hostList, numLists int, name string, kernel *cuda.Kernel, launch func() error) {
	r.Must(launch())
	rounds := 5 * benchLaunches
	if !gputest.OnGPU() {
		rounds = 1
	}
	took := gputest.Elapsed(b, r.Stream, func() {
		for range 5 * rounds {
			r.Must(launch())
		}
	})
	seconds, values := took.Seconds()/float64(rounds), float64(list.n*numLists)
	bytes := float64(numLists*list.read(decode.DocIDs)) + 4*values
	fmt.Printf("tune %s: %.0f Gints/s, %.1f us, %.0f%% of copy, %d registers, %d local\n",
		name, values/seconds/1e9, seconds*1e6, 100*bytes/seconds/1e9/gputest.CopyBandwidth(b, r.Device), kernel.Registers(), kernel.LocalBytes())
}
