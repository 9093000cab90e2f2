package codec_test

import (
	"fmt"
	"log"

	"github.com/griffin-search/griffin/codec"
)

// Decoding a block needs the width that encoding returned, the number of postings and the
// base.
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

// A RegressionList finds a DocID without decoding the list.
func ExampleRegressionList() {
	var docIDs []uint32
	for i := range uint32(100_000) {
		docIDs = append(docIDs, 50*i+i*i%50)
	}
	c := codec.Regression{Scheme: codec.SegLRC}
	list := c.AppendList(nil, docIDs)
	fmt.Printf("%.1f bits a DocID\n", 8*float64(len(list))/float64(len(docIDs)))

	l, err := codec.OpenRegressionList(c, list, len(docIDs))
	if err != nil {
		log.Fatal(err)
	}
	at, docID, err := l.Search(3_000_000)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(at, docID, "after decoding", l.Elements, "DocIDs and reading", l.Heads, "heads")
	// Output:
	// 6.5 bits a DocID
	// 60000 3000000 after decoding 2 DocIDs and reading 1 heads
}
