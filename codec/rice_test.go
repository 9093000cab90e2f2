package codec_test

import (
	"bytes"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/codec/codectest"
)

func TestRiceWorkedBytes(t *testing.T) {
	got, width := codec.Rice{}.AppendDocIDs(nil, codec.NoBase, []uint32{5, 7, 16})
	if want := []byte{0x45, 0x06}; !bytes.Equal(got, want) || width != 2 {
		t.Errorf("got % x width %d, want % x width 2", got, width, want)
	}
}

func FuzzRice(f *testing.F) { codectest.FuzzDecode(f, codec.Rice{}) }
