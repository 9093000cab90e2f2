package codec_test

import (
	"fmt"
	"log"

	"github.com/griffin-search/griffin/codec"
)

func ExampleEF_DocIDAt() {
	docIDs := []uint32{5, 7, 10, 18, 22, 38}
	block, width := codec.EF{}.AppendDocIDs(nil, codec.NoBase, docIDs)
	fmt.Println(len(block), "bytes,", width-1, "low bits")
	d, err := codec.EF{}.DocIDAt(block, codec.NoBase, 4, len(docIDs), width)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output:
	// 4 bytes, 2 low bits
	// 22
}

// A list codec decodes any part of a list.
func ExamplePEF() {
	docIDs := make([]uint32, 1000)
	for i := range docIDs {
		docIDs[i] = uint32(i) // a run, then every fourth
		if i >= 600 {
			docIDs[i] = uint32(600 + 4*(i-600))
		}
	}
	list := codec.PEF{}.AppendList(nil, docIDs)
	fmt.Println(len(list), "bytes")
	var block [codec.BlockLen]uint32
	n, err := codec.PEF{}.DecodeBlock(&block, list, len(docIDs), 7)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(n, block[:3])
	d, err := codec.PEF{}.DocIDAt(list, len(docIDs), 601)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(d)
	// Output:
	// 194 bytes
	// 104 [1784 1788 1792]
	// 604
}
