package qmx_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/qmx"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// Random words with their values, decoded bit by bit.
type encoding struct {
	name      string
	bytes     []byte
	selectors int
	values    []uint32
	wide      bool
}

// Value j lies in lane j%4, at bit j/4*Bits of the lane, whose first 32 bits are in the first
// word.
func bit(words []byte, s qmx.Selector, j, b int) uint32 {
	lane, at := j%4, j/4*int(s.Bits)+b
	at = at/32*8*qmx.WordSize + 32*lane + at%32
	return uint32(words[at/8]>>(at%8)) & 1
}

// Runs of the given selectors while they fit, and a tail.
func build(rng *rand.Rand, n int, pick func(i int) (selector, run int)) encoding {
	var e encoding
	var selectors, words []byte
	for i := 0; i < 2*qmx.Len && len(e.values) < n; i++ {
		selector, run := pick(i)
		s := qmx.Selectors[selector]
		for run > 0 && len(e.values)+run*int(s.Count) > n {
			run--
		}
		if run == 0 {
			continue
		}
		selectors = append(selectors, qmx.SelectorByte(selector, run))
		for range run {
			word := make([]byte, int(s.Words)*qmx.WordSize)
			for i := range word {
				word[i] = byte(rng.Uint32())
			}
			for j := range int(s.Count) {
				v := uint32(0)
				for b := range int(s.Bits) {
					v |= bit(word, s, j, b) << b
				}
				e.values = append(e.values, v)
				e.wide = e.wide || v>>24 > 0
			}
			words = append(words, word...)
		}
	}
	e.selectors, e.bytes = len(selectors), append(selectors, words...)
	if rest := n - len(e.values); rest > 0 {
		width := uint8(min(bitpack.MaxWidth, qmx.MaxTailBits/rest))
		tail := make([]uint32, rest)
		for i := range tail {
			tail[i] = rng.Uint32() >> (bitpack.MaxWidth - width)
		}
		e.wide = e.wide || width > 24
		e.values = append(e.values, tail...)
		e.bytes = bitpack.Append(append(e.bytes, width), tail, width)
	}
	return e
}

func encodings() []encoding {
	rng := rand.New(rand.NewPCG(5, 6))
	var out []encoding
	for _, n := range []int{1, 3, 4, 5, 8, 12, 16, 17, 20, 27, 28, 31, 40, 64, 100, 127, 128} {
		for s := range qmx.Selectors {
			e := build(rng, n, func(int) (int, int) { return s, qmx.MaxRun })
			e.name = fmt.Sprintf("n=%d/selector=%d", n, s)
			out = append(out, e)
		}
		for i := range 40 {
			e := build(rng, n, func(int) (int, int) { return rng.IntN(len(qmx.Selectors)), 1 + rng.IntN(6) })
			e.name = fmt.Sprintf("n=%d/mixed=%d", n, i)
			out = append(out, e)
		}
	}
	return out
}

const canary = 0xA5A5A5A5

func (e encoding) check(t *testing.T, src []byte) {
	t.Helper()
	n := len(e.values)
	var dst struct {
		before [32]uint32
		values [qmx.Len]uint32
		behind [32]uint32
	}
	for i := range dst.before {
		dst.before[i], dst.behind[i] = canary, canary
	}
	size, wide := qmx.Decode(&dst.values, src, e.selectors, 3, n)
	if size != len(e.bytes) || wide != e.wide {
		t.Fatalf("%s: Decode: %d bytes, wide %v; want %d, %v", e.name, size, wide, len(e.bytes), e.wide)
	}
	for i, want := range e.values {
		if dst.values[i] != want+3 {
			t.Fatalf("%s: Decode: value %d is %d, want %d", e.name, i, dst.values[i]-3, want)
		}
		if v, ok := qmx.At(src, e.selectors, i, n); !ok || v != want {
			t.Fatalf("%s: At(%d) = %d, %v; want %d", e.name, i, v, ok, want)
		}
	}
	size, wide = qmx.DecodeGaps(&dst.values, src, e.selectors, 77, n)
	if size != len(e.bytes) || wide != e.wide {
		t.Fatalf("%s: DecodeGaps: %d bytes, wide %v; want %d, %v", e.name, size, wide, len(e.bytes), e.wide)
	}
	sum := uint32(77)
	for i, v := range e.values {
		if sum += v + 1; dst.values[i] != sum {
			t.Fatalf("%s: DecodeGaps: value %d is %d, want %d", e.name, i, dst.values[i], sum)
		}
	}
	for i := range dst.before {
		if dst.before[i] != canary || dst.behind[i] != canary {
			t.Fatalf("%s: values were written outside dst", e.name)
		}
	}
}

func TestDecode(t *testing.T) {
	all := encodings()
	simdtest.EachLevel(t, func(t *testing.T) {
		for _, e := range all {
			e.check(t, slices.Clip(e.bytes))
			e.check(t, append(slices.Clip(e.bytes), make([]byte, 40)...)) // other bytes follow in a list
		}
	})
}

// A forbidden read crashes.
func TestDecodeReadsNothingElse(t *testing.T) {
	const most = 4*qmx.Len + qmx.Len
	atEnd, atStart := simdtest.Guarded(t, most)
	all := encodings()
	simdtest.EachLevel(t, func(t *testing.T) {
		for _, e := range all {
			for _, src := range [][]byte{atEnd[most-len(e.bytes):], atStart[:len(e.bytes)]} {
				copy(src, e.bytes)
				e.check(t, src)
				for cut := 1; cut <= len(src) && cut < 20; cut++ {
					short := atEnd[most-len(e.bytes)+cut:]
					copy(short, e.bytes)
					var dst [qmx.Len]uint32
					if size, _ := qmx.Decode(&dst, short, e.selectors, 0, len(e.values)); size >= 0 {
						t.Fatalf("%s: Decode without the last %d bytes: %d", e.name, cut, size)
					}
					if size, _ := qmx.DecodeGaps(&dst, short, e.selectors, 0, len(e.values)); size >= 0 {
						t.Fatalf("%s: DecodeGaps without the last %d bytes: %d", e.name, cut, size)
					}
				}
			}
		}
	})
}

// Levels agree on any bytes, read nothing else, and write only dst[:n].
func FuzzDecode(f *testing.F) {
	for i, e := range encodings() {
		if i%31 == 0 {
			f.Add(e.bytes, e.selectors, len(e.values), uint32(i))
		}
	}
	const most = 1000 // longer than any block
	guarded, _ := simdtest.Guarded(f, most)
	f.Fuzz(func(t *testing.T, data []byte, selectors, n int, base uint32) {
		data = data[:min(len(data), most)]
		src := guarded[most-len(data):]
		copy(src, data)
		type result struct {
			size       int
			wide       bool
			docs, vals [qmx.Len]uint32
		}
		var want result
		for _, l := range simd.Levels() {
			simdtest.Set(t, l)
			var got result
			got.size, got.wide = qmx.DecodeGaps(&got.docs, src, selectors, base, n)
			size, wide := qmx.Decode(&got.vals, src, selectors, base, n)
			if size != got.size || wide != got.wide {
				t.Fatalf("%v: Decode: %d, %v; DecodeGaps: %d, %v", l, size, wide, got.size, got.wide)
			}
			if got.size < 0 {
				got = result{size: -1} // dst is undefined
			} else {
				clear(got.docs[n:])
				clear(got.vals[n:])
				for i, want := range got.vals[:n] {
					if v, ok := qmx.At(src, selectors, i, n); !ok || v+base != want {
						t.Fatalf("At(%d) = %d, %v; Decode returns %d", i, v, ok, want-base)
					}
				}
			}
			if l == simd.PureGo {
				want = got
			} else if got != want {
				t.Fatalf("%v differs from %v:\n%v\n%v", l, simd.PureGo, got, want)
			}
		}
	})
}

func TestDecodeDoesNotAllocate(t *testing.T) {
	e := encodings()[20]
	simdtest.EachLevel(t, func(t *testing.T) {
		var dst [qmx.Len]uint32
		if got := testing.AllocsPerRun(20, func() {
			qmx.Decode(&dst, e.bytes, e.selectors, 1, len(e.values))
			qmx.DecodeGaps(&dst, e.bytes, e.selectors, 1, len(e.values))
			qmx.At(e.bytes, e.selectors, 0, len(e.values))
		}); got != 0 {
			t.Errorf("%v allocations", got)
		}
	})
}
