package bitpack_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

func unpackOracle(src []byte, i int, width uint8) (v uint32) {
	for b := range int(width) {
		bit := i*int(width) + b
		v |= uint32(src[bit/8]>>(bit%8)&1) << b
	}
	return v
}

const canary = 0xA5A5A5A5

type guarded struct {
	before [32]uint32
	values [bitpack.Len]uint32
	behind [32]uint32
}

func newGuarded() *guarded {
	g := &guarded{}
	for i := range g.before {
		g.before[i], g.behind[i] = canary, canary
	}
	return g
}

func (g *guarded) check(t *testing.T) {
	t.Helper()
	for i := range g.before {
		if g.before[i] != canary || g.behind[i] != canary {
			t.Fatal("values were written outside dst")
		}
	}
}

// src has the bytes of a whole block and Slack; n is for functions for partial blocks.
func checkUnpack(t *testing.T, src []byte, width uint8, n int, base uint32) {
	t.Helper()
	values, gaps, sums := newGuarded(), newGuarded(), newGuarded()
	someValues, someGaps := newGuarded(), newGuarded()
	whole := src[:16*int(width)+bitpack.Slack]
	size := bitpack.PackedSize(n, width)
	bitpack.Unpack(&values.values, whole, width, 7)
	bitpack.UnpackGaps(&gaps.values, whole, base, width)
	bitpack.UnpackN(&someValues.values, whole[:size:size], width, 7, n)
	bitpack.UnpackGapsN(&someGaps.values, whole[:size:size], base, width, n)
	var behindValues, behindGaps [bitpack.Len]uint32 // other bytes follow
	bitpack.UnpackN(&behindValues, whole, width, 7, n)
	bitpack.UnpackGapsN(&behindGaps, whole, base, width, n)
	if !slices.Equal(behindValues[:n], someValues.values[:n]) || !slices.Equal(behindGaps[:n], someGaps.values[:n]) {
		t.Fatalf("width %d, %d values: other values if bytes follow", width, n)
	}
	bitpack.Unpack(&sums.values, whole, width, 0)
	bitpack.PrefixSum(&sums.values, base)
	sum := base
	for i := range values.values {
		want := unpackOracle(src, i, width)
		sum += want + 1
		if got := bitpack.At(src, i, width); values.values[i] != want+7 || got != want || gaps.values[i] != sum || sums.values[i] != sum {
			t.Fatalf("width %d, value %d: Unpack %d, At %d, UnpackGaps %d, PrefixSum %d; want %d and sum %d",
				width, i, values.values[i]-7, got, gaps.values[i], sums.values[i], want, sum)
		}
		if i < n && (someValues.values[i] != want+7 || someGaps.values[i] != sum) {
			t.Fatalf("width %d, value %d of %d: UnpackN %d, UnpackGapsN %d; want %d and sum %d",
				width, i, n, someValues.values[i]-7, someGaps.values[i], want, sum)
		}
	}
	for _, g := range []*guarded{values, gaps, sums, someValues, someGaps} {
		g.check(t)
	}
}

// checkAppend compares with a loop over bits, after other bytes, with and without room for words.
func checkAppend(t *testing.T, values []uint32, width uint8) {
	t.Helper()
	want := make([]byte, 3+bitpack.PackedSize(len(values), width))
	want[1] = 7
	for i, v := range values {
		for bit := range int(width) {
			at := i*int(width) + bit
			want[3+at/8] |= byte(v>>bit&1) << (at % 8)
		}
	}
	base, docIDs, more := uint32(5), make([]uint32, len(values)), make([]uint32, len(values))
	for i, v := range values {
		more[i] = v + 1
		docIDs[i] = base + v + 1 // modulo 2^32
		if i > 0 {
			docIDs[i] = docIDs[i-1] + v + 1
		}
	}
	for _, room := range []int{0, 1, 600} {
		full := bytes.Repeat([]byte{0xee}, 3+room)
		dst := func() []byte { return append(full[:0], 0, 7, 0) }
		for name, got := range map[string][]byte{
			"Append":     bitpack.Append(dst(), values, width),
			"AppendGaps": bitpack.AppendGaps(dst(), base, docIDs, width),
			"AppendLess": bitpack.AppendLess(dst(), more, width),
		} {
			if !bytes.Equal(got, want) {
				t.Fatalf("%s: %d values of %d bits: %x, want %x", name, len(values), width, got, want)
			}
			if rest := full[min(len(got), len(full)):]; len(bytes.Trim(rest, "\xee")) > 0 {
				t.Fatalf("%s: %d values of %d bits: bytes after them are changed", name, len(values), width)
			}
		}
	}
}

func TestUnpack(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for width := range uint8(bitpack.MaxWidth + 1) {
			src := make([]byte, 16*int(width)+bitpack.Slack)
			for i := range src {
				src[i] = byte(rng.Uint32())
			}
			plain := make([]uint32, bitpack.Len)
			for i := range plain {
				plain[i] = unpackOracle(src, i, width)
			}
			packed := bitpack.Append(nil, plain, width)
			if string(packed) != string(src[:16*int(width)]) || len(packed) != bitpack.PackedSize(bitpack.Len, width) {
				t.Fatalf("width %d: Append does not give back what was unpacked", width)
			}
			for n := 1; n <= bitpack.Len; n++ {
				checkAppend(t, plain[:n], width)
				checkUnpack(t, src, width, n, rng.Uint32())
			}
		}
	})
}

// A forbidden read crashes.
func TestUnpackReadsNothingElse(t *testing.T) {
	most := 16*bitpack.MaxWidth + bitpack.Slack
	atEnd, atStart := simdtest.Guarded(t, most)
	simdtest.EachLevel(t, func(t *testing.T) {
		var dst [bitpack.Len]uint32
		for width := range uint8(bitpack.MaxWidth + 1) {
			size := 16*int(width) + bitpack.Slack
			for _, src := range [][]byte{atEnd[most-size:], atStart[:size]} {
				bitpack.Unpack(&dst, src, width, 0)
				bitpack.UnpackGaps(&dst, src, 0, width)
			}
			for n := 1; n <= bitpack.Len; n++ {
				size := bitpack.PackedSize(n, width)
				for _, src := range [][]byte{atEnd[most-size:], atStart[:size]} {
					bitpack.UnpackN(&dst, src, width, 0, n)
					bitpack.UnpackGapsN(&dst, src, 0, width, n)
				}
			}
		}
	})
}

func TestUnpackPanicsRatherThanReadOutside(t *testing.T) {
	var dst [bitpack.Len]uint32
	src := make([]byte, 16*5+bitpack.Slack)
	simdtest.EachLevel(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Unpack of too few bytes":       func() { bitpack.Unpack(&dst, src[:len(src)-1:len(src)-1], 5, 0) },
			"UnpackGaps of too few bytes":   func() { bitpack.UnpackGaps(&dst, src[:len(src)-1:len(src)-1], 0, 5) },
			"UnpackN of too few bytes":      func() { bitpack.UnpackN(&dst, src[:1:1], 5, 0, 2) },
			"UnpackGapsN of too few bytes":  func() { bitpack.UnpackGapsN(&dst, src[:1:1], 0, 5, 2) },
			"Unpack of too wide values":     func() { bitpack.Unpack(&dst, src, bitpack.MaxWidth+1, 0) },
			"UnpackGapsN of too wide gaps":  func() { bitpack.UnpackGapsN(&dst, src, 0, 255, 1) },
			"UnpackN of no values":          func() { bitpack.UnpackN(&dst, src, 5, 0, 0) },
			"UnpackGapsN of more than Len":  func() { bitpack.UnpackGapsN(&dst, src, 0, 0, bitpack.Len+1) },
			"UnpackN of fewer than nothing": func() { bitpack.UnpackN(&dst, src, 5, 0, -1) },
		} {
			t.Run(name, func(t *testing.T) {
				func() {
					defer func() {
						if recover() == nil {
							t.Errorf("%s: no panic", name)
						}
					}()
					f()
				}()
			})
		}
	})
}

func FuzzUnpack(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(3), 5, uint32(9))
	f.Add([]byte("some longer text that is no multiple of anything"), uint8(26), 128, ^uint32(0))
	f.Fuzz(func(t *testing.T, data []byte, width uint8, n int, base uint32) {
		width %= bitpack.MaxWidth + 1
		n = 1 + int(uint(n)%bitpack.Len)
		src := make([]byte, 16*int(width)+bitpack.Slack)
		for i := 0; i < len(src) && len(data) > 0; i += len(data) {
			copy(src[i:], data)
		}
		for _, l := range simd.Levels() {
			simdtest.Set(t, l)
			checkUnpack(t, src, width, n, base)
		}
	})
}

func BenchmarkAppend(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, width := range []uint8{1, 7, 12} {
		for _, n := range []int{2, bitpack.Len} {
			b.Run(fmt.Sprintf("width=%d/n=%d", width, n), func(b *testing.B) {
				values := make([]uint32, n)
				for i := range values {
					values[i] = rng.Uint32() >> (32 - width)
				}
				var dst []byte
				for b.Loop() {
					dst = bitpack.Append(dst[:0], values, width)
				}
			})
		}
	}
}

func BenchmarkUnpack(b *testing.B) {
	src := make([]byte, 16*bitpack.MaxWidth+bitpack.Slack)
	for i := range src {
		src[i] = byte(i * 97)
	}
	var dst [bitpack.Len]uint32
	for _, level := range simd.Levels() {
		for _, width := range []uint8{1, 4, 8, 11, 16, 25, 32} {
			for _, f := range []struct {
				name string
				run  func()
				n    int
			}{
				{"gaps", func() { bitpack.UnpackGaps(&dst, src, 0, width) }, bitpack.Len},
				{"values", func() { bitpack.Unpack(&dst, src, width, 1) }, bitpack.Len},
				{"gaps/n=20", func() { bitpack.UnpackGapsN(&dst, src, 0, width, 20) }, 20},
				{"gaps/n=127", func() { bitpack.UnpackGapsN(&dst, src, 0, width, 127) }, 127},
			} {
				b.Run(fmt.Sprintf("simd=%v/width=%d/what=%s", level, width, f.name), func(b *testing.B) {
					simdtest.Set(b, level)
					for b.Loop() {
						f.run()
					}
					b.ReportMetric(float64(b.N)*float64(f.n)/b.Elapsed().Seconds()/1e9, "Gints/s")
				})
			}
		}
	}
}
