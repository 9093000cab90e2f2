package line_test

import (
	"encoding/binary"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/line"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

const canary = 0xA5A5A5A5

func check(t *testing.T, deviations *[line.Len]uint32, start, slope uint64) {
	t.Helper()
	var want [line.Len]uint32
	rising := true
	for i := range want {
		want[i] = uint32((start+uint64(i)*slope)>>32) + deviations[i]
		rising = rising && (i == 0 || want[i] > want[i-1])
	}
	var guarded struct {
		before, dst, behind [line.Len]uint32
	}
	for i := range guarded.before {
		guarded.before[i], guarded.behind[i] = canary, canary
	}
	guarded.dst = *deviations
	if got := line.Add(&guarded.dst, start, slope); got != rising || guarded.dst != want {
		t.Fatalf("Add(%d, %d, %d): rising %t, want %t\n got %d\nwant %d", *deviations, start, slope, got, rising, guarded.dst, want)
	}
	for i := range guarded.before {
		if guarded.before[i] != canary || guarded.behind[i] != canary {
			t.Fatal("values were written outside dst")
		}
	}
	tail := *deviations
	if got := line.AddTail(tail[:], start, slope); got != rising || tail != want {
		t.Fatalf("AddTail: rising %t, want %t", got, rising)
	}
}

func TestAdd(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		for i := range 4000 {
			var dst [line.Len]uint32
			start, slope := rng.Uint64(), rng.Uint64()>>rng.IntN(40)
			mask := uint32(1)<<rng.IntN(8) - 1
			for j := range dst {
				dst[j] = rng.Uint32() & mask
			}
			switch i % 4 {
			case 0: // increases, from 0 or up to the end
				start, slope = 0, uint64(mask+1)<<32|rng.Uint64()>>33
				if i%8 == 0 {
					start = -slope * (line.Len - 1)
					dst[line.Len-1] = 0
				}
			case 1: // decreases or repeats at one position
				start, slope = uint64(rng.Uint32()), uint64(mask+1)<<32
				if at := 1 + rng.IntN(line.Len-1); i%8 == 1 {
					dst[at], dst[at-1] = 0, mask+1
				}
			}
			check(t, &dst, start, slope)
		}
	})
}

func FuzzAdd(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint64(5), uint64(1<<33))
	f.Fuzz(func(t *testing.T, data []byte, start, slope uint64) {
		var dst [line.Len]uint32
		padded := append(data[:len(data):len(data)], make([]byte, 4*line.Len)...)
		for i := range dst {
			dst[i] = binary.LittleEndian.Uint32(padded[4*i:])
		}
		simdtest.EachLevel(t, func(t *testing.T) { check(t, &dst, start, slope) })
	})
}

func BenchmarkAdd(b *testing.B) {
	for _, l := range simd.Levels() {
		b.Run("simd="+l.String(), func(b *testing.B) {
			simdtest.Set(b, l)
			var dst [line.Len]uint32
			for b.Loop() {
				line.Add(&dst, 5, 7<<32)
			}
			b.ReportMetric(float64(b.N)*line.Len/b.Elapsed().Seconds()/1e9, "Gints/s")
		})
	}
}
