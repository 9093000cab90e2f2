package codec_test

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

func TestAllImplementations(t *testing.T) {
	for _, name := range codec.Names() {
		t.Run(name, func(t *testing.T) {
			c, err := codec.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			if c.Name() != name {
				t.Errorf("Lookup(%q).Name() = %q", name, c.Name())
			}
			simdtest.EachLevel(t, func(t *testing.T) {
				codectest.Run(t, c)
				if c, ok := c.(codec.ListCodec); ok {
					t.Run("list", func(t *testing.T) { codectest.RunList(t, c) })
				}
			})
		})
	}
}

func TestLookup(t *testing.T) {
	if _, err := codec.Lookup("no-such"); !errors.Is(err, codec.ErrUnknown) {
		t.Errorf("Lookup of an unknown name: %v", err)
	}
	if _, err := codec.Lookup(codec.Default); err != nil {
		t.Error(err)
	}
}

func TestSIMDBPWorkedBytes(t *testing.T) {
	got, width := codec.SIMDBP{}.AppendDocIDs(nil, codec.NoBase, []uint32{3, 5, 6})
	if want := []byte{0x07}; !bytes.Equal(got, want) || width != 2 {
		t.Errorf("got % x width %d, want % x width 2", got, width, want)
	}
	full := make([]uint32, codec.BlockLen)
	for i := range full {
		full[i] = uint32(i) * 9
	}
	if got, width := (codec.SIMDBP{}).AppendDocIDs(nil, codec.NoBase, full); len(got) != 16*int(width) || width != 4 {
		t.Errorf("a full block takes %d bytes at width %d, want 64 at 4", len(got), width)
	}
}

func TestSIMDBPRefusesWrap(t *testing.T) {
	for width := uint8(1); width <= 32; width++ {
		src := bytes.Repeat([]byte{0xff}, 16*int(width))
		var dst [codec.BlockLen]uint32
		if _, err := (codec.SIMDBP{}).DecodeDocIDs(&dst, src, 1<<32-100, codec.BlockLen, width); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("width %d: %v", width, err)
		}
	}
}

func FuzzRaw(f *testing.F)    { codectest.FuzzDecode(f, codec.Raw{}) }
func FuzzSIMDBP(f *testing.F) { codectest.FuzzDecode(f, codec.SIMDBP{}) }

func BenchmarkDecode(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	for _, name := range codec.Names() {
		c, err := codec.Lookup(name)
		if err != nil {
			b.Fatal(err)
		}
		for _, width := range []int{1, 3, 5, 8, 11, 16} {
			docIDs := make([]uint32, codec.BlockLen)
			freqs := make([]uint32, codec.BlockLen)
			d := uint32(0)
			for i := range docIDs {
				gap := rng.Uint32N(1 << width)
				docIDs[i] = d + gap
				freqs[i] = gap + 1
				d += gap + 1
			}
			docs, docWidth := c.AppendDocIDs(nil, codec.NoBase, docIDs)
			fs, freqWidth := c.AppendFreqs(nil, freqs)
			// Other blocks or the directory follow.
			docs, fs = append(docs, make([]byte, 16)...), append(fs, make([]byte, 16)...)
			var dst [codec.BlockLen]uint32
			report := func(b *testing.B) {
				b.ReportMetric(float64(b.N)*codec.BlockLen/b.Elapsed().Seconds()/1e9, "Gints/s")
			}
			b.Run(fmt.Sprintf("codec=%s/what=docids/width=%d", name, width), func(b *testing.B) {
				for b.Loop() {
					if _, err := c.DecodeDocIDs(&dst, docs, codec.NoBase, codec.BlockLen, docWidth); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
			b.Run(fmt.Sprintf("codec=%s/what=freqs/width=%d", name, width), func(b *testing.B) {
				for b.Loop() {
					if err := c.DecodeFreqs(&dst, fs, codec.BlockLen, freqWidth); err != nil {
						b.Fatal(err)
					}
				}
				report(b)
			})
		}
	}
}
