package codec_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

// One gap or frequency in ten needs over more bits than width.
func skewedBlock(rng *rand.Rand, width, over int) (docIDs, freqs []uint32) {
	d := uint32(0)
	for i := range codec.BlockLen {
		v := rng.Uint32N(1 << width)
		if i%10 == 3 {
			v = 1<<width + rng.Uint32N(1<<(width+over)-1<<width)
		}
		docIDs, freqs = append(docIDs, d+v), append(freqs, v+1)
		d += v + 1
	}
	return docIDs, freqs
}

func BenchmarkExceptions(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range []string{"simdbp", "pfordelta", "newpfd", "parapfor", "parapfor:exceptions=0.1", "pfordelta-rec"} {
		c, err := codec.Lookup(name)
		if err != nil {
			continue
		}
		for _, width := range []int{4, 6, 8, 11} {
			docIDs, freqs := skewedBlock(rng, width, 4)
			docs, docWidth := c.AppendDocIDs(nil, codec.NoBase, docIDs)
			fs, freqWidth := c.AppendFreqs(nil, freqs)
			// Other blocks or the directory follow.
			docs, fs = append(docs, make([]byte, 16)...), append(fs, make([]byte, 16)...)
			var dst [codec.BlockLen]uint32
			report := func(b *testing.B) {
				b.ReportMetric(float64(b.N)*codec.BlockLen/b.Elapsed().Seconds()/1e9, "Gints/s")
			}
			where := fmt.Sprintf("codec=%s/width=%d", name, width)
			b.Run(where+"/what=docids", func(b *testing.B) {
				for b.Loop() {
					if _, err := c.DecodeDocIDs(&dst, docs, codec.NoBase, codec.BlockLen, docWidth); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
			b.Run(where+"/what=freqs", func(b *testing.B) {
				for b.Loop() {
					if err := c.DecodeFreqs(&dst, fs, codec.BlockLen, freqWidth); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
			b.Run(where+"/what=freq", func(b *testing.B) {
				i := 0
				for b.Loop() {
					i = (i + 37) % codec.BlockLen
					if _, err := c.FreqAt(fs, i, codec.BlockLen, freqWidth); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
