package codec_test

import (
	"fmt"
	"log"

	"github.com/griffin-search/griffin/codec"
)

// Parameters affect encoding only.
func ExampleLookup() {
	docIDs := make([]uint32, 0, codec.BlockLen)
	for i := range uint32(codec.BlockLen) {
		docIDs = append(docIDs, 8*i+i%8+i/16*1000) // a wide gap after each 16
	}
	for _, name := range []string{"simdbp", "pfordelta", "pfordelta:exceptions=0", "newpfd:exceptions=best"} {
		c, err := codec.Lookup(name)
		if err != nil {
			log.Fatal(err)
		}
		block, width := c.AppendDocIDs(nil, codec.NoBase, docIDs)
		fmt.Println(c.Name(), len(block), "bytes, width byte", width)
	}
	// Output:
	// simdbp 160 bytes, width byte 10
	// pfordelta 80 bytes, width byte 132
	// pfordelta:exceptions=0 160 bytes, width byte 10
	// newpfd:exceptions=best 77 bytes, width byte 68
}

// A list codec decodes any block of a list, or one DocID.
func ExampleListCodec() {
	docIDs := make([]uint32, 0, 10_000)
	for i := range uint32(10_000) {
		docIDs = append(docIDs, 20*i+i*i%20)
	}
	var c codec.ListCodec = codec.PForDeltaRec{}
	list := c.AppendList(nil, docIDs)

	var block [codec.BlockLen]uint32
	n, err := c.DecodeBlock(&block, list, len(docIDs), 78)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, "DocIDs from", block[0], "on")
	docID, err := c.DocIDAt(list, len(docIDs), 9_999)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the last is", docID)
	// Output:
	// 16 DocIDs from 199696 on
	// the last is 199981
}
