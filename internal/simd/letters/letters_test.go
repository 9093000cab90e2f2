package letters_test

import (
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/letters"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// classify is the oracle.
func classify(window *[letters.WindowLen]byte) (c letters.Classes) {
	for i, b := range window {
		bit := uint64(1) << i
		switch {
		case 'a' <= b && b <= 'z', 'A' <= b && b <= 'Z':
			c.Letters |= bit
		case '0' <= b && b <= '9', b == '_', b >= 0x80:
			c.Others |= bit
		case b == ':', b == '.', b == '\'':
			c.Middles |= bit
		}
	}
	return c
}

func check(t *testing.T, window *[letters.WindowLen]byte) {
	t.Helper()
	if got, want := letters.Classify(window), classify(window); got != want {
		t.Fatalf("%q:\n got %x\nwant %x", *window, got, want)
	}
}

// Every byte at every place, among random bytes.
func TestClassify(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 2))
		atEnd, atStart := simdtest.Guarded(t, letters.WindowLen)
		for _, memory := range [][]byte{atEnd, atStart} {
			window := (*[letters.WindowLen]byte)(memory)
			for i := range window {
				for b := range 256 {
					for j := range window {
						window[j] = byte(rng.Uint32())
					}
					window[i] = byte(b)
					check(t, window)
				}
			}
		}
	})
}

func FuzzClassify(f *testing.F) {
	f.Add([]byte("The quick (\"brown\") fox can't jump 32.3 feet, right? Größe_1: ok"))
	f.Fuzz(func(t *testing.T, data []byte) {
		var window [letters.WindowLen]byte
		copy(window[:], data)
		simdtest.EachLevel(t, func(t *testing.T) { check(t, &window) })
	})
}

func BenchmarkClassify(b *testing.B) {
	for _, l := range simd.Levels() {
		b.Run("simd="+l.String(), func(b *testing.B) {
			simdtest.Set(b, l)
			window := [letters.WindowLen]byte([]byte("The quick brown fox can't jump 32.3 feet, right? No: it could do"))
			b.SetBytes(letters.WindowLen)
			for b.Loop() {
				letters.Classify(&window)
			}
		})
	}
}
