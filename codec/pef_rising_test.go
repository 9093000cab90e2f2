package codec_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/griffin-search/griffin/codec"
)

// A changed bit is rejected or leaves increasing DocIDs, both in a partition that is read
// without checks for the end of data and in a shorter one.
func TestPEFChangedBits(t *testing.T) {
	for _, n := range []int{6, 8, 100} {
		t.Run(fmt.Sprintf("n=%d", n), func(t *testing.T) {
			var docIDs []uint32
			for i := range n { // pairs with the same high part
				docIDs = append(docIDs, uint32(5+40*(i/2)+3*(i%2)))
			}
			list := codec.PEF{}.AppendList(nil, docIDs)
			refused := 0
			for bit := range 8 * len(list) {
				list[bit/8] ^= 1 << (bit % 8)
				got := make([]uint32, n)
				err := codec.PEF{}.DecodeList(got, list)
				list[bit/8] ^= 1 << (bit % 8)
				switch {
				case errors.Is(err, codec.ErrCorrupt):
					refused++
				case err != nil:
					t.Errorf("bit %d: %v", bit, err)
				default:
					for i := 1; i < n; i++ {
						if got[i] <= got[i-1] {
							t.Fatalf("bit %d: DocID %d after %d", bit, got[i], got[i-1])
						}
					}
				}
			}
			if refused == 0 {
				t.Error("no change was refused")
			}
		})
	}
}
