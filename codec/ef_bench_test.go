package codec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// Gaps are of random DocIDs; 64 blocks in turn, with other blocks behind them.
func BenchmarkUnaryCodecs(b *testing.B) {
	const blocks = 64
	for _, c := range []codec.Codec{codec.EF{}, codec.Rice{}, codec.VByte{}, codec.SIMDBP{}} {
		for _, mean := range []float64{2, 30, 1000} {
			rng := rand.New(rand.NewPCG(1, 1))
			var src []byte
			var at [blocks]int
			var base, freqAt [blocks]uint32
			var width, freqWidth [blocks]uint8
			d := codec.NoBase
			for i := range blocks {
				docIDs, freqs := make([]uint32, codec.BlockLen), make([]uint32, codec.BlockLen)
				base[i], at[i] = d, len(src)
				for j := range docIDs {
					d += 1 + uint32(rng.ExpFloat64()*mean)
					docIDs[j] = d
					freqs[j] = 1 + uint32(rng.ExpFloat64()*rng.ExpFloat64()*mean/8)
				}
				src, width[i] = c.AppendDocIDs(src, base[i], docIDs)
				freqAt[i] = uint32(len(src))
				src, freqWidth[i] = c.AppendFreqs(src, freqs)
			}
			src = append(src, make([]byte, 64)...)
			var dst [codec.BlockLen]uint32
			bench := func(what string, decode func(i int) error) {
				for _, l := range simd.Levels() {
					b.Run(fmt.Sprintf("codec=%s/mean=%v/what=%s/simd=%v", c.Name(), mean, what, l), func(b *testing.B) {
						simdtest.Set(b, l)
						i := 0
						for b.Loop() {
							if err := decode(i % blocks); err != nil {
								b.Fatal(err)
							}
							i++
						}
						b.ReportMetric(float64(b.N)*codec.BlockLen/b.Elapsed().Seconds()/1e9, "Gints/s")
					})
				}
			}
			bench("docids", func(i int) error {
				_, err := c.DecodeDocIDs(&dst, src[at[i]:], base[i], codec.BlockLen, width[i])
				return err
			})
			bench("freqs", func(i int) error {
				return c.DecodeFreqs(&dst, src[freqAt[i]:], codec.BlockLen, freqWidth[i])
			})
			bench("freqat", func(i int) error {
				_, err := c.FreqAt(src[freqAt[i]:], i*2, codec.BlockLen, freqWidth[i])
				return err
			})
		}
	}
}
