package codec_test

import (
	"bytes"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestPEFWorkedBytes(t *testing.T) {
	got := codec.PEF{}.AppendList(nil, []uint32{5, 7, 10, 18, 22, 38})
	want := []byte{0x01, 0x08, 0x03, 0x06, 0x05, 0x01, 0x01, 0x09, 0x46, 0x23, 0xc9, 0x5a, 0x05}
	if !bytes.Equal(got, want) {
		t.Errorf("got % x, want % x", got, want)
	}
}

// FuzzEF covers the blocks.
func FuzzPEF(f *testing.F) {
	// Many partitions, in two groups.
	var docIDs []uint32
	d := uint32(3)
	for i := range 150 {
		for range 9 + i%12 {
			docIDs = append(docIDs, d)
			d++
		}
		d += 5000 + uint32(i)*37
	}
	f.Add(codec.PEF{}.AppendList(nil, docIDs), len(docIDs))
	codectest.FuzzDecodeList(f, codec.PEF{})
}
