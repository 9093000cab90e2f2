package traverse

import (
	"testing"

	"github.com/griffin-search/griffin/codec"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/postings/postingstest"
	"github.com/griffin-search/griffin/internal/score"
)

// cutList is a list of the DocIDs 0, 2, ... 598 in codec.Raw, whose last block of 44 has the
// given number of bytes.
func cutList(t *testing.T, size int) *postings.List {
	t.Helper()
	const numPostings, lastSize = 300, 44
	list := make([]postingstest.Posting, numPostings)
	for i := range list {
		list[i] = postingstest.Posting{DocID: uint32(2 * i), Freq: 1}
	}
	sat := score.Saturation{BM25: score.DefaultBM25, AvgLen: 1}
	x := postingstest.Write(t, postings.Options{Codec: codec.Raw{}, Saturation: sat}, make([]uint32, 2*numPostings), 128, list)
	// DocIDs of the last block replace its frequencies, the end of the payload, in part.
	m := &x.Metas[0]
	payload := x.Postings[:m.Offset+m.Length-16*uint64(m.NumBlocks())]
	docIDs := payload[len(payload)-2*4*lastSize:][:4*lastSize]
	copy(payload[len(payload)-size:], docIDs)
	l := x.Open(t, 0)
	l.Block(2).Offset = uint32(len(payload)) - uint32(m.Offset) - uint32(size)
	return l
}

// TestRawLimits has blocks that end exactly behind the DocIDs to read, or a byte before.
func TestRawLimits(t *testing.T) {
	const size = 4 * 44
	whole := &contracted{by: byHash}
	for _, tt := range []struct {
		name  string
		bytes int
		ok    bool
	}{{"whole", size, true}, {"cut", size - 1, false}} {
		t.Run("searchRaw "+tt.name, func(t *testing.T) {
			c := &contractedLeg{list: cutList(t, tt.bytes), access: byRaw}
			at, found, err := whole.searchRaw(c, 290, 299, 591)
			if (err == nil) != tt.ok || tt.ok && (at != 296 || found != 592) {
				t.Errorf("%d at %d, error %v, want ok %t and 592 at 296", found, at, err, tt.ok)
			}
		})
	}
	for _, tt := range []struct {
		name  string
		bytes int
		ok    bool
	}{{"behind the DocID", 4 * 11, true}, {"cut", 4*11 - 1, false}, {"before the DocID", 4 * 10, false}} {
		t.Run("docIDAt "+tt.name, func(t *testing.T) {
			c := &contractedLeg{list: cutList(t, tt.bytes), access: byRaw}
			d, err := whole.docIDAt(c, 256+10)
			if (err == nil) != tt.ok || tt.ok && d != 2*(256+10) {
				t.Errorf("DocID %d, error %v, want ok %t and %d", d, err, tt.ok, 2*(256+10))
			}
		})
	}
	t.Run("beyond the list", func(t *testing.T) {
		c := &contractedLeg{list: cutList(t, size), access: byRaw}
		c.list.Block(2).Offset = 1 << 20
		_, want := c.list.BlockBytes(2)
		if _, err := whole.docIDAt(c, 299); err == nil || want == nil || err.Error() != want.Error() {
			t.Errorf("docIDAt: error %v, want %v", err, want)
		}
		if _, _, err := whole.searchRaw(c, 290, 299, 591); err == nil || err.Error() != want.Error() {
			t.Errorf("searchRaw: error %v, want %v", err, want)
		}
	})
}

// TestRangeBytes compares with sizes by hand. A list has either a bound and a number for each
// range with postings and the starts of the superblocks, or, if these are not smaller, a bound for
// each range.
func TestRangeBytes(t *testing.T) {
	for _, tt := range []struct {
		name                      string
		docFreq, maxFreq, numDocs int
		bounds, copied            int64
	}{
		{"one document", 1, 1, 1, 1 + 64, 2*1 + 2*65 + 4},
		{"sparse", 1, 1, 2048, 1 + 2 + 8, 2*1 + 2*2 + 4},
		{"last sparse", 27, 1, 2048, 1 + 2*27 + 8, 2*27 + 2*28 + 4},
		{"first dense", 28, 1, 2048, 1 + 64, 2*28 + 2*65 + 4},
		{"last of the range", 26, 1, 2048 - 32, 1 + 2*26 + 8, 2*26 + 2*27 + 4},
		{"another range", 27, 1, 2048 - 31, 1 + 2*27 + 8, 2*27 + 2*28 + 4},
		{"another superblock", 1, 1, 2049, 2 + 2 + 12, 2*1 + 2*2 + 4},
		{"all", 2048, 255, 2048, 1 + 64, 2*2048 + 2*65 + 4},
		{"two bytes", 2048, 256, 2048, 1 + 64, 3*2048 + 2*65 + 4},
		{"two bytes at most", 2048, 65535, 2048, 1 + 64, 3*2048 + 2*65 + 4},
		{"no copy", 2048, 65536, 2048, 1 + 64, 0},
		{"16 superblocks", 3, 1, 16 * 2048, 16 + 6 + 4*17, 2*3 + 2*4 + 4},
		{"17 superblocks", 3, 1, 16*2048 + 1, 17 + 6 + 4*18, 2*3 + 2*4 + 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			bounds, copied := rangeBytes(tt.docFreq, uint32(tt.maxFreq), tt.numDocs)
			if bounds != tt.bounds || copied != tt.copied {
				t.Errorf("%d and %d bytes, want %d and %d", bounds, copied, tt.bounds, tt.copied)
			}
		})
	}
}
