package codectest

import (
	"errors"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

// FuzzDecode is the body of a fuzz target: c decodes any bytes to increasing DocIDs and to
// positive frequencies that agree with FreqAt, or returns ErrCorrupt.
func FuzzDecode(f *testing.F, c codec.Codec) {
	for i, b := range blocks() {
		if i%37 != 0 {
			continue
		}
		docs, width := c.AppendDocIDs(nil, b.base, b.docIDs)
		f.Add(docs, b.base, len(b.docIDs), width)
		freqs, width := c.AppendFreqs(nil, b.freq)
		f.Add(freqs, b.base, len(b.freq), width)
	}
	memory := newFence(f, 16*codec.BlockLen)
	f.Fuzz(func(t *testing.T, data []byte, base uint32, n int, width uint8) {
		_, src := guarded(data)
		for _, src := range append(memory.copies(data), src) {
			checkDocIDs(t, c, src, base, n, width)
			checkFreqs(t, c, src, n, width)
		}
	})
}

func checkDocIDs(t *testing.T, c codec.Codec, src []byte, base uint32, n int, width uint8) {
	var dst [codec.BlockLen]uint32
	size, err := c.DecodeDocIDs(&dst, src, base, n, width)
	if err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("DecodeDocIDs: unexpected kind of error: %v", err)
		}
		return
	}
	if size < 0 || size > len(src) {
		t.Fatalf("DecodeDocIDs: size %d of %d bytes", size, len(src))
	}
	least := uint64(base + 1)
	for i, d := range dst[:n] {
		if uint64(d) < least || d == codec.NoBase {
			t.Fatalf("DecodeDocIDs: DocID %d is %d, want at least %d and not %d", i, d, least, codec.NoBase)
		}
		least = uint64(d) + 1
	}
}

func checkFreqs(t *testing.T, c codec.Codec, src []byte, n int, width uint8) {
	var dst [codec.BlockLen]uint32
	if err := c.DecodeFreqs(&dst, src, n, width); err != nil {
		if !errors.Is(err, codec.ErrCorrupt) {
			t.Fatalf("DecodeFreqs: unexpected kind of error: %v", err)
		}
		return
	}
	for i, want := range dst[:n] {
		if want == 0 {
			t.Fatalf("DecodeFreqs: frequency %d is 0", i)
		}
		if got, err := c.FreqAt(src, i, n, width); err != nil || got != want {
			t.Fatalf("FreqAt(%d) = %d, %v; DecodeFreqs returns %d", i, got, err, want)
		}
	}
}
