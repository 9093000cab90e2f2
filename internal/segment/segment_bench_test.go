package segment_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// 20,000 documents, fully cached.
func benchSegment(b *testing.B) (*segment.Segment, []segmenttest.Doc) {
	docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(1, 1)), 20000, 50000, 1)
	s := write(b, vfstest.NewMem(), "seg", options(1), sources(b, vfstest.NewMem(), docs, 4)...)
	return s, docs
}

func BenchmarkFind(b *testing.B) {
	s, _ := benchSegment(b)
	var terms [][]byte
	for it := s.Terms(0, nil); it.Next(); {
		terms = append(terms, append([]byte(nil), it.Term()...))
	}
	rand.New(rand.NewPCG(2, 2)).Shuffle(len(terms), func(i, j int) { terms[i], terms[j] = terms[j], terms[i] })
	var l postings.List
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := s.Find(0, terms[i%len(terms)], &l); !ok || err != nil {
			b.Fatal(ok, err)
		}
		i++
	}
}

func BenchmarkLookup(b *testing.B) {
	s, docs := benchSegment(b)
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % len(docs)
		if _, ok, err := s.Lookup([]byte(docs[i].ID)); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

func BenchmarkStored(b *testing.B) {
	s, docs := benchSegment(b)
	var d segment.StoredDoc
	i := 0
	b.ReportAllocs()
	for b.Loop() {
		i = (i + 7919) % len(docs)
		if err := s.Stored(base.DocID(i), &d); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMerge(b *testing.B) {
	s, _ := benchSegment(b)
	opts := options(1)
	var numPostings uint64
	for b.Loop() {
		fs := vfstest.NewMem()
		src, err := s.Source(nil)
		if err != nil {
			b.Fatal(err)
		}
		m, err := segment.Write(context.Background(), fs, "merged", opts, []segment.Source{src}, nil)
		if err != nil {
			b.Fatal(err)
		}
		numPostings += m.Fields[0].NumPostings
	}
	b.ReportMetric(float64(numPostings)/b.Elapsed().Seconds(), "postings/s")
}

func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{100, 20000} {
		docs := segmenttest.RandomDocs(rand.New(rand.NewPCG(1, 1)), n, 50000, 1)
		dir := b.TempDir() + "/seg"
		write(b, vfs.OS, dir, options(1), sources(b, vfstest.NewMem(), docs, 1)...)
		b.Run(fmt.Sprintf("docs=%d", n), func(b *testing.B) {
			for b.Loop() {
				s, err := segment.Open(vfs.OS, dir)
				if err != nil {
					b.Fatal(err)
				}
				if err := s.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
