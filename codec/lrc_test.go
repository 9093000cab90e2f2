package codec_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

var regressionSchemes = []codec.Scheme{codec.LRC, codec.LRCSeg, codec.SegLRC, codec.HSLRC}

func regressions() []codec.Regression {
	var out []codec.Regression
	for _, s := range regressionSchemes {
		out = append(
			out,
			codec.Regression{Scheme: s},
			codec.Regression{Scheme: s, SegmentLen: 16, Exceptions: 0.1},
			codec.Regression{Scheme: s, SegmentLen: 1024, Exceptions: 0.6},
			codec.Regression{Scheme: s, SegmentLen: 64, Exceptions: codec.SmallestSize},
		)
	}
	return out
}

func TestRegressionParameters(t *testing.T) {
	for _, c := range regressions() {
		t.Run(c.Name(), func(t *testing.T) {
			same, err := codec.Lookup(c.Name())
			if err != nil || same.Name() != c.Name() {
				t.Fatalf("Lookup(%q): %v, %v", c.Name(), same, err)
			}
			if c == (codec.Regression{Scheme: c.Scheme}) {
				return // TestAllImplementations covers the defaults
			}
			if c.Scheme == codec.LRC { // blocks do not depend on the scheme
				codectest.Run(t, same)
			}
			codectest.RunList(t, same.(codec.ListCodec))
		})
	}
	for _, spec := range []string{"lrc:segment=100", "hs-lrc:bucket=8", "seglrc:exceptions=0.7", "lrcseg:bucket=256"} {
		if _, err := codec.Lookup(spec); err == nil {
			t.Errorf("Lookup(%q) succeeds", spec)
		}
	}
	if got, want := (codec.Regression{SegmentLen: 100, Exceptions: codec.SmallestSize}).Name(), "lrc:segment=128,exceptions=best"; got != want {
		t.Errorf("parameters out of range: %s, want %s", got, want)
	}
}

// 12.5i + c rounded down increases by 0, 12, 25; DocIDs 10, 20, 35 lie 10, 8, 10 above: c is 8,
// the deviations 2, 0, 2 have two bits.
func TestRegressionWorkedBytes(t *testing.T) {
	docIDs := []uint32{10, 20, 35}
	block, width := codec.Regression{}.AppendDocIDs(nil, codec.NoBase, docIDs)
	// 12.5*256 = 3200 as uvarint, 8 as varint (zigzag 16), 2 | 0<<2 | 2<<4.
	if want := []byte{0x80, 0x19, 16, 0x22}; !bytes.Equal(block, want) || width != 2 {
		t.Errorf("block: % x width %d, want % x width 2", block, width, want)
	}
	list := codec.Regression{}.AppendList(nil, docIDs)
	want := []byte{
		34, 0, 0, 0, 8, 0, 0, 0, // size, length, scheme
		0, 0, 0x20, 0x2b, // slope: 12.5*2^32 has 36 bits: 0x3200000 * 2^10
		8, 0, 0, 0, // intercept
		// The line reaches 10, 20 and 35 at 0.16, 0.96 and 2.16, rounded down 0, 0, 2.
		0, 0, 0, 0, 1, 0, 0, 0, // left, right
		10, 0, 0, 0, // head
		0, 0, 0, 0, // offset
		2,    // width
		0x22, // deviations
	}
	if !bytes.Equal(list, want) {
		t.Errorf("list:\n% x, want\n% x", list, want)
	}
}

func TestRegressionSearch(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, c := range regressions() {
		for _, n := range []int{1, 2, 100, 255, 256, 257, 3000, 20000} {
			for _, spread := range []uint64{1, 2, 50, (1<<32 - 2) / uint64(n)} {
				for _, clustered := range []bool{false, true} {
					name := fmt.Sprintf("%s/n=%d/spread=%d/clustered=%t", c.Name(), n, spread, clustered)
					checkSearch(t, name, c, searchedList(rng, n, spread, clustered), rng)
				}
			}
		}
	}
}

func searchedList(rng *rand.Rand, n int, spread uint64, clustered bool) []uint32 {
	docIDs := make([]uint32, n)
	d := rng.Uint64N(spread)
	for i := range docIDs {
		docIDs[i] = uint32(min(d, 1<<32-1-uint64(n-i)))
		gap := rng.Uint64N(2*spread - 1)
		if clustered && rng.IntN(60) > 0 {
			gap = 0
		} else if clustered {
			gap *= 60
		}
		d = uint64(docIDs[i]) + 1 + gap
	}
	return docIDs
}

func checkSearch(t *testing.T, name string, c codec.Regression, docIDs []uint32, rng *rand.Rand) {
	t.Helper()
	n := len(docIDs)
	enc := c.AppendList(nil, docIDs)
	l, err := codec.OpenRegressionList(c, enc, n)
	if err != nil || l.Len() != n {
		t.Fatalf("%s: %d DocIDs, %v", name, l.Len(), err)
	}
	check := func(x uint32) {
		want, _ := slices.BinarySearch(docIDs, x)
		wantDocID := codec.NoBase
		if want < n {
			wantDocID = docIDs[want]
		}
		at, d, err := l.Search(x)
		if err != nil || at != want || d != wantDocID {
			t.Fatalf("%s: Search(%d) = %d, %d, %v; want %d, %d", name, x, at, d, err, want, wantDocID)
		}
		lo, hi := want-rng.IntN(want+1), want+rng.IntN(n-want+1)
		if at, d, err := l.SearchIn(lo, hi, x); err != nil || at != want || d != wantDocID {
			t.Fatalf("%s: SearchIn(%d, %d, %d) = %d, %d, %v; want %d, %d", name, lo, hi, x, at, d, err, want, wantDocID)
		}
	}
	for _, x := range []uint32{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 2, 1<<32 - 1} {
		check(x)
	}
	step := 1 + n/400
	for i := 0; i < n; i += step {
		check(docIDs[i])
		check(docIDs[i] + 1)
		check(docIDs[i] - 1)
		check(rng.Uint32())
		if d, err := l.DocIDAt(i); err != nil || d != docIDs[i] {
			t.Fatalf("%s: DocIDAt(%d) = %d, %v; want %d", name, i, d, err, docIDs[i])
		}
	}
}

func TestRegressionSearchIsContracted(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 10))
	docIDs := searchedList(rng, 100000, 40, false)
	most := map[codec.Scheme]float64{codec.LRC: 9, codec.LRCSeg: 9, codec.SegLRC: 6.5, codec.HSLRC: 7}
	for _, s := range regressionSchemes {
		c := codec.Regression{Scheme: s}
		l, err := codec.OpenRegressionList(c, c.AppendList(nil, docIDs), len(docIDs))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range docIDs {
			if _, _, err := l.Search(x); err != nil {
				t.Fatal(err)
			}
		}
		n := float64(len(docIDs))
		if got := float64(l.Elements) / n; got > most[s] {
			t.Errorf("%s: %.2f DocIDs decoded a search, at most %.1f expected", c.Name(), got, most[s])
		}
		if got := float64(l.Heads) / n; got > 5 { // without contraction log2(100000/256) = 8.6
			t.Errorf("%s: %.2f heads read a search", c.Name(), got)
		}
	}
}

func TestRegressionSearchDoesNotAllocate(t *testing.T) {
	docIDs := searchedList(rand.New(rand.NewPCG(11, 12)), 5000, 40, false)
	for _, c := range regressions() {
		enc := c.AppendList(nil, docIDs)
		var l codec.RegressionList
		if got := testing.AllocsPerRun(20, func() {
			_ = l.Reset(c, enc, len(docIDs))
			_, _, _ = l.Search(100000)
			_, _ = l.DocIDAt(4000)
		}); got != 0 {
			t.Errorf("%s: %v allocations to search", c.Name(), got)
		}
	}
}

// Checksums are from amd64: bytes do not depend on floating-point arithmetic.
func TestRegressionIsTheSameEverywhere(t *testing.T) {
	want := map[string]uint32{
		"lrc":                                0x231d354d,
		"lrc:segment=16,exceptions=0.1":      0x0b825d27,
		"lrc:segment=1024,exceptions=0.6":    0xbbac340a,
		"lrc:segment=64,exceptions=best":     0x5fdf9806,
		"lrcseg":                             0xe8ba18dc,
		"lrcseg:segment=16,exceptions=0.1":   0xd733553a,
		"lrcseg:segment=1024,exceptions=0.6": 0xd5c10767,
		"lrcseg:segment=64,exceptions=best":  0x6c2175dd,
		"seglrc":                             0x30d33c00,
		"seglrc:segment=16,exceptions=0.1":   0x7fc75f6e,
		"seglrc:segment=1024,exceptions=0.6": 0x5a40cda4,
		"seglrc:segment=64,exceptions=best":  0xb53c7f50,
		"hs-lrc":                             0xfc10da76,
		"hs-lrc:bucket=16,exceptions=0.1":    0xc43c0725,
		"hs-lrc:bucket=1024,exceptions=0.6":  0xd381ae7d,
		"hs-lrc:bucket=64,exceptions=best":   0x0686ae17,
	}
	for _, c := range regressions() {
		rng := rand.New(rand.NewPCG(21, 22))
		sum := uint32(0)
		for _, n := range []int{1, 128, 5000} {
			for _, spread := range []uint64{1, 30, 80000} {
				docIDs := searchedList(rng, n, spread, spread == 30)
				sum = crc32.Update(sum, crc32.IEEETable, c.AppendList(nil, docIDs))
				block, width := c.AppendDocIDs(nil, codec.NoBase, docIDs[:min(n, codec.BlockLen)])
				sum = crc32.Update(sum, crc32.IEEETable, append(block, width))
			}
		}
		if sum != want[c.Name()] {
			t.Errorf("%q: %#08x, want %#08x", c.Name(), sum, want[c.Name()])
		}
	}
}

// A damaged list that decodes does so alike by every method.
func TestRegressionDamage(t *testing.T) {
	rng := rand.New(rand.NewPCG(19, 23))
	decoded := 0
	for _, c := range regressions() {
		for _, n := range []int{100, 700} {
			good := c.AppendList(nil, searchedList(rng, n, 30, n == 100))
			for range 300 {
				list := slices.Clone(good)
				for range 1 + rng.IntN(3) {
					at := rng.IntN(len(list))
					if rng.IntN(2) == 0 {
						at = rng.IntN(min(len(list), 100))
					}
					list[at] ^= 1 << rng.IntN(8)
				}
				if checkDamaged(t, c, slices.Clip(list), n, rng) {
					decoded++
				}
			}
		}
	}
	if decoded == 0 {
		t.Error("nothing could be decoded")
	}
}

func checkDamaged(t *testing.T, c codec.Regression, list []byte, n int, rng *rand.Rand) bool {
	t.Helper()
	all := make([]uint32, n)
	valid := c.DecodeList(all, list) == nil
	var block [codec.BlockLen]uint32
	for i := 0; i*codec.BlockLen < n; i++ {
		size, err := c.DecodeBlock(&block, list, n, i)
		if err != nil && valid || err == nil && valid && !slices.Equal(block[:size], all[i*codec.BlockLen:][:size]) {
			t.Fatalf("%s: block %d differs from the list, or %v", c.Name(), i, err)
		}
		if err != nil {
			continue
		}
		for j, want := range block[:size] {
			if d, err := c.DocIDAt(list, n, i*codec.BlockLen+j); err == nil && d != want || err != nil && valid {
				t.Fatalf("%s: DocIDAt(%d) = %d, %v; its block has %d", c.Name(), i*codec.BlockLen+j, d, err, want)
			}
		}
	}
	if l, err := codec.OpenRegressionList(c, list, n); err == nil {
		for range 20 {
			x := all[rng.IntN(n)] + rng.Uint32N(3)
			if at, _, err := l.Search(x); err == nil && (at < 0 || at > n) {
				t.Fatalf("%s: Search(%d) = %d of %d", c.Name(), x, at, n)
			}
		}
	}
	return valid
}

func fuzzRegression(f *testing.F, s codec.Scheme) {
	codectest.FuzzDecodeList(f, codec.Regression{Scheme: s, SegmentLen: 64, Exceptions: 0.1})
}

func FuzzLRC(f *testing.F)    { fuzzRegression(f, codec.LRC) }
func FuzzLRCSeg(f *testing.F) { fuzzRegression(f, codec.LRCSeg) }
func FuzzSegLRC(f *testing.F) { fuzzRegression(f, codec.SegLRC) }
func FuzzHSLRC(f *testing.F)  { fuzzRegression(f, codec.HSLRC) }

func FuzzRegressionBlock(f *testing.F) {
	codectest.FuzzDecode(f, codec.Regression{Scheme: codec.SegLRC, Exceptions: 0.1})
}

func FuzzRegressionSearch(f *testing.F) {
	rng := rand.New(rand.NewPCG(13, 14))
	for i, c := range regressions() {
		n := 100 * (i + 1)
		f.Add(uint8(c.Scheme), c.AppendList(nil, searchedList(rng, n, 30, i%2 == 0)), n, uint32(n*10))
	}
	f.Fuzz(func(t *testing.T, scheme uint8, list []byte, n int, x uint32) {
		if n > 1<<14 {
			t.Skip() // limit the memory for docIDs
		}
		c := codec.Regression{Scheme: codec.Scheme(scheme % 4)}
		l, err := codec.OpenRegressionList(c, list, n)
		if err != nil {
			return
		}
		at, d, err := l.Search(x)
		if err == nil && (at < 0 || at > n) {
			t.Fatalf("Search(%d) = %d of %d", x, at, n)
		}
		docIDs := make([]uint32, n)
		if c.DecodeList(docIDs, list) != nil || err != nil {
			return
		}
		if at == n && d != codec.NoBase || at < n && d != docIDs[at] {
			t.Fatalf("Search(%d) = %d, %d; that DocID is %d", x, at, d, docIDs[min(at, n-1)])
		}
	})
}

func BenchmarkRegression(b *testing.B) {
	docIDs := searchedList(rand.New(rand.NewPCG(15, 16)), 1<<18, 40, false)
	dst := make([]uint32, len(docIDs))
	xs := make([]uint32, 1<<12)
	rng := rand.New(rand.NewPCG(17, 18))
	for i := range xs {
		xs[i] = rng.Uint32N(docIDs[len(docIDs)-1])
	}
	for _, s := range regressionSchemes {
		c := codec.Regression{Scheme: s}
		enc := c.AppendList(nil, docIDs)
		rate := func(b *testing.B, n int) {
			b.ReportMetric(float64(b.N)*float64(n)/b.Elapsed().Seconds()/1e9, "Gints/s")
			b.ReportMetric(8*float64(len(enc))/float64(len(docIDs)), "bits/int")
		}
		b.Run("codec="+c.Name()+"/what=list", func(b *testing.B) {
			for b.Loop() {
				if err := c.DecodeList(dst, enc); err != nil {
					b.Fatal(err)
				}
			}
			rate(b, len(docIDs))
		})
		b.Run("codec="+c.Name()+"/what=blocks", func(b *testing.B) {
			var block [codec.BlockLen]uint32
			for b.Loop() {
				for i := range len(docIDs) / codec.BlockLen {
					if _, err := c.DecodeBlock(&block, enc, len(docIDs), i); err != nil {
						b.Fatal(err)
					}
				}
			}
			rate(b, len(docIDs))
		})
		b.Run("codec="+c.Name()+"/what=search", func(b *testing.B) {
			l, err := codec.OpenRegressionList(c, enc, len(docIDs))
			if err != nil {
				b.Fatal(err)
			}
			i := 0
			for b.Loop() {
				if _, _, err := l.Search(xs[i&(len(xs)-1)]); err != nil {
					b.Fatal(err)
				}
				i++
			}
		})
	}
}
