package codec_test

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// figure3 holds the d-gaps of griffin18, Figure 3, and the DocIDs that have them as gaps minus
// one.
func figure3() (gaps, docIDs []uint32) {
	gaps = []uint32{21, 42, 9, 13, 29, 68, 18, 47}
	d := codec.NoBase
	for _, g := range gaps {
		d += g + 1
		docIDs = append(docIDs, d)
	}
	return gaps, docIDs
}

func TestPForDeltaWorkedBytes(t *testing.T) {
	_, docIDs := figure3()
	c := codec.PForDelta{Exceptions: 0.4} // three of eight, so that b is 5
	got, width := c.AppendDocIDs(nil, codec.NoBase, docIDs)
	// 21 | 3<<5 | 9<<10 | 13<<15 | 29<<20 | 1<<25 | 18<<30 | 0<<35; first 1, count 3: 42,
	// 68, 47.
	want := []byte{0x75, 0xa4, 0xd6, 0x83, 0x04, 1, 2, 42, 68, 47}
	if !bytes.Equal(got, want) || width != 5|1<<6 {
		t.Errorf("got % x width %#x, want % x width %#x", got, width, want, 5|1<<6)
	}
}

// With b=1, every second value becomes an exception too. These count, so b is 3 unless Plain is
// set.
func TestPForDeltaForcedExceptions(t *testing.T) {
	freqs := []uint32{9, 1, 2, 1, 2, 1, 9, 1, 1, 1}
	for _, tt := range []struct {
		c     codec.PForDelta
		want  []byte
		width uint8
	}{
		// Slots: 5 (next at 6), 0, 1, 0, 1, 0, 0 (the last), 0, 0, 0.
		{codec.PForDelta{Exceptions: 0.2}, []byte{0x45, 0x10, 0, 0, 0, 1, 8, 8}, 3 | 1<<6},
		// Slots from the first exception: 1 (next at 2), 0, 1 (4), 0, 1 (6), 0, 0 (the
		// last), 0, 0, 0.
		{
			codec.PForDelta{Exceptions: 0.2, Plain: true},
			[]byte{0b00010101, 0b00, 0, 3, 8, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0},
			1 | 3<<6,
		},
	} {
		got, width := tt.c.AppendFreqs(nil, freqs)
		if !bytes.Equal(got, tt.want) || width != tt.width {
			t.Errorf("%s: got % x width %#x, want % x width %#x", tt.c.Name(), got, width, tt.want, tt.width)
		}
		for i, f := range freqs {
			if got, err := (codec.PForDelta{}).FreqAt(got, i, len(freqs), width); err != nil || got != f {
				t.Errorf("FreqAt(%d) = %d, %v; want %d", i, got, err, f)
			}
		}
	}
}

func TestPForDeltaRefusesBadLists(t *testing.T) {
	simdtest.EachLevel(t, func(t *testing.T) {
		slots := bytes.Repeat([]byte{0x11}, 64) // each exception links to the second next
		for _, tt := range []struct {
			name         string
			n            int
			first, count byte
			want         error
		}{
			{"to the end", 128, 0, 63, nil},
			{"one more", 128, 0, 64, codec.ErrCorrupt},
			{"from behind", 128, 128, 0, codec.ErrCorrupt},
			{"far behind", 128, 255, 3, codec.ErrCorrupt},
			{"short block", 10, 0, 4, nil},
			{"out of a short block", 10, 0, 5, codec.ErrCorrupt},
			{"more than there are", 10, 0, 10, codec.ErrCorrupt},
		} {
			t.Run(tt.name, func(t *testing.T) {
				src := append(slices.Clone(slots[:tt.n/2]), tt.first, tt.count)
				src = append(src, bytes.Repeat([]byte{7}, int(tt.count)+1)...)
				var dst [codec.BlockLen]uint32
				if _, err := (codec.PForDelta{}).DecodeDocIDs(&dst, src, 5, tt.n, 4|1<<6); !errors.Is(err, tt.want) {
					t.Errorf("%s: DecodeDocIDs: %v", tt.name, err)
				}
				if err := (codec.PForDelta{}).DecodeFreqs(&dst, src, tt.n, 4|1<<6); !errors.Is(err, tt.want) {
					t.Errorf("%s: DecodeFreqs: %v", tt.name, err)
				}
			})
		}
	})
}

func sizes(encode func(s codec.Share) int) (smallest, chosen int) {
	smallest = encode(codec.NoExceptions)
	for share := codec.Share(0.01); share <= 1; share += 0.01 {
		smallest = min(smallest, encode(share))
	}
	return smallest, encode(codec.SmallestSize)
}

func TestPForDeltaSmallestSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 7))
	for range 60 {
		docIDs, _ := skewedBlock(rng, rng.IntN(9), 1+rng.IntN(12))
		smallest, chosen := sizes(func(s codec.Share) int {
			enc, _ := codec.PForDelta{Exceptions: s}.AppendDocIDs(nil, codec.NoBase, docIDs)
			return len(enc)
		})
		if chosen > smallest {
			t.Errorf("%d bytes, a share gives %d", chosen, smallest)
		}
	}
}

func TestPForDeltaShares(t *testing.T) {
	for _, s := range []codec.Share{codec.NoExceptions, 0.02, 0.5, 1, codec.SmallestSize} {
		codectest.Run(t, codec.PForDelta{Exceptions: s})
	}
	codectest.Run(t, codec.PForDelta{Segment: 64})
	codectest.Run(t, codec.PForDelta{Plain: true})
}

func TestShareSpecifications(t *testing.T) {
	for _, tt := range []struct{ spec, want string }{
		{"pfordelta:exceptions=0.1", "pfordelta"},
		{"pfordelta:exceptions=0.25", "pfordelta:exceptions=0.25"},
		{"pfordelta:exceptions=0", "pfordelta:exceptions=0"},
		{"pfordelta:exceptions=best", "pfordelta:exceptions=best"},
		{"pfordelta:plain=1,segment=128", "pfordelta:plain=1"},
	} {
		t.Run(tt.spec, func(t *testing.T) {
			c, err := codec.Lookup(tt.spec)
			if err != nil || c.Name() != tt.want {
				t.Errorf("%s: %v, %v; want %s", tt.spec, c, err, tt.want)
			}
		})
	}
	for _, spec := range []string{"pfordelta:exceptions=1.5", "pfordelta:exceptions=-1", "pfordelta:exceptions=few", "pfordelta:exceptions=NaN", "pfordelta:b=3"} {
		if _, err := codec.Lookup(spec); !errors.Is(err, codec.ErrUnknown) {
			t.Errorf("%s: %v", spec, err)
		}
	}
	if got := (codec.PForDelta{Exceptions: 0.1}).Name(); got != "pfordelta" {
		t.Errorf("the default, given, is named %q", got)
	}
}

func FuzzPForDelta(f *testing.F) { codectest.FuzzDecode(f, codec.PForDelta{}) }

func FuzzPForDeltaSegments(f *testing.F) { codectest.FuzzDecode(f, codec.PForDelta{Segment: 64}) }
