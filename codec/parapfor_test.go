package codec_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestParaPForWorkedBytes(t *testing.T) {
	freqs := []uint32{2, 1, 6, 2}
	for _, tt := range []struct {
		c     codec.ParaPFor
		want  []byte
		width uint8
	}{
		{codec.ParaPFor{Exceptions: 0.25}, []byte{0x41, 0x00, 0x05, 0x0d, 0x02, 0x02}, 0},
		{codec.ParaPFor{Exceptions: 0.25, Segment: 128}, []byte{0x00, 0x05, 0x0d, 0x02, 0x02}, 0x41},
		{codec.ParaPFor{}, []byte{3, 0x41, 0x03}, 0},
	} {
		if got, width := tt.c.AppendFreqs(nil, freqs); !bytes.Equal(got, tt.want) || width != tt.width {
			t.Errorf("%s: got % x width %#x, want % x width %#x", tt.c.Name(), got, width, tt.want, tt.width)
		}
	}
}

func TestParaPForRefusesBadExceptions(t *testing.T) {
	good := []byte{0x41, 0x01, 0x05, 0x0d, 0x02 | 3<<2, 0x0a} // two exceptions, at 2 and 3
	var dst [codec.BlockLen]uint32
	if err := (codec.ParaPFor{}).DecodeFreqs(&dst, good, 4, 0); err != nil || dst[2] != 6 || dst[3] != 6 {
		t.Fatalf("%v, %v", dst[:4], err)
	}
	for name, change := range map[string]func(src []byte){
		"index twice":       func(src []byte) { src[4] = 2 | 2<<2 },
		"falling":           func(src []byte) { src[4] = 3 | 2<<2 },
		"behind":            func(src []byte) { src[1], src[2], src[4] = 0x80, 0x05, 7 }, // one exception at 7, ib 3
		"33 bits":           func(src []byte) { src[2] = 31<<2 | 1 },
		"more than values":  func(src []byte) { src[1] = 4 },
		"unused header bit": func(src []byte) { src[2] |= 0x80 },
		"width":             func(src []byte) { src[0] = 0x60 },
		"width bit":         func(src []byte) { src[0] |= 0x80 },
	} {
		t.Run(name, func(t *testing.T) {
			src := bytes.Clone(good)
			change(src)
			if err := (codec.ParaPFor{}).DecodeFreqs(&dst, src, 4, 0); !errors.Is(err, codec.ErrCorrupt) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestParaPForSmallestSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for range 60 {
		docIDs, _ := skewedBlock(rng, rng.IntN(9), 1+rng.IntN(12))
		smallest, chosen := sizes(func(s codec.Share) int {
			enc, _ := codec.ParaPFor{Exceptions: s, Segment: 128}.AppendDocIDs(nil, codec.NoBase, docIDs)
			return len(enc)
		})
		if chosen > smallest {
			t.Errorf("%d bytes, a share gives %d", chosen, smallest)
		}
	}
}

func TestParaPForOptions(t *testing.T) {
	for _, c := range []codec.ParaPFor{
		{Exceptions: codec.NoExceptions},
		{Exceptions: 0.6, Segment: 32},
		{Exceptions: 0.1, Segment: 128},
	} {
		codectest.Run(t, c)
	}
	for _, spec := range []string{"parapfor:exceptions=0.7", "parapfor:segment=48", "parapfor:segment=256"} {
		if _, err := codec.Lookup(spec); !errors.Is(err, codec.ErrUnknown) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	for spec, want := range map[string]string{
		"parapfor:segment=64,exceptions=best": "parapfor",
		"parapfor:segment=128,exceptions=0.2": "parapfor:exceptions=0.2,segment=128",
		"newpfd:segment=128":                  "newpfd",
		"pfordelta:segment=32,exceptions=0.1": "pfordelta:segment=32",
	} {
		t.Run(spec, func(t *testing.T) {
			if c, err := codec.Lookup(spec); err != nil || c.Name() != want {
				t.Errorf("%s: %v, %v; want %s", spec, c, err, want)
			}
		})
	}
}

func FuzzParaPFor(f *testing.F) { codectest.FuzzDecode(f, codec.ParaPFor{}) }
