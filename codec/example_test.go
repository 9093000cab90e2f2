package codec_test

import (
	"fmt"
	"log"

	"github.com/griffin-search/griffin/codec"
)

// A block is decoded with what was returned when it was encoded, its width, and
// what its user keeps of it: how many postings it has, and the base.
func Example() {
	c, err := codec.Lookup(codec.Default)
	if err != nil {
		log.Fatal(err)
	}
	docIDs := []uint32{3, 5, 6, 40}
	block, docWidth := c.AppendDocIDs(nil, codec.NoBase, docIDs)
	block, freqWidth := c.AppendFreqs(block, []uint32{1, 2, 1, 7})
	fmt.Println(len(block), "bytes")

	var dst [codec.BlockLen]uint32
	size, err := c.DecodeDocIDs(&dst, block, codec.NoBase, len(docIDs), docWidth)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(dst[:len(docIDs)])
	freq, err := c.FreqAt(block[size:], 3, len(docIDs), freqWidth)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(freq)
	// Output:
	// 5 bytes
	// [3 5 6 40]
	// 7
}
