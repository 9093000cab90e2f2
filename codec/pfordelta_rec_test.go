package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestPForDeltaRecWorkedBytes(t *testing.T) {
	freqs := []uint32{2, 1, 6, 2}
	got, width := codec.PForDeltaRec{Exceptions: 0.25, Depth: codec.NoRecursion}.AppendFreqs(nil, freqs)
	if want := []byte{1, 0, 0x0d, 2, 1}; !bytes.Equal(got, want) || width != 1|64 {
		t.Errorf("depth 0: got % x width %#x, want % x width %#x", got, width, want, 1|64)
	}
	// 2 in 2 bits, 1 in one.
	got, width = codec.PForDeltaRec{Exceptions: 0.25}.AppendFreqs(nil, freqs)
	if want := []byte{1, 0x0d, 2, 2, 1, 1}; !bytes.Equal(got, want) || width != 1|64 {
		t.Errorf("depth 1: got % x width %#x, want % x width %#x", got, width, want, 1|64)
	}
}

func TestPForDeltaRecWorkedList(t *testing.T) {
	docIDs := []uint32{1, 3, 4, 30, 32} // gaps minus one 1, 1, 0, 25, 1: 25 = 12<<1 | 1
	c := codec.PForDeltaRec{Exceptions: 0.2, Depth: codec.NoRecursion, Block: 128}
	got := c.AppendList(nil, docIDs)
	want := []byte{
		1, 0, 1, 0, // b, depth, block/128, sizes: one byte each
		1, 0, 0, 0, // exceptions
		0b11011, // slots
		3, 11,   // offset; upper part minus one
	}
	if !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
}

// About one in nine follows a wide gap.
func longList(rng *rand.Rand, n int) []uint32 {
	docIDs := make([]uint32, n)
	d := uint32(0)
	for i := range docIDs {
		d += 1 + rng.Uint32N(16)
		if rng.IntN(9) == 0 {
			d += rng.Uint32N(1 << rng.IntN(13))
		}
		docIDs[i] = d
	}
	return docIDs
}

func TestPForDeltaRecOptions(t *testing.T) {
	for _, c := range []codec.PForDeltaRec{
		{Depth: codec.NoRecursion},
		{Depth: 2, Block: 128},
		{Depth: 4, Block: 256, Exceptions: 0.4},
		{Block: 4096, Exceptions: 1},
		{Exceptions: codec.NoExceptions},
	} {
		t.Run(c.Name(), func(t *testing.T) {
			codectest.RunList(t, c)
			again, err := codec.Lookup(c.Name())
			if err != nil || again.Name() != c.Name() {
				t.Errorf("Lookup: %v, %v", again, err)
			}
		})
	}
	codectest.Run(t, codec.PForDeltaRec{Depth: 4, Exceptions: 0.5})
	for _, spec := range []string{
		"pfordelta-rec:block=64", "pfordelta-rec:block=200", "pfordelta-rec:block=8192",
		"pfordelta-rec:depth=5", "pfordelta-rec:exceptions=best", "pfordelta-rec:exceptions=2",
	} {
		if _, err := codec.Lookup(spec); !errors.Is(err, codec.ErrUnknown) {
			t.Errorf("%s: %v", spec, err)
		}
	}
}

func TestPForDeltaRecDecodesAnyOptions(t *testing.T) {
	docIDs := longList(rand.New(rand.NewPCG(3, 3)), 3000)
	for depth := range 5 {
		for _, block := range []int{128, 512, 1024} {
			c, err := codec.Lookup(fmt.Sprintf("pfordelta-rec:block=%d,depth=%d", block, depth))
			if err != nil {
				t.Fatal(err)
			}
			list := c.(codec.ListCodec).AppendList(nil, docIDs)
			got := make([]uint32, len(docIDs))
			if err := (codec.PForDeltaRec{}).DecodeList(got, list); err != nil || !slices.Equal(got, docIDs) {
				t.Errorf("%s: %v", c.Name(), err)
			}
		}
	}
}

// Damage is in other blocks.
func TestPForDeltaRecBlocksStandAlone(t *testing.T) {
	docIDs := longList(rand.New(rand.NewPCG(4, 4)), 40_000)
	flat := codec.PForDeltaRec{Depth: codec.NoRecursion}.AppendList(nil, docIDs)
	deep := codec.PForDeltaRec{}.AppendList(nil, docIDs)
	if len(deep) >= len(flat) {
		t.Errorf("%d bytes with a level of recursion, %d without", len(deep), len(flat))
	}
	// The last bytes of the list are the upper bits of its last exceptions.
	deep[len(deep)-1] ^= 0xff
	var block [codec.BlockLen]uint32
	for i := range len(docIDs)/codec.BlockLen - 8 {
		n, err := codec.PForDeltaRec{}.DecodeBlock(&block, deep, len(docIDs), i)
		if want := docIDs[i*codec.BlockLen : (i+1)*codec.BlockLen]; err != nil || !slices.Equal(block[:n], want) {
			t.Fatalf("block %d: %v", i, err)
		}
	}
}

func TestPForDeltaRecRefusesBadLists(t *testing.T) {
	docIDs := longList(rand.New(rand.NewPCG(5, 5)), 2000)
	c := codec.PForDeltaRec{Depth: codec.NoRecursion}
	good := c.AppendList(nil, docIDs)
	for name, change := range map[string]func(list []byte){
		"b":                   func(list []byte) { list[0] = 33 },
		"depth":               func(list []byte) { list[1] = 5 },
		"no block":            func(list []byte) { list[2] = 0 },
		"block too large":     func(list []byte) { list[2] = 33 },
		"sizes":               func(list []byte) { list[3] = 0x0f },
		"too many exceptions": func(list []byte) { list[6] = 1 },
		"base of a block":     func(list []byte) { list[8]++ },
		"starts fall":         func(list []byte) { list[8+8+4] = 0 },
		"start beyond":        func(list []byte) { list[8+8+6] = 1 },
	} {
		t.Run(name, func(t *testing.T) {
			list := bytes.Clone(good)
			change(list)
			if err := c.DecodeList(make([]uint32, len(docIDs)), list); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func FuzzPForDeltaRec(f *testing.F) { codectest.FuzzDecode(f, codec.PForDeltaRec{}) }

func FuzzPForDeltaRecDeep(f *testing.F) {
	codectest.FuzzDecode(f, codec.PForDeltaRec{Depth: 4, Exceptions: 0.7})
}

func FuzzPForDeltaRecList(f *testing.F) {
	docIDs := longList(rand.New(rand.NewPCG(7, 7)), 700)
	for depth := 2; depth <= 4; depth++ { // the list stores its depth
		f.Add(codec.PForDeltaRec{Exceptions: 0.7, Depth: depth, Block: 256}.AppendList(nil, docIDs), len(docIDs))
	}
	codectest.FuzzDecodeList(f, codec.PForDeltaRec{})
}

// 100,000 postings by list, block and DocID.
func BenchmarkPForDeltaRec(b *testing.B) {
	docIDs := longList(rand.New(rand.NewPCG(6, 6)), 100_000)
	for _, block := range []int{128, 512} {
		c := codec.PForDeltaRec{Block: block}
		list := c.AppendList(nil, docIDs)
		dst := make([]uint32, len(docIDs))
		b.Run(fmt.Sprintf("block=%d/what=list", block), func(b *testing.B) {
			for b.Loop() {
				if err := c.DecodeList(dst, list); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*float64(len(docIDs))/b.Elapsed().Seconds()/1e9, "Gints/s")
		})
		i := 0
		b.Run(fmt.Sprintf("block=%d/what=block", block), func(b *testing.B) {
			var dst [codec.BlockLen]uint32
			for b.Loop() {
				i = (i + 331) % (len(docIDs) / codec.BlockLen)
				if _, err := c.DecodeBlock(&dst, list, len(docIDs), i); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*codec.BlockLen/b.Elapsed().Seconds()/1e9, "Gints/s")
		})
		b.Run(fmt.Sprintf("block=%d/what=docid", block), func(b *testing.B) {
			for b.Loop() {
				i = (i + 33331) % len(docIDs)
				if _, err := c.DocIDAt(list, len(docIDs), i); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
