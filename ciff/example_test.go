package ciff_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/griffin-search/griffin/ciff"
)

func Example() {
	var file bytes.Buffer
	w, err := ciff.NewWriter(&file, ciff.Header{
		Version:          ciff.Version,
		NumPostingsLists: 1, TotalPostingsLists: 1,
		NumDocs: 2, TotalDocs: 2,
		TotalTermsInCollection: 3, AverageDocLength: 1.5,
		Description: "two documents",
	})
	if err != nil {
		panic(err)
	}
	err = w.WriteList(&ciff.PostingsList{Term: "griffin", Postings: []ciff.Posting{{DocID: 0, TF: 1}, {DocID: 1, TF: 2}}})
	if err != nil {
		panic(err)
	}
	for i, id := range []string{"a.txt", "b.txt"} {
		if err := w.WriteDoc(&ciff.DocRecord{DocID: int32(i), CollectionDocID: id, DocLength: int32(i + 1)}); err != nil {
			panic(err)
		}
	}
	if err := w.Close(); err != nil {
		panic(err)
	}

	r, err := ciff.NewReader(&file)
	if err != nil {
		panic(err)
	}
	fmt.Println(r.Header().Description)
	var list ciff.PostingsList
	for {
		if err := r.NextList(&list); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			panic(err)
		}
		fmt.Println(list.Term, list.Postings, "in all", list.CollFreq())
	}
	var doc ciff.DocRecord
	for {
		if err := r.NextDoc(&doc); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			panic(err)
		}
		fmt.Println(doc.CollectionDocID, doc.DocLength)
	}
	// Output:
	// two documents
	// griffin [{0 1} {1 2}] in all 3
	// a.txt 1
	// b.txt 2
}

// Document lengths are at the end, but often needed first.
func ExampleReadDocsFirst() {
	file := bytes.NewReader(exampleFile())
	var lengths []int32
	r, err := ciff.ReadDocsFirst(file, func(d *ciff.DocRecord) error {
		lengths = append(lengths, d.DocLength)
		return nil
	})
	if err != nil {
		panic(err)
	}
	var list ciff.PostingsList
	for r.NextList(&list) == nil {
		for _, p := range list.Postings {
			fmt.Printf("%s: %d of %d tokens of document %d\n", list.Term, p.TF, lengths[p.DocID], p.DocID)
		}
	}
	// Output:
	// head: 1 of 1 tokens of document 0
	// head: 3 of 3 tokens of document 2
	// text: 2 of 2 tokens of document 1
}

func exampleFile() []byte {
	var b bytes.Buffer
	if err := worked().write(&b); err != nil {
		panic(err)
	}
	return b.Bytes()
}
