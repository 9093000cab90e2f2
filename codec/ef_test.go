package codec_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestEFWorkedBytes(t *testing.T) {
	got, width := codec.EF{}.AppendDocIDs(nil, codec.NoBase, []uint32{5, 7, 10, 18, 22, 38})
	if want := []byte{0xc9, 0x66, 0x15, 0x02}; !bytes.Equal(got, want) || width != 3 {
		t.Errorf("got % x width %d, want % x width 3", got, width, want)
	}
	run := make([]uint32, codec.BlockLen)
	for i := range run {
		run[i] = 1000 + uint32(i)
	}
	if got, width := (codec.EF{}).AppendDocIDs(nil, 999, run); len(got) != 0 || width != 0 {
		t.Errorf("a run takes %d bytes at width %d", len(got), width)
	}
}

// Figure 4 of the paper: 12 low bits and 14 others. Here the index is subtracted: the last
// value is 28, not 33, which leaves 13.
func TestEFPaperSize(t *testing.T) {
	if got, _ := (codec.EF{}).AppendDocIDs(nil, codec.NoBase, []uint32{5, 6, 8, 15, 18, 33}); len(got) != 4 {
		t.Errorf("%d bytes, want 4 for 25 bits", len(got))
	}
}

// Figure 4 of the paper is the plain code: 12 low bits and 14 others.
func TestEFPlainFigure4(t *testing.T) {
	c := codec.EF{Plain: true}
	docIDs := []uint32{5, 6, 8, 15, 18, 33}
	got, width := c.AppendDocIDs(nil, codec.NoBase, docIDs)
	if want := []byte{0xc9, 0x66, 0x15, 0x02}; !bytes.Equal(got, want) || width != 3 {
		t.Errorf("got % x width %d, want % x width 3", got, width, want)
	}
	for i, want := range docIDs {
		if d, err := c.DocIDAt(got, codec.NoBase, i, len(docIDs), width); err != nil || d != want {
			t.Errorf("DocID %d is %d, %v; want %d", i, d, err, want)
		}
	}
}

// A run of DocIDs takes two bits each, and only one DocID takes no byte.
func TestEFPlainRun(t *testing.T) {
	c := codec.EF{Plain: true}
	run := make([]uint32, codec.BlockLen)
	for i := range run {
		run[i] = 1000 + uint32(i)
	}
	got, width := c.AppendDocIDs(nil, 999, run)
	if len(got) != codec.BlockLen/4 || width != 1 {
		t.Errorf("a run takes %d bytes at width %d", len(got), width)
	}
	if got, width := c.AppendDocIDs(nil, 999, run[:1]); len(got) != 0 || width != 0 {
		t.Errorf("one DocID takes %d bytes at width %d", len(got), width)
	}
	var dst [codec.BlockLen]uint32
	for n, ok := range map[int]bool{1: true, 2: false, codec.BlockLen: false} {
		if _, err := c.DecodeDocIDs(&dst, nil, 999, n, 0); (err == nil) != ok || ok && dst[0] != 1000 {
			t.Errorf("%d DocIDs of width 0: %v", n, err)
		}
		if _, err := c.DocIDAt(nil, 999, 0, n, 0); (err == nil) != ok {
			t.Errorf("DocID 0 of %d of width 0: %v", n, err)
		}
	}
}

func TestEFPlain(t *testing.T) { codectest.Run(t, codec.EF{Plain: true}) }

func TestEFFreqForms(t *testing.T) {
	block := func(fill uint32, others map[int]uint32) []uint32 {
		f := slices.Repeat([]uint32{fill}, codec.BlockLen)
		for i, v := range others {
			f[i] = v
		}
		return f
	}
	for _, tt := range []struct {
		name   string
		freqs  []uint32
		size   int
		lo, hi uint8
	}{
		{"ones", block(1, nil), 0, 0, 0},
		{"excess", block(1, map[int]uint32{7: 3, 99: 2}), 3, 131, 131}, // 5 low bits each, and 3 + 99/32
		{"packed", block(2, map[int]uint32{0: 1}), 16, 33, 33},
		{"sums", block(1, map[int]uint32{3: 90, 77: 60}), 35, 1, 1}, // 128 + 148 bits
		{"past 2^32", block(1<<31, nil), 16 * 31, 63, 63},
		{"one", []uint32{9}, 1, 36, 36}, // packed in 4 bits is no larger than sums
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, width := codec.EF{}.AppendFreqs(nil, tt.freqs)
			if len(got) != tt.size || width < tt.lo || width > tt.hi {
				t.Errorf("%s: %d bytes, width %d; want %d, width %d to %d", tt.name, len(got), width, tt.size, tt.lo, tt.hi)
			}
		})
	}
}

func TestEFDocIDAt(t *testing.T) {
	for _, c := range []codec.EF{{}, {Plain: true}} {
		t.Run(c.Name(), func(t *testing.T) { testEFDocIDAt(t, c) })
	}
}

func testEFDocIDAt(t *testing.T, c codec.EF) {
	rng := rand.New(rand.NewPCG(5, 5))
	for range 3000 {
		n := 1 + rng.IntN(codec.BlockLen)
		base := rng.Uint32N(1 << 20)
		docIDs := make([]uint32, n)
		d, spread := base, uint32(1)<<rng.IntN(20)
		for i := range docIDs {
			d += 1 + rng.Uint32N(spread)
			docIDs[i] = d
		}
		src, width := c.AppendDocIDs(nil, base, docIDs)
		for i, want := range docIDs {
			if got, err := c.DocIDAt(src, base, i, n, width); err != nil || got != want {
				t.Fatalf("n=%d width=%d: DocIDAt(%d) = %d, %v; want %d", n, width, i, got, err, want)
			}
		}
		if _, err := c.DocIDAt(nil, base, 0, -1, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("DocIDAt(0 of -1): %v", err)
		}
		for _, i := range []int{-1, n} {
			if _, err := c.DocIDAt(src, base, i, n, width); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("DocIDAt(%d of %d): %v", i, n, err)
			}
		}
	}
}

func FuzzEF(f *testing.F)      { codectest.FuzzDecode(f, codec.EF{}) }
func FuzzEFPlain(f *testing.F) { codectest.FuzzDecode(f, codec.EF{Plain: true}) }

func FuzzEFDocIDAt(f *testing.F) {
	src, width := codec.EF{}.AppendDocIDs(nil, 9, []uint32{10, 14, 900, 4000})
	f.Add(src, uint32(9), 4, width, false)
	f.Add(src, uint32(9), 4, width, true)
	f.Fuzz(func(t *testing.T, src []byte, base uint32, n int, width uint8, plain bool) {
		c := codec.EF{Plain: plain}
		var dst [codec.BlockLen]uint32
		_, err := c.DecodeDocIDs(&dst, src, base, n, width)
		for i := range max(0, min(n, codec.BlockLen)) {
			d, oneErr := c.DocIDAt(src, base, i, n, width)
			if oneErr != nil && !errors.Is(oneErr, codec.ErrCorrupt) {
				t.Fatalf("unexpected kind of error: %v", oneErr)
			}
			if err == nil && (oneErr != nil || d != dst[i]) {
				t.Fatalf("DocIDAt(%d) = %d, %v; DecodeDocIDs returns %d", i, d, oneErr, dst[i])
			}
		}
	})
}
