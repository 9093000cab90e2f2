package index_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/vfs"
)

func Example() {
	dir, err := os.MkdirTemp("", "griffin-example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()

	reader, err := corpus.Open([]string{filepath.Join("testdata", "whales.jsonl")}, corpus.Options{})
	if err != nil {
		log.Fatal(err)
	}
	ix, err := index.Create(vfs.OS, filepath.Join(dir, "whales"), index.Options{})
	if err != nil {
		log.Fatal(err)
	}
	defer ix.Close()
	report, err := ix.Build(ctx, reader, index.BuildOptions{
		OnDuplicate: func(id string, earlier, later corpus.Location) {
			fmt.Printf("%q of line %d is replaced by line %d\n", id, earlier.Line, later.Line)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(report.Docs, "documents")
	printDocFreq(ix, "whale")

	w, err := ix.Writer(index.WriterOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer w.Close()
	if err := w.Add(&corpus.Document{ID: "pinocchio", Text: "Inside the whale he found Geppetto."}); err != nil {
		log.Fatal(err)
	}
	if err := w.Commit(ctx); err != nil {
		log.Fatal(err)
	}
	printDocFreq(ix, "whale")

	// Output:
	// "moby" of line 1 is replaced by line 4
	// 3 documents
	// "whale" is in 2 documents of 1 segment(s)
	// "whale" is in 3 documents of 2 segment(s)
}

func printDocFreq(ix *index.Index, term string) {
	s, err := ix.Snapshot()
	if err != nil {
		log.Fatal(err)
	}
	defer s.Release()
	const defaultField base.FieldID = 0
	total := uint32(0)
	for i := range s.Segments {
		var l postings.List
		found, err := s.Segments[i].Find(defaultField, []byte(term), &l)
		if err != nil {
			log.Fatal(err)
		}
		if found {
			total += l.DocFreq
		}
	}
	fmt.Printf("%q is in %d documents of %d segment(s)\n", term, total, len(s.Segments))
}
