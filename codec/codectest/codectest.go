package codectest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

// Run checks the contract of codec.Codec: blocks decode again from exactly the bytes written,
// encoding is deterministic, and decoding does not allocate or access other bytes.
func Run(t *testing.T, c codec.Codec) {
	t.Run("round trip", func(t *testing.T) { testRoundTrip(t, c) })
	t.Run("truncated", func(t *testing.T) { testTruncated(t, c) })
	t.Run("fenced", func(t *testing.T) { testFenced(t, c) })
	t.Run("bad arguments", func(t *testing.T) { testBadArguments(t, c) })
	t.Run("allocations", func(t *testing.T) { testAllocations(t, c) })
}

type block struct {
	name         string
	base         uint32
	docIDs, freq []uint32
}

// blocks have critical lengths, every width of gap and frequency, mixed widths (exceptions),
// and runs up to the last DocID.
func blocks() []block {
	rng := rand.New(rand.NewPCG(1, 2))
	var out []block
	lengths := []int{1, 2, 3, 7, 8, 31, 32, 33, 63, 64, 65, 127, 128}
	for _, n := range lengths {
		for width := range 33 {
			for _, base := range []uint32{codec.NoBase, 0, 1 << 20} {
				out = append(out, makeBlock(fmt.Sprintf("n=%d/width=%d/base=%d", n, width, base), base, n, func(i int) (gap, freq uint64) {
					gap = rng.Uint64() & (1<<width - 1)
					if i == n/2 && width > 0 {
						gap |= 1 << (width - 1)
					}
					return gap, rng.Uint64() & (1<<width - 1)
				}))
			}
		}
	}
	for _, n := range lengths {
		for _, few := range []int{2, 9, 40} { // one value in few is wide
			for _, narrow := range []int{0, 3, 12} {
				value := func() uint64 {
					if rng.IntN(few) == 0 {
						return rng.Uint64() >> (33 + rng.IntN(20))
					}
					return rng.Uint64() & (1<<narrow - 1)
				}
				out = append(out, makeBlock(fmt.Sprintf("n=%d/narrow=%d/few=%d", n, narrow, few), 1<<31, n, func(int) (gap, freq uint64) {
					return value() >> 3, value()
				}))
			}
		}
		out = append(out, makeBlock(fmt.Sprintf("n=%d/last", n), codec.NoBase-1-uint32(n), n, func(i int) (gap, freq uint64) {
			return 0, uint64(i)
		}))
	}
	return out
}

// Gaps minus one are reduced to keep DocIDs below NoBase.
func makeBlock(name string, base uint32, n int, posting func(i int) (gap, freq uint64)) block {
	b := block{name: name, base: base}
	d := uint64(base + 1)
	for i := range n {
		gap, freq := posting(i)
		d += min(gap, uint64(codec.NoBase)-uint64(n-i)-d)
		b.docIDs = append(b.docIDs, uint32(d))
		d++
		b.freq = append(b.freq, uint32(max(1, freq)))
	}
	return b
}

const canary = 0xA5

// guarded returns src between canary bytes, in the whole slice, which show an access
// outside of it.
func guarded(src []byte) (whole, inner []byte) {
	whole = bytes.Repeat([]byte{canary}, len(src)+64)
	copy(whole[32:], src)
	return whole, whole[32 : 32+len(src) : 32+len(src)]
}

func testRoundTrip(t *testing.T, c codec.Codec) {
	for _, b := range blocks() {
		n := len(b.docIDs)
		prefix := []byte("prefix")
		enc, width := c.AppendDocIDs(prefix, b.base, b.docIDs)
		again, widthAgain := c.AppendDocIDs(nil, b.base, b.docIDs)
		if !bytes.Equal(enc[:6], prefix) || !bytes.Equal(enc[6:], again) || width != widthAgain {
			t.Fatalf("%s: AppendDocIDs: not appended, or not deterministic", b.name)
		}
		whole, src := guarded(enc[6:])
		var dst [codec.BlockLen]uint32
		size, err := c.DecodeDocIDs(&dst, src, b.base, n, width)
		if err != nil || size != len(src) || !slices.Equal(dst[:n], b.docIDs) {
			t.Fatalf("%s: DecodeDocIDs: size %d of %d, err %v\n got %v\nwant %v", b.name, size, len(src), err, dst[:n], b.docIDs)
		}
		if size, err = c.DecodeDocIDs(&dst, whole[32:], b.base, n, width); err != nil || size != len(src) || !slices.Equal(dst[:n], b.docIDs) {
			t.Fatalf("%s: DecodeDocIDs with bytes behind: size %d of %d, err %v", b.name, size, len(src), err)
		}

		enc, width = c.AppendFreqs(prefix, b.freq)
		whole, src = guarded(enc[6:])
		if err := c.DecodeFreqs(&dst, src, n, width); err != nil || !slices.Equal(dst[:n], b.freq) {
			t.Fatalf("%s: DecodeFreqs: err %v\n got %v\nwant %v", b.name, err, dst[:n], b.freq)
		}
		if err := c.DecodeFreqs(&dst, whole[32:], n, width); err != nil || !slices.Equal(dst[:n], b.freq) {
			t.Fatalf("%s: DecodeFreqs with bytes behind: err %v", b.name, err)
		}
		for i, want := range b.freq {
			for _, s := range [][]byte{src, whole[32:]} {
				if got, err := c.FreqAt(s, i, n, width); err != nil || got != want {
					t.Fatalf("%s: FreqAt(%d) = %d, %v; want %d", b.name, i, got, err, want)
				}
			}
		}
		for i, x := range whole {
			if (i < 32 || i >= 32+len(src)) && x != canary {
				t.Fatalf("%s: byte %d outside the block was written", b.name, i-32)
			}
		}
	}
}

func testTruncated(t *testing.T, c codec.Codec) {
	for _, b := range blocks() {
		n := len(b.docIDs)
		var dst [codec.BlockLen]uint32
		if enc, width := c.AppendDocIDs(nil, b.base, b.docIDs); len(enc) > 0 {
			_, src := guarded(enc[:len(enc)-1])
			if _, err := c.DecodeDocIDs(&dst, src, b.base, n, width); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%s: DecodeDocIDs of a block without its last byte: %v", b.name, err)
			}
		}
		if enc, width := c.AppendFreqs(nil, b.freq); len(enc) > 0 {
			_, src := guarded(enc[:len(enc)-1])
			if err := c.DecodeFreqs(&dst, src, n, width); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%s: DecodeFreqs of a block without its last byte: %v", b.name, err)
			}
			if _, err := c.FreqAt(src, n-1, n, width); !errors.Is(err, codec.ErrCorrupt) {
				t.Fatalf("%s: FreqAt of the last value without its last byte: %v", b.name, err)
			}
		}
	}
}

func testBadArguments(t *testing.T, c codec.Codec) {
	src := make([]byte, 4096)
	var dst [codec.BlockLen]uint32
	for _, base := range []uint32{codec.NoBase, 7, codec.NoBase - 1} { // NoBase is not a DocID
		enc, width := c.AppendDocIDs(nil, base, []uint32{codec.NoBase})
		if _, err := c.DecodeDocIDs(&dst, enc, base, 1, width); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("DecodeDocIDs of NoBase after %d: %v", base, err)
		}
	}
	for _, n := range []int{-1, 0, codec.BlockLen + 1} {
		if _, err := c.DecodeDocIDs(&dst, src, 0, n, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("DecodeDocIDs(n=%d): %v", n, err)
		}
		if err := c.DecodeFreqs(&dst, src, n, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("DecodeFreqs(n=%d): %v", n, err)
		}
		if _, err := c.FreqAt(src, 0, n, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("FreqAt(n=%d): %v", n, err)
		}
	}
	for _, i := range []int{-1, 3, 128} {
		if _, err := c.FreqAt(src, i, 3, 0); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("FreqAt(%d of 3): %v", i, err)
		}
	}
}

func testAllocations(t *testing.T, c codec.Codec) {
	for i, b := range blocks() {
		if i%41 != 0 {
			continue
		}
		n := len(b.docIDs)
		docs, docWidth := c.AppendDocIDs(nil, b.base, b.docIDs)
		freqs, freqWidth := c.AppendFreqs(nil, b.freq)
		var dst [codec.BlockLen]uint32
		if got := testing.AllocsPerRun(20, func() {
			_, _ = c.DecodeDocIDs(&dst, docs, b.base, n, docWidth)
			_ = c.DecodeFreqs(&dst, freqs, n, freqWidth)
			_, _ = c.FreqAt(freqs, n-1, n, freqWidth)
		}); got != 0 {
			t.Errorf("%s: %v allocations to decode a block", b.name, got)
		}
	}
}
