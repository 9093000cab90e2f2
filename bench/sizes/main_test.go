package main

import (
	"context"
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

// With raw each DocID and each frequency takes 32 bits; simdbp takes one bit
// for gaps of 1 or 2, and none for frequencies of 1.
func TestMeasure(t *testing.T) {
	short, long := []uint32{5, 7}, make([]uint32, least[0])
	for i := range long {
		long[i] = uint32(3*i/2) + 1
	}
	docIDs := [][]uint32{short, long}
	freqs := [][]uint32{{1, 1}, slices.Repeat([]uint32{1}, least[0])}
	raw, err := measure(context.Background(), codec.Raw{}, docIDs, freqs)
	if err != nil {
		t.Fatal(err)
	}
	if want := (Size{Codec: "raw", DocIDs: 32, Freqs: 32, Both: 64, Ratio: [3]float64{1}}); raw != want {
		t.Errorf("raw: %+v, want %+v", raw, want)
	}
	packed, err := measure(context.Background(), codec.SIMDBP{}, docIDs, freqs)
	if err != nil {
		t.Fatal(err)
	}
	if packed.Ratio[0] != 32 || packed.Freqs != 0 || packed.DocIDs <= 1 {
		t.Errorf("simdbp: %+v", packed)
	}
}

func TestRunSaysWhatIsWrong(t *testing.T) {
	if err := run(context.Background(), nil); err == nil {
		t.Error("no error without an index")
	}
	if err := run(context.Background(), []string{t.TempDir()}); err == nil {
		t.Error("no error for a folder that is not an index")
	}
}
