package codec_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestQMXWorkedBytes(t *testing.T) {
	freqs := make([]uint32, 16)
	for i := range freqs {
		freqs[i] = 200
	}
	got, width := codec.QMX{}.AppendFreqs(nil, freqs)
	if want := append([]byte{0x80}, bytes.Repeat([]byte{0xc7}, 16)...); !bytes.Equal(got, want) || width != 33 {
		t.Errorf("got % x width %d, want % x width 33", got, width, want)
	}
}

// Larger values never take fewer bytes.
func TestQMXSize(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		width := rng.IntN(20)
		few := 1 + rng.IntN(20)
		freqs := make([]uint32, codec.BlockLen)
		plainer := make([]uint32, codec.BlockLen)
		for i := range freqs {
			freqs[i] = 1 + rng.Uint32N(1<<width)
			if rng.IntN(few) > 0 {
				freqs[i] = 1
			}
			plainer[i] = max(freqs[i], 1+rng.Uint32N(1<<width))
		}
		size := func(freqs []uint32) int {
			b, _ := codec.QMX{}.AppendFreqs(nil, freqs)
			return len(b)
		}
		if a, b := size(freqs), size(plainer); a > b {
			t.Fatalf("%d bytes for %v, %d for values that are no smaller, %v", a, freqs, b, plainer)
		}
	}
}

func TestQMXRefusesWrap(t *testing.T) {
	docIDs := []uint32{1 << 31, 1<<31 + 1, 1<<31 + 2, 1<<31 + 3, 1<<32 - 2}
	for n := 4; n <= 5; n++ {
		enc, width := codec.QMX{}.AppendDocIDs(nil, 0, docIDs[:n])
		var dst [codec.BlockLen]uint32
		if _, err := (codec.QMX{}).DecodeDocIDs(&dst, enc, 1<<31, n, width); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("%d DocIDs: %v", n, err)
		}
	}
	for _, width := range []uint8{65, 66, 255} {
		var dst [codec.BlockLen]uint32
		if _, err := (codec.QMX{}).DecodeDocIDs(&dst, make([]byte, 400), 0, 128, width); !errors.Is(err, codec.ErrCorrupt) {
			t.Errorf("width %d: %v", width, err)
		}
	}
}

func TestQMXMostSelectors(t *testing.T) {
	const selectors, wide = codec.BlockLen / 4, 14 // the selector of 4 values of 32 bits
	src := bytes.Repeat([]byte{wide << 4}, selectors)
	for i := range codec.BlockLen {
		src = binary.LittleEndian.AppendUint32(src, uint32(1000*i))
	}
	const width = 32 + selectors
	var dst [codec.BlockLen]uint32
	if err := (codec.QMX{}).DecodeFreqs(&dst, src, codec.BlockLen, width); err != nil {
		t.Fatal(err)
	}
	for i, want := range dst {
		if want != uint32(1000*i+1) {
			t.Fatalf("frequency %d is %d", i, want)
		}
		if got, err := (codec.QMX{}).FreqAt(src, i, codec.BlockLen, width); err != nil || got != want {
			t.Fatalf("FreqAt(%d) = %d, %v; want %d", i, got, err, want)
		}
	}
	if _, err := (codec.QMX{}).FreqAt(src, 0, codec.BlockLen, width+1); !errors.Is(err, codec.ErrCorrupt) {
		t.Errorf("one selector more: %v", err)
	}
}

func FuzzQMX(f *testing.F) { codectest.FuzzDecode(f, codec.QMX{}) }
