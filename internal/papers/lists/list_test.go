package lists

import (
	"slices"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/index/indextest"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/postings"
)

// Every codec gives the postings of the original list, block by block.
func TestList(t *testing.T) {
	ix := plantest.FrequentIndex(t, codec.Default, 3000)
	snapshot := indextest.Snapshot(t, ix)
	for _, name := range codec.Names() {
		t.Run(name, func(t *testing.T) {
			c, err := codec.Lookup(name)
			if err != nil {
				t.Fatal(err)
			}
			for _, term := range []string{"w0", "w1", "w2", "w3"} {
				var l postings.List
				if found, err := snapshot.Segments[0].Find(0, []byte(term), &l); !found || err != nil {
					t.Fatal(found, err)
				}
				check(t, &l, c)
			}
		})
	}
}

func check(t *testing.T, l *postings.List, c codec.Codec) {
	t.Helper()
	list, err := New(l, c)
	if err != nil {
		t.Fatal(err)
	}
	for i, b := range list.Bytes() {
		if got := byte(list.Payload[i/4] >> (i % 4 * 8)); got != b {
			t.Fatalf("byte %d is %d, in its word %d", i, b, got)
		}
	}
	if n, want := list.SizeBytes(), 4*int64(len(list.Payload)+len(list.Directory)+len(list.Freqs)+len(list.FreqDirectory)); littleEndian && n != want {
		t.Errorf("%d bytes, want %d: bytes and words share memory", n, want)
	}
	var cursor postings.Cursor
	cursor.Reset(l, nil)
	for i := 0; cursor.NextBlock() != base.NoDocID; i++ {
		var block [codec.BlockLen]uint32
		n, err := list.DecodeBlock(i, &block)
		if err != nil || !slices.Equal(block[:n], cursor.BlockDocIDs()) {
			t.Fatalf("block %d: %v, %v, want %v", i, block[:n], err, cursor.BlockDocIDs())
		}
		if list.First(i) != block[0] || list.Last(i) != block[n-1] {
			t.Errorf("block %d is from %d to %d", i, list.First(i), list.Last(i))
		}
		for j, want := range cursor.BlockFreqs() {
			if got, err := list.Freq(i*codec.BlockLen + j); err != nil || got != want {
				t.Fatalf("frequency of posting %d: %d, %v, want %d", i*codec.BlockLen+j, got, err, want)
			}
			if found := list.FindBlock(0, block[j]); found != i {
				t.Fatalf("DocID %d is in block %d, not %d", block[j], i, found)
			}
		}
	}
	if end := list.FindBlock(0, list.Last(list.NumBlocks()-1)+1); end != list.NumBlocks() {
		t.Errorf("block %d of %d has a DocID behind the last", end, list.NumBlocks())
	}
}
