package eliasfano_test

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/simd/eliasfano"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

type block struct {
	docIDs, freqs, riceDocIDs, riceFreqs         [eliasfano.Len]uint32
	docBits, freqBits, riceDocBits, riceFreqBits int
}

// oracle decodes bit by bit.
func oracle(src []byte, base uint32, width uint8) (b block) {
	bit := func(i int) uint32 { return uint32(src[i/8] >> (i % 8) & 1) }
	low := func(i int) (v uint32) {
		for j := range int(width) {
			v |= bit(i*int(width)+j) << j
		}
		return v
	}
	from := eliasfano.Len * int(width)
	for _, end := range []uint32{1, 0} { // Elias-Fano, Rice
		var highs [eliasfano.Len]uint32
		n, high := 0, uint32(0)
		bits := 0
		for i := 0; i < eliasfano.HighBits && n < eliasfano.Len; i++ {
			if bit(from+i) != end {
				high++
				continue
			}
			highs[n] = high
			n++
			bits = i + 1
		}
		if n < eliasfano.Len {
			continue // bits of both stay 0
		}
		if end == 1 {
			b.eliasFano(base, highs, low, width, bits)
		} else {
			b.rice(base, highs, low, width, bits)
		}
	}
	return b
}

func (b *block) eliasFano(base uint32, highs [eliasfano.Len]uint32, low func(int) uint32, width uint8, bits int) {
	b.docBits, b.freqBits = bits, bits
	sum := uint32(0)
	for i, high := range highs {
		v := high<<width | low(i)
		b.docIDs[i] = base + 1 + uint32(i) + v
		if i == 0 && b.docIDs[i] < base+1 || i > 0 && b.docIDs[i] <= b.docIDs[i-1] {
			b.docBits = 0
		}
		now := 1 + uint32(i) + v
		if now <= sum {
			b.freqBits = 0
		}
		b.freqs[i] = now - sum
		sum = now
	}
}

func (b *block) rice(base uint32, highs [eliasfano.Len]uint32, low func(int) uint32, width uint8, bits int) {
	b.riceDocBits, b.riceFreqBits = bits, bits
	d, before := base, uint32(0)
	for i, high := range highs {
		x := (high-before)<<width + low(i)
		before = high
		b.riceFreqs[i] = x + 1
		d += 1 + x
		b.riceDocIDs[i] = d
		if i == 0 && d < base+1 || i > 0 && d <= b.riceDocIDs[i-1] {
			b.riceDocBits = 0
		}
	}
}

func compare(t *testing.T, src []byte, base uint32, width uint8) (valid int) {
	t.Helper()
	want := oracle(src, base, width)
	var got block
	got.docBits = eliasfano.DocIDs(&got.docIDs, src, base, width)
	got.freqBits = eliasfano.Freqs(&got.freqs, src, width)
	got.riceDocBits = eliasfano.RiceDocIDs(&got.riceDocIDs, src, base, width)
	got.riceFreqBits = eliasfano.RiceFreqs(&got.riceFreqs, src, width)
	for _, f := range []struct {
		name         string
		got, want    *[eliasfano.Len]uint32
		bits, expect int
	}{
		{"DocIDs", &got.docIDs, &want.docIDs, got.docBits, want.docBits},
		{"Freqs", &got.freqs, &want.freqs, got.freqBits, want.freqBits},
		{"RiceDocIDs", &got.riceDocIDs, &want.riceDocIDs, got.riceDocBits, want.riceDocBits},
		{"RiceFreqs", &got.riceFreqs, &want.riceFreqs, got.riceFreqBits, want.riceFreqBits},
	} {
		if f.bits != f.expect {
			t.Fatalf("%s, base %d, width %d: %d bits, want %d", f.name, base, width, f.bits, f.expect)
		}
		if f.expect > 0 {
			valid++
			if *f.got != *f.want {
				t.Fatalf("%s, base %d, width %d:\n got %v\nwant %v", f.name, base, width, *f.got, *f.want)
			}
		}
	}
	return valid
}

// One of step bits of the unary part is an end.
func randomBlock(rng *rand.Rand, width uint8, step int, flip byte) []byte {
	src := make([]byte, eliasfano.Space(width))
	for i := range src {
		src[i] = byte(rng.Uint32())
	}
	from := eliasfano.Len / 8 * int(width)
	for i := range src[from:] {
		x := byte(0)
		for bit := range 8 {
			if rng.IntN(step) == 0 {
				x |= 1 << bit
			}
		}
		src[from+i] = x ^ flip
	}
	return src
}

func TestKernels(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		valid := 0
		for width := range uint8(eliasfano.MaxWidth + 1) {
			for _, base := range []uint32{^uint32(0), 0, 1 << 20, 1<<32 - 2, 1<<32 - 1<<24} {
				for step := 1; step < 5; step++ {
					for _, flip := range []byte{0, 0xff} {
						src := randomBlock(rng, width, step, flip)
						valid += compare(t, src, base, width)
						// The same with non-decreasing values.
						clear(src[:eliasfano.Len/8*int(width)])
						valid += compare(t, src, base, width)
					}
				}
			}
		}
		if valid < 1000 {
			t.Fatalf("only %d valid blocks: the test needs more", valid)
		}
	})
}

func TestLongestUnaryPart(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		for _, width := range []uint8{0, 1, 24} {
			for late := range 3 {
				src := make([]byte, eliasfano.Space(width))
				from := eliasfano.Len * int(width)
				for i := range eliasfano.Len {
					at := from + eliasfano.HighBits - eliasfano.Len + i + late
					src[at/8] |= 1 << (at % 8)
				}
				var dst [eliasfano.Len]uint32
				want := 0
				if late == 0 {
					want = eliasfano.HighBits
				}
				if got := eliasfano.DocIDs(&dst, src, 0, width); got != want {
					t.Errorf("width %d, last end %d behind the last place: %d bits, want %d", width, late, got, want)
				}
				compare(t, src, 0, width)
			}
		}
	})
}

func TestReadsStayInSource(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 6))
		for width := range uint8(eliasfano.MaxWidth + 1) {
			atEnd, atStart := simdtest.Guarded(t, eliasfano.Space(width))
			for _, src := range [][]byte{atEnd, atStart} {
				for _, flip := range []byte{0, 0xff} {
					copy(src, randomBlock(rng, width, 3, flip))
					compare(t, src, 1000, width)
				}
			}
		}
	})
}

func FuzzKernels(f *testing.F) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, width := range []uint8{0, 1, 7, 24} {
		f.Add(randomBlock(rng, width, 3, 0), uint32(7), width)
		f.Add(randomBlock(rng, width, 3, 0xff), ^uint32(0), width)
	}
	f.Fuzz(func(t *testing.T, data []byte, base uint32, width uint8) {
		width %= eliasfano.MaxWidth + 1
		src := make([]byte, eliasfano.Space(width)) // ends where kernels must stop reading
		copy(src, data)
		simdtest.EachLevel(t, func(t *testing.T) { compare(t, src, base, width) })
	})
}
