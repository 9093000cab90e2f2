package pfor_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/bitpack"
	"github.com/griffin-search/griffin/internal/simd/pfor"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

const canary = 0xA5A5A5A5

type guarded struct {
	before [32]uint32
	values [pfor.Len]uint32
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

func oracle(b *pfor.Block) (values []uint32, ok bool) {
	for i := range b.N {
		values = append(values, bitpack.At(b.Slots, i, b.Width))
	}
	at := uint64(b.First)
	for k := range b.Count {
		if at >= uint64(b.N) {
			return nil, false
		}
		var word [4]byte
		copy(word[:], b.Values[k*b.Size:(k+1)*b.Size])
		next := at + uint64(values[at]) + 1
		values[at] = binary.LittleEndian.Uint32(word[:])
		at = next
	}
	return values, true
}

func checkBlock(t *testing.T, b *pfor.Block, base uint32) (ok bool) {
	t.Helper()
	want, valid := oracle(b)
	plain, sums := newGuarded(), newGuarded()
	ok, okSums := pfor.Decode(&plain.values, b), pfor.DecodeGaps(&sums.values, b, base)
	plain.check(t)
	sums.check(t)
	if ok != valid || okSums != valid {
		t.Fatalf("%+v: Decode %t, DecodeGaps %t, want %t", b, ok, okSums, valid)
	}
	sum := base
	for i, v := range want {
		sum += v + 1
		if plain.values[i] != v+1 || sums.values[i] != sum {
			t.Fatalf("%+v: value %d: Decode %d, DecodeGaps %d; want %d and %d", b, i, plain.values[i], sums.values[i], v+1, sum)
		}
	}
	return ok
}

// randomBlock has a list of up to count exceptions.
func randomBlock(rng *rand.Rand, n int, width uint8, size, count int) *pfor.Block {
	slots := make([]uint32, n)
	for i := range slots {
		slots[i] = rng.Uint32() & (1<<width - 1)
	}
	b := &pfor.Block{Width: width, N: n, First: rng.IntN(n), Size: size}
	for at := b.First; ; b.Count++ {
		if b.Count == count {
			break
		}
		step := uint32(rng.IntN(min(1<<width, 16)))
		slots[at] = step
		if at += int(step) + 1; at >= n {
			b.Count++
			break
		}
	}
	b.Slots = bitpack.Append(nil, slots, width)
	b.Values = make([]byte, b.Count*size)
	for i := range b.Values {
		b.Values[i] = byte(rng.Uint32())
	}
	return b
}

func TestDecode(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	simdtest.EachLevel(t, func(t *testing.T) {
		for width := range uint8(32) {
			for _, n := range []int{1, 2, 15, 16, 17, 64, 65, 127, 128} {
				for _, count := range []int{1, 2, 13, 128} {
					b := randomBlock(rng, n, width, 1<<rng.IntN(3), count)
					if !checkBlock(t, b, rng.Uint32()) {
						t.Fatalf("%+v: rejected", b)
					}
					b.Slots = append(b.Slots, make([]byte, bitpack.Slack)...)
					checkBlock(t, b, rng.Uint32())
					b.Count = min(n, b.Count+1+rng.IntN(9)) // one step or more too many
					b.Values = make([]byte, 4*b.Count)
					checkBlock(t, b, rng.Uint32())
					b.First = n + rng.IntN(1000)
					if checkBlock(t, b, 0) {
						t.Fatalf("%+v: not rejected", b)
					}
				}
			}
		}
	})
}

// A forbidden read crashes.
func TestDecodeReadsNothingElse(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 3))
	const most = 4 * pfor.Len
	slotsEnd, slotsStart := simdtest.Guarded(t, most)
	valuesEnd, valuesStart := simdtest.Guarded(t, most)
	simdtest.EachLevel(t, func(t *testing.T) {
		for width := range uint8(32) {
			for _, n := range []int{1, 15, 16, 33, 127, 128} {
				for _, count := range []int{1, 2, 17, 128} {
					b := randomBlock(rng, n, width, 1<<rng.IntN(3), count)
					slots, values := b.Slots, b.Values
					b.Slots, b.Values = slotsEnd[most-len(slots):], valuesEnd[most-len(values):]
					copy(b.Slots, slots)
					copy(b.Values, values)
					checkBlock(t, b, 7)
					b.Slots, b.Values = slotsStart[:len(slots):len(slots)], valuesStart[:len(values):len(values)]
					copy(b.Slots, slots)
					copy(b.Values, values)
					checkBlock(t, b, 7)
				}
			}
		}
	})
}

func TestDecodeRefuses(t *testing.T) {
	good := pfor.Block{Slots: make([]byte, 16), Width: 3, N: 4, Count: 2, Values: make([]byte, 2), Size: 1}
	for name, change := range map[string]func(b *pfor.Block){
		"no exceptions":  func(b *pfor.Block) { b.Count = 0 },
		"too few values": func(b *pfor.Block) { b.Size = 2 },
		"odd size":       func(b *pfor.Block) { b.Size, b.Values = 3, make([]byte, 8) },
		"no values":      func(b *pfor.Block) { b.N = 0 },
		"too many":       func(b *pfor.Block) { b.N = 129 },
		"width":          func(b *pfor.Block) { b.Width = 32 },
		"few slots":      func(b *pfor.Block) { b.Slots = b.Slots[:1:1] },
	} {
		t.Run(name, func(t *testing.T) {
			b := good
			change(&b)
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%s: no panic", name)
					}
				}()
				var dst [pfor.Len]uint32
				pfor.Decode(&dst, &b)
			}()
		})
	}
}

func FuzzDecode(f *testing.F) {
	rng := rand.New(rand.NewPCG(2, 2))
	for width := range uint8(32) {
		b := randomBlock(rng, 128-int(width), width, 1<<(width%3), 20)
		f.Add(b.Slots, width, uint8(b.N), uint8(b.First), uint8(b.Count), b.Values, width%3, uint32(width))
	}
	f.Fuzz(func(t *testing.T, slots []byte, width, n, first, count uint8, values []byte, size uint8, base uint32) {
		b := &pfor.Block{Slots: slots, Width: width, N: int(n), First: int(first), Count: int(count), Values: values, Size: 1 << (size % 3)}
		if width > 31 || n < 1 || n > 128 || count < 1 || count > n || len(values) < b.Count*b.Size || len(slots) < bitpack.PackedSize(b.N, width) {
			return
		}
		for _, level := range simd.Levels() {
			before := simd.Set(level)
			checkBlock(t, b, base)
			simd.Set(before)
		}
	})
}

func BenchmarkDecodeGaps(b *testing.B) {
	for _, level := range simd.Levels() {
		for _, size := range []int{1, 2, 4} {
			for _, count := range []int{1, 12, 25} {
				slots := make([]uint32, pfor.Len)
				for i := range slots {
					slots[i] = uint32(pfor.Len/count - 1)
				}
				block := &pfor.Block{
					Slots: bitpack.Append(nil, slots, 7), Width: 7, N: pfor.Len, First: 1, Count: count,
					Values: make([]byte, count*size), Size: size,
				}
				block.Slots = append(block.Slots, make([]byte, bitpack.Slack)...)
				b.Run(fmt.Sprintf("simd=%v/size=%d/exceptions=%d", level, size, count), func(b *testing.B) {
					simdtest.Set(b, level)
					var dst [pfor.Len]uint32
					for b.Loop() {
						if !pfor.DecodeGaps(&dst, block, 7) {
							b.Fatal("rejected")
						}
					}
					b.ReportMetric(float64(b.N)*pfor.Len/b.Elapsed().Seconds()/1e9, "Gints/s")
				})
			}
		}
	}
}
