package column_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/internal/simd"
	"github.com/griffin-search/griffin/internal/simd/column"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

func valueOracle(src []byte, i int, width uint8) (v uint64) {
	for b := range int(width) {
		bit := i*int(width) + b
		v |= uint64(src[bit/8]>>(bit%8)&1) << b
	}
	return v
}

const canary = 0xA5A5A5A5A5A5A5A5

type guarded struct {
	before [16]uint64
	values [column.Len]int64
	after  [16]uint64
	set    [2]uint64
	behind [16]uint64
}

func newGuarded() *guarded {
	g := new(guarded)
	for i := range g.before {
		g.before[i], g.after[i], g.behind[i] = canary, canary, canary
	}
	return g
}

func (g *guarded) check(t *testing.T) {
	t.Helper()
	for i := range g.before {
		if g.before[i] != canary || g.after[i] != canary || g.behind[i] != canary {
			t.Fatal("written outside of the destination")
		}
	}
}

// src has a block of values and Slack. lo and hi are any numbers.
func checkBlock(t *testing.T, src []byte, width uint8, add int64, lo, hi uint64) {
	t.Helper()
	g := newGuarded()
	column.Unpack(&g.values, src, width, add)
	g.set = [2]uint64{canary, canary}
	column.Range(&g.set, src, width, lo, hi)
	g.check(t)
	for i, v := range g.values {
		want := valueOracle(src, i, width)
		if at := column.At(src, i, width); at != want || v != int64(want)+add {
			t.Fatalf("width %d, value %d: At %d, Unpack %d with %d; want %d", width, i, at, v, add, want)
		}
		if in := g.set[i/64]>>(i%64)&1 != 0; in != (want >= lo && want <= hi) {
			t.Fatalf("width %d, value %d, %d: in [%d, %d]: %t", width, i, want, lo, hi, in)
		}
	}
}

func TestBlocks(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(1, 1))
		for width := range uint8(column.MaxWidth + 1) {
			for range 20 {
				values := make([]uint64, column.Len)
				for i := range values {
					values[i] = rng.Uint64() & (1<<width - 1)
				}
				src := column.Append(nil, values, width)
				if len(src) != column.PackedSize(len(values), width) {
					t.Fatalf("width %d: %d bytes", width, len(src))
				}
				for range column.Slack {
					src = append(src, byte(rng.Uint32()))
				}
				lo, hi := values[rng.IntN(len(values))], values[rng.IntN(len(values))]
				most := uint64(1)<<width - 1
				for _, r := range [][2]uint64{{lo, hi}, {lo, lo}, {0, lo}, {lo, most}, {0, most}, {0, 0}, {most, most}, {lo, ^uint64(0)}, {lo + 1, lo}, {rng.Uint64(), rng.Uint64()}} {
					checkBlock(t, src, width, int64(rng.Uint64()), r[0], r[1])
				}
			}
		}
	})
}

// Partial blocks are completed with zeros by callers.
func TestAppendPartial(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 1))
	for width := range uint8(column.MaxWidth + 1) {
		for n := range column.Len + 1 {
			values := make([]uint64, n)
			for i := range values {
				values[i] = rng.Uint64() & (1<<width - 1)
			}
			packed := column.Append([]byte{1, 2, 3}, values, width)[3:]
			if len(packed) != column.PackedSize(n, width) {
				t.Fatalf("%d values of %d bits in %d bytes", n, width, len(packed))
			}
			for i, v := range values {
				if got := valueOracle(packed, i, width); got != v {
					t.Fatalf("width %d, value %d of %d: %d, want %d", width, i, n, got, v)
				}
			}
			if rest := n * int(width) % 8; rest > 0 && packed[len(packed)-1]>>rest != 0 {
				t.Fatalf("width %d, %d values: bits after the last", width, n)
			}
		}
	}
}

// A forbidden read crashes.
func TestBlocksReadNothingElse(t *testing.T) {
	most := column.Len/8*column.MaxWidth + column.Slack
	atEnd, atStart := simdtest.Guarded(t, most)
	simdtest.EachLevel(t, func(t *testing.T) {
		var dst [column.Len]int64
		var set [2]uint64
		for width := range uint8(column.MaxWidth + 1) {
			size := column.Len/8*int(width) + column.Slack
			for _, src := range [][]byte{atEnd[most-size:], atStart[:size]} {
				column.Unpack(&dst, src, width, 0)
				column.Range(&set, src, width, 0, 1)
			}
		}
	})
}

func TestShortSlicesPanic(t *testing.T) {
	var dst [column.Len]int64
	var set [2]uint64
	src := make([]byte, 16*37+column.Slack)
	simdtest.EachLevel(t, func(t *testing.T) {
		for name, f := range map[string]func(){
			"Unpack of too few bytes": func() { column.Unpack(&dst, src[:len(src)-1:len(src)-1], 37, 0) },
			"Range of too few bytes":  func() { column.Range(&set, src[:len(src)-1:len(src)-1], 37, 0, 1) },
			"Unpack of too wide":      func() { column.Unpack(&dst, make([]byte, 4096), 65, 0) },
			"Range of too wide":       func() { column.Range(&set, make([]byte, 4096), 65, 0, 1) },
			"List of too many bits":   func() { new(column.Positions).List(make([]uint64, 257)) },
		} {
			t.Run(name, func(t *testing.T) {
				defer func() {
					if recover() == nil {
						t.Error("no panic")
					}
				}()
				f()
			})
		}
	})
}

func TestSelect(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(3, 1))
		for round := range 2000 {
			var values [column.Len]uint32
			var want []uint32
			set := [2]uint64{rng.Uint64(), rng.Uint64()}
			switch round % 4 {
			case 0:
				set[0] = 1 << rng.IntN(64)
			case 1:
				set = [2]uint64{^uint64(0), ^uint64(0)}
			}
			for i := range values {
				values[i] = rng.Uint32()
				if set[i/64]>>(i%64)&1 != 0 {
					want = append(want, values[i])
				}
			}
			var dst column.Selected
			n := column.Select(&dst, &values, &set)
			if n != len(want) {
				t.Fatalf("%d values, want %d", n, len(want))
			}
			for i, v := range want {
				if dst[i] != v {
					t.Fatalf("value %d is %d, want %d", i, dst[i], v)
				}
			}
		}
	})
}

func checkMoves(t *testing.T, word, set uint64) {
	t.Helper()
	var deposited, extracted uint64
	rank := 0
	for i := range 64 {
		if set>>i&1 != 0 {
			deposited |= word >> rank & 1 << i
			extracted |= word >> i & 1 << rank
			rank++
		}
	}
	if got := column.Deposit(word, set); got != deposited {
		t.Fatalf("Deposit(%#x, %#x) = %#x, want %#x", word, set, got, deposited)
	}
	if got := column.Extract(word, set); got != extracted {
		t.Fatalf("Extract(%#x, %#x) = %#x, want %#x", word, set, got, extracted)
	}
}

func TestMoves(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(4, 1))
		for range 20000 {
			word, set := rng.Uint64(), rng.Uint64()
			checkMoves(t, word, set)
			checkMoves(t, word&rng.Uint64()&rng.Uint64(), set|rng.Uint64())
			checkMoves(t, word, set&rng.Uint64()&rng.Uint64())
		}
		for _, w := range []uint64{0, 1, 1 << 63, ^uint64(0)} {
			for _, s := range []uint64{0, 1, 1 << 63, ^uint64(0)} {
				checkMoves(t, w, s)
			}
		}
	})
}

func TestKernelsDoNotAllocate(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		src := make([]byte, 1200)
		var values [column.Len]uint32
		if n := testing.AllocsPerRun(100, func() {
			var dst [column.Len]int64
			var set [2]uint64
			var selected column.Selected
			for _, width := range []uint8{5, 13, 20, 30, 50} {
				column.Unpack(&dst, src, width, 1)
				column.Range(&set, src, width, 1, 9)
			}
			column.Select(&selected, &values, &set)
		}); n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}

func FuzzKernels(f *testing.F) {
	f.Add([]byte{1, 2, 3}, uint8(3), int64(5), uint64(1), uint64(2))
	f.Add([]byte("some longer text that is no multiple of anything"), uint8(61), int64(-1), uint64(1)<<40, ^uint64(0))
	f.Fuzz(func(t *testing.T, data []byte, width uint8, add int64, lo, hi uint64) {
		width %= column.MaxWidth + 1
		src := make([]byte, column.Len/8*int(width)+column.Slack)
		for i := 0; i < len(src) && len(data) > 0; i += len(data) {
			copy(src[i:], data)
		}
		for _, l := range simd.Levels() {
			simdtest.Set(t, l)
			checkBlock(t, src, width, add, lo, hi)
			checkMoves(t, lo, hi)
		}
	})
}

func BenchmarkBlocks(b *testing.B) {
	src := make([]byte, column.Len/8*column.MaxWidth+column.Slack)
	for i := range src {
		src[i] = byte(i * 97)
	}
	var dst [column.Len]int64
	var set [2]uint64
	for _, level := range simd.Levels() {
		for _, width := range []uint8{1, 7, 10, 17, 25, 32, 40, 64} {
			lo, hi := uint64(1)<<width/4, uint64(1)<<width/2
			for _, f := range []struct {
				name string
				run  func()
			}{
				{"unpack", func() { column.Unpack(&dst, src, width, 1) }},
				{"range", func() { column.Range(&set, src, width, lo, hi) }},
			} {
				b.Run(fmt.Sprintf("simd=%v/width=%d/what=%s", level, width, f.name), func(b *testing.B) {
					simdtest.Set(b, level)
					for b.Loop() {
						f.run()
					}
					b.ReportMetric(float64(b.N)*column.Len/b.Elapsed().Seconds()/1e9, "Gvalues/s")
				})
			}
		}
	}
}

// randomBits has all densities, and runs.
func randomBits(rng *rand.Rand, words int) []uint64 {
	set := make([]uint64, words)
	percent := rng.IntN(101)
	for i := range set {
		switch rng.IntN(8) {
		case 0:
		case 1:
			set[i] = ^uint64(0)
		case 2:
			set[i] = ^uint64(0) << rng.IntN(64)
		default:
			for b := range 64 {
				if rng.IntN(100) < percent {
					set[i] |= 1 << b
				}
			}
		}
	}
	return set
}

func TestPositions(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(5, 1))
		const most = column.Len * column.Len / 64
		var g struct {
			before [16]uint64
			p      column.Positions
			after  [16]uint64
		}
		for round := range 200 {
			set := randomBits(rng, rng.IntN(most+1))
			if round == 0 {
				set = slices.Repeat([]uint64{^uint64(0)}, most)
			}
			var want []uint16
			for i, w := range set {
				for b := range 64 {
					if w>>b&1 != 0 {
						want = append(want, uint16(64*i+b))
					}
				}
			}
			for i := range g.before {
				g.before[i], g.after[i] = canary, canary
			}
			if n := g.p.List(set); !slices.Equal(g.p[:n], want) {
				t.Fatalf("round %d: %d positions %v, want %v", round, n, g.p[:n], want)
			}
			for i := range g.before {
				if g.before[i] != canary || g.after[i] != canary {
					t.Fatal("written outside of the positions")
				}
			}
		}
	})
}

func TestTally(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(6, 1))
		for round := range 150 {
			d, src, values := randomBlocks(rng)
			var p column.Positions
			n := p.List(randomBits(rng, column.Len*column.Len/64))
			counts := make([]uint32, 1+rng.IntN(3000))
			want := make([]uint32, len(counts))
			done := 0
			for _, at := range p[:n] {
				if values[at] >= uint64(len(counts)) {
					break
				}
				want[values[at]]++
				done++
			}
			if got := column.Tally(counts, d, src, p[:n]); got != done || !slices.Equal(counts, want) {
				t.Fatalf("round %d: %d of %d positions, want %d, or other counts", round, got, n, done)
			}
		}
		if n := column.Tally(nil, nil, nil, []uint16{1}); n != 0 {
			t.Errorf("%d additions to no counts", n)
		}
	})
}

// randomBlocks have values below 3,000, some rounds wider ones.
func randomBlocks(rng *rand.Rand) (d *column.Directory, src []byte, values []uint64) {
	d = new(column.Directory)
	most, wide := rng.IntN(12), rng.IntN(4) == 0
	for j := range column.Len {
		width := rng.IntN(most + 1)
		if wide && rng.IntN(column.Len) == 0 {
			width = rng.IntN(58)
		}
		d.Mins[j], d.Spans[j], d.Offsets[j] = int64(rng.IntN(900)), 1<<width>>1, uint32(len(src))
		if width > 0 && rng.IntN(2) == 0 {
			d.Spans[j] = 1<<width - 1
		}
		block := make([]uint64, column.Len)
		for i := range block {
			block[i] = rng.Uint64() & (1<<width - 1)
			values = append(values, uint64(d.Mins[j])+block[i])
		}
		src = column.Append(src, block, uint8(width))
	}
	return d, append(src, make([]byte, column.Slack)...), values
}

func TestTallyEven(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(7, 1))
		const most = column.Len * column.Len
		for round := range 300 {
			width := uint8(rng.IntN(13))
			if round%20 == 0 {
				width = uint8(rng.IntN(58))
			}
			var mins [column.Len]int64
			for j := range mins {
				mins[j] = int64(rng.IntN(900))
			}
			values := make([]uint64, most)
			for i := range values {
				values[i] = rng.Uint64() & (1<<width - 1)
			}
			src := append(column.Append(nil, values, width), make([]byte, column.Slack)...)
			var p column.Positions
			n := p.List(randomBits(rng, most/64))
			counts := make([]uint32, 1+rng.IntN(3000))
			want := make([]uint32, len(counts))
			done := 0
			for _, at := range p[:n] {
				v := values[at] + uint64(mins[at/column.Len])
				if v >= uint64(len(counts)) {
					break
				}
				want[v]++
				done++
			}
			if got := column.TallyEven(counts, &mins, src, width, p[:n]); got != done || !slices.Equal(counts, want) {
				t.Fatalf("round %d, width %d: %d of %d positions, want %d, or other counts", round, width, got, n, done)
			}
		}
		if n := column.TallyEven(nil, new([column.Len]int64), nil, 1, []uint16{1}); n != 0 {
			t.Errorf("%d additions to no counts", n)
		}
	})
}

// Positions of all distances, in any order, are marked among bits that are set before.
func TestMark(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(8, 1))
		for round := range 1000 {
			all := make([]uint64, 1+256+1)
			words, want := all[1:257], make([]uint64, 256)
			all[0], all[257] = canary, canary
			var positions []uint32
			for d, gap, n := 0, 1+rng.IntN(40), rng.IntN(129); len(positions) < n; {
				if d += 1 + rng.IntN(gap); d >= 64*len(words) {
					break
				}
				positions = append(positions, uint32(d))
				want[d/64] |= 1 << (d % 64)
			}
			if round%3 == 0 {
				rng.Shuffle(len(positions), func(i, j int) { positions[i], positions[j] = positions[j], positions[i] })
			}
			for i := range words {
				words[i] = rng.Uint64() & 0x5555_3333_0f0f_00ff
				want[i] |= words[i]
			}
			column.Mark(words, positions)
			if !slices.Equal(words, want) || all[0] != canary || all[257] != canary {
				t.Fatalf("round %d: other bits than of %d", round, positions)
			}
			if len(positions) == 0 {
				continue
			}
			positions[rng.IntN(len(positions))] = uint32(64*len(words)) + uint32(rng.IntN(2))*rng.Uint32N(1<<31)
			if !panics(func() { column.Mark(words, positions) }) {
				t.Fatalf("round %d: no panic with a position that is too great", round)
			}
			if all[0] != canary || all[257] != canary {
				t.Fatalf("round %d: written outside of the set", round)
			}
		}
		column.Mark(nil, nil)
	})
}

func panics(f func()) (did bool) {
	defer func() { did = recover() != nil }()
	f()
	return false
}

func TestOnes(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		rng := rand.New(rand.NewPCG(9, 1))
		for n := range 300 {
			set := randomBits(rng, n)
			want := 0
			for i := range 64 * n {
				want += int(set[i/64] >> (i % 64) & 1)
			}
			if got := column.Ones(set); got != want {
				t.Fatalf("%d bits of %d words, want %d", got, n, want)
			}
		}
	})
}

// A forbidden read crashes.
func TestTallyReadsNothingElse(t *testing.T) {
	const size = column.Len/8*column.Len*9 + column.Slack
	atEnd, _ := simdtest.Guarded(t, size)
	d := new(column.Directory)
	for j := range d.Spans {
		d.Spans[j], d.Offsets[j] = 1<<9-1, uint32(column.Len/8*9*j)
	}
	simdtest.EachLevel(t, func(t *testing.T) {
		var p column.Positions
		n := p.List(slices.Repeat([]uint64{^uint64(0)}, column.Len*column.Len/64))
		counts := make([]uint32, 512)
		if done := column.Tally(counts, d, atEnd, p[:n]); done != n || int(counts[0]) != n {
			t.Errorf("%d of %d zeros", counts[0], n)
		}
		if done := column.TallyEven(counts, &d.Mins, atEnd, 9, p[:n]); done != n || int(counts[0]) != 2*n {
			t.Errorf("%d of %d zeros twice", counts[0], n)
		}
	})
}
