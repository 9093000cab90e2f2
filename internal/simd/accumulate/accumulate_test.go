package accumulate

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// Kernels must not change it.
const canary = 0xA5

// Canaries surround the accumulators.
func fenced[T Accumulator](t *testing.T, rng *rand.Rand, n int) []T {
	const fence = 128
	all := make([]T, n+2*fence)
	for i := range all {
		all[i] = canary
	}
	acc := all[fence : fence+n : fence+n]
	for i := range acc {
		switch rng.IntN(4) {
		case 0:
			acc[i] = T(rng.Uint32())
		case 1:
			acc[i] = T(rng.IntN(9))
		default:
			acc[i] = 0
		}
	}
	t.Cleanup(func() {
		for i, v := range all {
			if (i < fence || i >= fence+n) && v != canary {
				t.Errorf("accumulator %d, outside of %d, was changed to %d", i-fence, n, v)
				return
			}
		}
	})
	return acc
}

func scatterOracle[T Accumulator](acc []T, docIDs []uint32, v T) int {
	for i, d := range docIDs {
		if int64(d) >= int64(len(acc)) {
			return i
		}
		acc[d] += v
	}
	return len(docIDs)
}

func bitmapOracle[T Accumulator](acc []T, words []byte, v T) {
	for i := range min(len(acc), 8*len(words)) {
		if words[i/8]>>(i%8)&1 == 1 {
			acc[i] += v
		}
	}
}

func drainOracle[T Accumulator](acc []T, least T) (at int, high uint64) {
	for at < len(acc) {
		for j := range Line {
			if acc[at+j] >= least {
				high |= 1 << j
			}
		}
		if high != 0 {
			return at, high
		}
		clear(acc[at : at+Line])
		at += Line
	}
	return at, 0
}

func TestAllImplementations(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		t.Run("width=8", testKernels[uint8])
		t.Run("width=16", testKernels[uint16])
		t.Run("width=32", testKernels[uint32])
	})
}

func testKernels[T Accumulator](t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 600 {
		n := Line * rng.IntN(9)
		acc := fenced[T](t, rng, n)
		want := slices.Clone(acc)
		v := T(rng.Uint32())
		switch round % 3 {
		case 0:
			docIDs := make([]uint32, rng.IntN(140))
			for i := range docIDs {
				docIDs[i] = rng.Uint32N(uint32(n) + 1)
				if rng.IntN(8) > 0 && n > 0 {
					docIDs[i] %= uint32(n)
				}
			}
			checkScatter(t, acc, want, docIDs, v)
		case 1:
			words := make([]byte, rng.IntN(80))
			density := rng.IntN(5)
			for i := range words {
				for range density {
					words[i] |= 1 << rng.IntN(8)
				}
			}
			whole := words[:min(len(words)/8, n/Line)*8]
			bitmapOracle(want, whole, v)
			if got := Bitmap(acc, words, v); got != len(whole)/8 {
				t.Fatalf("Bitmap of %d bytes in %d accumulators = %d words", len(words), n, got)
			}
		case 2:
			least := T(rng.Uint32())
			if rng.IntN(2) == 0 {
				least = T(rng.IntN(12))
			}
			checkDrain(t, acc, want, least)
		}
		if !slices.Equal(acc, want) {
			t.Fatalf("round %d: accumulators differ: %v, want %v", round, acc, want)
		}
	}
}

func checkScatter[T Accumulator](t *testing.T, acc, want []T, docIDs []uint32, v T) {
	other := slices.Clone(acc)
	done := scatterOracle(want, docIDs, v)
	if got := Scatter(acc, docIDs, v); got != done {
		t.Fatalf("Scatter of %v in %d accumulators = %d, want %d", docIDs, len(acc), got, done)
	}
	var raw []byte
	for _, d := range docIDs {
		raw = binary.LittleEndian.AppendUint32(raw, d)
	}
	if got := ScatterBytes(other, raw, v); got != done || !slices.Equal(other, want) {
		t.Fatalf("ScatterBytes of %v in %d accumulators = %d, want %d", docIDs, len(acc), got, done)
	}
}

func checkDrain[T Accumulator](t *testing.T, acc, want []T, least T) {
	at, high := drainOracle(want, least)
	gotAt, gotHigh := Drain(acc, least)
	if gotAt != at || gotHigh != high {
		t.Fatalf("Drain(%v, %d) = %d, %#x, want %d, %#x", acc, least, gotAt, gotHigh, at, high)
	}
}

func FuzzKernels(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4, 5, 6, 7, 8, 200, 100}, uint8(3), uint8(2))
	f.Fuzz(func(t *testing.T, data []byte, v, lines uint8) {
		simdtest.EachLevel(t, func(t *testing.T) {
			fuzzKernels[uint8](t, data, uint32(v), int(lines)%5)
			fuzzKernels[uint16](t, data, uint32(v)*77, int(lines)%5)
			fuzzKernels[uint32](t, data, uint32(v)*77777, int(lines)%5)
		})
	})
}

func fuzzKernels[T Accumulator](t *testing.T, data []byte, value uint32, lines int) {
	rng := rand.New(rand.NewPCG(uint64(value), uint64(lines)))
	acc := fenced[T](t, rng, lines*Line)
	want := slices.Clone(acc)
	v := T(value)
	var docIDs []uint32
	for i := 0; i+2 <= len(data); i += 2 {
		docIDs = append(docIDs, uint32(binary.LittleEndian.Uint16(data[i:]))%uint32(lines*Line+2))
	}
	checkScatter(t, acc, want, docIDs, v)
	bitmapOracle(want, data[:min(len(data)/8, lines)*8], v)
	Bitmap(acc, data, v)
	checkDrain(t, acc, want, v)
	if !slices.Equal(acc, want) {
		t.Fatal("accumulators differ")
	}
}

func TestKernelsDoNotAllocate(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		acc, docIDs, words := make([]uint8, 8*Line), []uint32{1, 77, 200}, make([]byte, 64)
		raw := make([]byte, 40)
		if n := testing.AllocsPerRun(100, func() {
			Scatter(acc, docIDs, 3)
			ScatterBytes(acc, raw, 3)
			Bitmap(acc, words, 4)
			Drain(acc, 200)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func BenchmarkKernels(b *testing.B) {
	for _, level := range []string{"current"} {
		b.Run("simd="+level, func(b *testing.B) {
			b.Run("width=8", benchKernels[uint8])
			b.Run("width=16", benchKernels[uint16])
		})
	}
}

func benchKernels[T Accumulator](b *testing.B) {
	const n = 750_000 / Line * Line
	rng := rand.New(rand.NewPCG(1, 1))
	acc := make([]T, n)
	for _, gap := range []int{20, 200} {
		b.Run(fmt.Sprintf("scatter/gap=%d", gap), func(b *testing.B) {
			var docIDs []uint32
			for d := 0; d < n; d += 1 + rng.IntN(2*gap) {
				docIDs = append(docIDs, uint32(d))
			}
			for b.Loop() {
				for i := 0; i+128 <= len(docIDs); i += 128 {
					Scatter(acc, docIDs[i:i+128], 1)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(docIDs)&^127), "ns/posting")
		})
	}
	b.Run("bitmap", func(b *testing.B) {
		words := make([]byte, n/8)
		for i := range words {
			words[i] = 1 << rng.IntN(8) // one document in eight
		}
		for b.Loop() {
			Bitmap(acc, words, 1)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n/Line), "ns/line")
	})
	b.Run("drain", func(b *testing.B) {
		clear(acc)
		for b.Loop() {
			Drain(acc, 1)
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n/Line), "ns/line")
	})
}
