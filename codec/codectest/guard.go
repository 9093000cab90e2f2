package codectest

import (
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/simd/simdtest"
)

// fence is memory next to pages that cannot be read: one follows atEnd, one precedes
// atStart.
type fence struct{ atEnd, atStart []byte }

func newFence(t testing.TB, most int) fence {
	t.Helper()
	var f fence
	f.atEnd, f.atStart = simdtest.Guarded(t, most)
	return f
}

// copies returns src at the end of atEnd and at the start of atStart, or nil if it does
// not fit.
func (f fence) copies(src []byte) [][]byte {
	n := len(src)
	if n > len(f.atEnd) {
		return nil
	}
	out := [][]byte{f.atEnd[len(f.atEnd)-n:], f.atStart[:n:n]}
	for _, c := range out {
		copy(c, src)
	}
	return out
}

// testFenced decodes whole and truncated blocks in a fence, where a read outside
// crashes.
func testFenced(t *testing.T, c codec.Codec) {
	f := newFence(t, 16*codec.BlockLen)
	var dst [codec.BlockLen]uint32
	for i, b := range blocks() {
		if i%3 != 0 {
			continue // use one of three bases
		}
		n := len(b.docIDs)
		enc, width := c.AppendDocIDs(nil, b.base, b.docIDs)
		for cut := 0; cut <= len(enc); cut += 1 + len(enc)/3 {
			for _, src := range f.copies(enc[:len(enc)-cut]) {
				size, err := c.DecodeDocIDs(&dst, src, b.base, n, width)
				if (err == nil) != (cut == 0) || err == nil && size != len(enc) {
					t.Fatalf("%s: DecodeDocIDs without the last %d bytes: %d, %v", b.name, cut, size, err)
				}
			}
		}
		enc, width = c.AppendFreqs(nil, b.freq)
		for cut := 0; cut <= len(enc); cut += 1 + len(enc)/3 {
			for _, src := range f.copies(enc[:len(enc)-cut]) {
				if err := c.DecodeFreqs(&dst, src, n, width); (err == nil) != (cut == 0) {
					t.Fatalf("%s: DecodeFreqs without the last %d bytes: %v", b.name, cut, err)
				}
				for i := 0; i < n; i += 1 + n/5 {
					_, _ = c.FreqAt(src, i, n, width)
				}
			}
		}
	}
}

func testListFenced(t *testing.T, c codec.ListCodec) {
	f := newFence(t, 1<<16)
	var dst [codec.BlockLen]uint32
	for _, l := range lists() {
		n := len(l.docIDs)
		enc := c.AppendList(nil, l.docIDs)
		whole := make([]uint32, n)
		for _, cut := range []int{0, 1, 9, len(enc) / 2} {
			for _, src := range f.copies(enc[:max(0, len(enc)-cut)]) {
				if err := c.DecodeList(whole, src); (err == nil) != (cut == 0) {
					t.Fatalf("%s: DecodeList without the last %d bytes: %v", l.name, cut, err)
				}
				for i := 0; i*codec.BlockLen < n; i++ {
					_, _ = c.DecodeBlock(&dst, src, n, i)
				}
				for i := 0; i < n; i += 1 + n/20 {
					_, _ = c.DocIDAt(src, n, i)
				}
				_, _ = c.ListSize(src, n)
			}
		}
	}
}
