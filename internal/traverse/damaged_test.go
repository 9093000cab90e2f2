package traverse_test

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/topk"
	"github.com/griffin-search/griffin/internal/traverse"
)

// TestDamagedContractedLists damages the second list, which is searched without decoding blocks.
// All ways to contract the range return the error, with the list.
func TestDamagedContractedLists(t *testing.T) {
	for _, tt := range []struct {
		name, codec string
		damage      func(x *postingstest.Index)
		fine        string // a traversal that does not read the damaged bytes
	}{
		{"frequencies", "raw", func(x *postingstest.Index) { directoryOf(x, 1, 2)[15] = 1 }, ""},
		{"block beyond the list", "raw", func(x *postingstest.Index) {
			binary.LittleEndian.PutUint32(directoryOf(x, 1, 2)[8:], 1<<20)
		}, ""},
		{"block cut off", "raw", func(x *postingstest.Index) {
			entry := directoryOf(x, 1, 2)
			offset := binary.LittleEndian.Uint32(entry[8:])
			binary.LittleEndian.PutUint32(entry[8:], offset+2*4*44-4*43)
		}, ""},
		{"first DocID of a block", "raw", func(x *postingstest.Index) { directoryOf(x, 1, 1)[0] ^= 1 }, "interpolation"},
		{"last DocID beyond the documents", "simdbp", func(x *postingstest.Index) {
			binary.LittleEndian.PutUint32(directoryOf(x, 1, 1)[4:], 1000)
		}, ""},
		{"last DocID as in the block before", "simdbp", func(x *postingstest.Index) {
			copy(directoryOf(x, 1, 1)[4:8], directoryOf(x, 1, 0)[4:8])
		}, ""},
		{"scheme", "lrc", func(x *postingstest.Index) { x.Postings[x.Metas[1].Offset+5] ^= 1 }, ""},
		{"scheme", "hs-lrc", func(x *postingstest.Index) { x.Postings[x.Metas[1].Offset+5] ^= 1 }, ""},
		{"frequencies", "seglrc", func(x *postingstest.Index) { directoryOf(x, 1, 2)[15] = 99 }, ""},
	} {
		t.Run(tt.codec+" "+tt.name, func(t *testing.T) {
			c, err := codec.Lookup(tt.codec)
			if err != nil {
				t.Fatal(err)
			}
			// The last of 300 postings is looked up.
			x := oneSegment(1000, []float64{2, 1}, listOf(598, 1, 1, always(1)), listOf(0, 2, 300, always(1)))
			x.write(t, c)
			tt.damage(x.segments[0].index)
			for _, name := range []string{"interpolation", "linear-regression", "hash-segmentation-16", "hash-segmentation-256"} {
				tr, err := traverse.Lookup(traverse.And, name)
				if err != nil {
					t.Fatal(err)
				}
				var s traverse.Scratch
				var queue topk.Queue
				queue.Reset(1)
				err = tr.Run(t.Context(), &s, &x.queries(t)[0], &queue)
				switch {
				case name == tt.fine:
					if err != nil || queue.Len() != 1 {
						t.Errorf("%s: %d hits, error %v, want 1 hit", name, queue.Len(), err)
					}
				case !errors.Is(err, base.ErrCorrupt) || !strings.Contains(err.Error(), "leg 1: "):
					t.Errorf("%s: error %v, want ErrCorrupt of leg 1", name, err)
				}
			}
		})
	}
}

// directoryOf returns the directory entry of a list's block, of 16 bytes: First, Last, Offset,
// Bound, DocWidth and FreqWidth.
func directoryOf(x *postingstest.Index, list, block int) []byte {
	m := x.Metas[list]
	end := m.Offset + m.Length
	from := end - uint64(m.NumBlocks()-block)*16
	return x.Postings[from : from+16]
}
