package codec_test

import (
	"bytes"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestVByteWorkedBytes(t *testing.T) {
	got, width := codec.VByte{}.AppendDocIDs(nil, codec.NoBase, []uint32{5, 7, 308})
	if want := []byte{0x05, 0x01, 0xac, 0x02}; !bytes.Equal(got, want) || width != 0 {
		t.Errorf("got % x width %d, want % x width 0", got, width, want)
	}
}

func FuzzVByte(f *testing.F) { codectest.FuzzDecode(f, codec.VByte{}) }
