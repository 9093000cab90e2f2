package codec_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestNewPFDWorkedBytes(t *testing.T) {
	got, width := codec.NewPFD{Exceptions: 0.25}.AppendFreqs(nil, []uint32{2, 1, 6, 2})
	if want := []byte{0x0d, 0, 0x61, 0, 0, 0}; !bytes.Equal(got, want) || width != 1|64 {
		t.Errorf("got % x width %#x, want % x width %#x", got, width, want, 1|64)
	}
}

func TestNewPFDWidestExceptions(t *testing.T) {
	freqs := make([]uint32, codec.BlockLen)
	for i := range freqs {
		freqs[i] = 1
	}
	freqs[77] = 1<<32 - 1
	for _, s := range []codec.Share{0, codec.SmallestSize} {
		enc, width := codec.NewPFD{Exceptions: s}.AppendFreqs(nil, freqs)
		if width != 4|64 {
			t.Errorf("width %#x, want %#x: 32 bits less 28", width, 4|64)
		}
		if f, err := (codec.NewPFD{}).FreqAt(enc, 77, len(freqs), width); err != nil || f != freqs[77] {
			t.Errorf("FreqAt = %d, %v; want %d", f, err, freqs[77])
		}
	}
}

func TestNewPFDRefusesBadExceptions(t *testing.T) {
	const case14 = 14 // two numbers of 14 bits
	for _, tt := range []struct {
		name  string
		width uint8
		src   []byte
	}{
		{"position 4 of 4", 1 | 64, []byte{0, 0, case14 | 4<<4, 0, 0, 0}},
		{"33 bits", 31 | 64, append(make([]byte, 16), 0, case14, 0, 2<<2, 0)},
		{"more exceptions than values", 1 | 64, append([]byte{0, 4}, make([]byte, 64)...)},
		{"width", 32 | 64, make([]byte, 64)},
		{"width bit", 1 | 64 | 128, make([]byte, 64)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var dst [codec.BlockLen]uint32
			if err := (codec.NewPFD{}).DecodeFreqs(&dst, tt.src, 4, tt.width); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: %v", tt.name, err)
			}
		})
	}
}

func TestNewPFDSmallestSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(8, 8))
	for range 60 {
		docIDs, _ := skewedBlock(rng, rng.IntN(9), 1+rng.IntN(12))
		smallest, chosen := sizes(func(s codec.Share) int {
			enc, _ := codec.NewPFD{Exceptions: s}.AppendDocIDs(nil, codec.NoBase, docIDs)
			return len(enc)
		})
		if chosen > smallest {
			t.Errorf("%d bytes, a share gives %d", chosen, smallest)
		}
	}
}

func TestNewPFDOptions(t *testing.T) {
	for _, c := range []codec.NewPFD{
		{Exceptions: codec.NoExceptions},
		{Exceptions: 1},
		{Exceptions: codec.SmallestSize, Segment: 64},
		{Exceptions: 0.4, Segment: 32},
	} {
		codectest.Run(t, c)
	}
}

func FuzzNewPFD(f *testing.F) { codectest.FuzzDecode(f, codec.NewPFD{}) }

func FuzzNewPFDSegments(f *testing.F) { codectest.FuzzDecode(f, codec.NewPFD{Segment: 32}) }
