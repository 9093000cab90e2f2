package bitpack_test

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/simd/bitpack"
)

// unpackOracle reads a value bit by bit.
func unpackOracle(src []byte, i int, width uint8) (v uint32) {
	for b := range int(width) {
		bit := i*int(width) + b
		v |= uint32(src[bit/8]>>(bit%8)&1) << b
	}
	return v
}

func TestUnpack(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for width := range uint8(bitpack.MaxWidth + 1) {
		src := make([]byte, 16*int(width)+bitpack.Slack)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		base := rng.Uint32()
		var values, gaps, sums [bitpack.Len]uint32
		bitpack.Unpack(&values, src, width, 7)
		bitpack.Unpack(&sums, src, width, 0)
		bitpack.PrefixSum(&sums, base)
		bitpack.UnpackGaps(&gaps, src, base, width)
		sum := base
		plain := make([]uint32, bitpack.Len)
		for i := range values {
			want := unpackOracle(src, i, width)
			plain[i] = want
			sum += want + 1
			if got := bitpack.At(src, i, width); values[i] != want+7 || got != want || gaps[i] != sum || sums[i] != sum {
				t.Fatalf("width %d, value %d: Unpack %d, At %d, UnpackGaps %d, PrefixSum %d; want %d and sum %d",
					width, i, values[i]-7, got, gaps[i], sums[i], want, sum)
			}
		}
		packed := bitpack.Append(nil, plain, width)
		if string(packed) != string(src[:16*int(width)]) || len(packed) != bitpack.PackedSize(bitpack.Len, width) {
			t.Fatalf("width %d: Append does not give back what was unpacked", width)
		}
	}
}
