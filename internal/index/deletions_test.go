package index

import (
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/postings"
	"github.com/griffin-search/griffin/internal/sealed"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/vfs"
	"github.com/griffin-search/griffin/internal/vfs/vfstest"
)

// saveVersion1 writes live documents as version 1 did, without counts.
func saveVersion1(t testing.TB, fs vfs.FS, name string, live *segment.Bitmap) (sum uint32) {
	t.Helper()
	w, err := sealed.Create(fs, filepath.Join("ix", name), "bitmap", 1)
	check(t, err)
	payload := live.AppendTo(nil)
	_, err = w.Write(payload)
	check(t, err)
	check(t, w.Close())
	return crc32.Checksum(payload, castagnoli)
}

func randomText(rng *rand.Rand, words int) string {
	var b strings.Builder
	for range words {
		fmt.Fprintf(&b, "w%d ", int(rng.ExpFloat64()*30))
	}
	return b.String()
}

// However documents were deleted, the statistics of an index count its live documents: with
// stored text, without, with fields, and where the text does not give the lists again.
func TestStatisticsCountLiveDocuments(t *testing.T) {
	for name, opts := range map[string]Options{
		"stored":     {Positions: true},
		"not stored": {NoStored: true},
		"fields":     {Fields: []string{"title", "author"}},
		"english":    {Analyzer: "english"},
	} {
		t.Run(name, func(t *testing.T) {
			if opts.Analyzer == "" {
				opts.Analyzer = "whitespace"
			}
			rng := rand.New(rand.NewPCG(1, 2))
			mem := vfstest.NewMem()
			ix, err := Create(mem, "ix", opts)
			check(t, err)
			var ids []string
			for round := range 12 {
				var docs []corpus.Document
				for range 1 + rng.IntN(60) {
					id := fmt.Sprint(rng.IntN(300))
					docs = append(docs, corpus.Document{
						ID: id, Title: randomText(rng, rng.IntN(4)), Text: randomText(rng, rng.IntN(50)),
						Extra: []corpus.Field{{Name: "author", Value: randomText(rng, rng.IntN(3))}},
					})
					ids = append(ids, id)
				}
				var deletes []corpus.Document
				for range rng.IntN(8) {
					deletes = append(deletes, corpus.Document{ID: ids[rng.IntN(len(ids))]})
				}
				check(t, commitChange(t.Context(), ix, deletes, docs))
				if round%5 == 4 {
					_, err := ix.Merge(t.Context(), MergeOptions{MaxSegments: 2})
					check(t, err)
				}
				checkStatistics(t, ix)
			}
			opened, err := Open(mem, "ix")
			check(t, err)
			defer opened.Close()
			checkStatistics(t, opened)
			s, err := opened.Snapshot()
			check(t, err)
			defer s.Release()
			check(t, s.Verify(t.Context(), nil))
		})
	}
}

// checkStatistics compares the statistics of a snapshot with counts over the lists of its live
// documents.
func checkStatistics(t *testing.T, ix *Index) {
	t.Helper()
	s, err := ix.Snapshot()
	check(t, err)
	defer s.Release()
	want := make([]FieldStats, len(s.Fields))
	for i := range want {
		want[i] = FieldStats{Name: s.Fields[i].Name, NumDocs: uint64(s.NumLive), UnitLengths: s.Fields[i].UnitLengths}
	}
	for i := range s.Segments {
		v := &s.Segments[i]
		isLive := func(d base.DocID) bool { return v.Live == nil || v.Live.Has(int(d)) }
		for f := range s.Fields {
			field := base.FieldID(f)
			check(t, v.CheckLengths(field))
			for d := range v.Lengths(field) {
				n := v.Length(field, base.DocID(d))
				if isLive(base.DocID(d)) {
					want[f].TotalTokens += uint64(n)
				}
			}
			terms := v.Terms(field, nil)
			for terms.Next() {
				n := checkDocFreq(t, v, field, terms.Term(), isLive)
				want[f].NumPostings += n
			}
			check(t, terms.Err())
		}
	}
	for f := range want {
		if s.Fields[f] != want[f] {
			t.Fatalf("generation %d: field %d has %+v, want %+v", s.Generation, f, s.Fields[f], want[f])
		}
	}
}

func checkDocFreq(t *testing.T, v *View, field base.FieldID, term []byte, isLive func(base.DocID) bool) (n uint64) {
	t.Helper()
	var l postings.List
	found, err := v.Find(field, term, &l)
	check(t, err)
	if !found {
		t.Fatalf("term %q not found", term)
	}
	var c postings.Cursor
	c.Reset(&l, nil)
	for d := c.Next(); d != base.NoDocID; d = c.Next() {
		if isLive(d) {
			n++
		}
	}
	check(t, c.Err())
	if got := v.Deletions.DocFreq(&l); got != n {
		t.Fatalf("segment %s: field %d: %q is in %d live documents of %d, want %d", v.Name, field, term, got, l.DocFreq, n)
	}
	return n
}

// A file of version 1 has no counts; they are computed when it is opened.
func TestDeletionsOfVersion1(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	mem := vfstest.NewMem()
	ix, err := Create(mem, "ix", Options{Analyzer: "whitespace"})
	check(t, err)
	var docs []corpus.Document
	for i := range 200 {
		docs = append(docs, corpus.Document{ID: fmt.Sprint(i), Title: randomText(rng, 2), Text: randomText(rng, 20)})
	}
	check(t, commitChange(t.Context(), ix, nil, docs))
	check(t, commitChange(t.Context(), ix, []corpus.Document{{ID: "3"}, {ID: "150"}, {ID: "199"}}, nil))
	s, err := ix.Snapshot()
	check(t, err)
	live := s.Segments[0].Live
	s.Release()
	check(t, ix.Close())
	changeManifest(t, mem, func(m *manifest) {
		m.Segments[0].LiveSum = saveVersion1(t, mem, m.Segments[0].Live, live)
	})
	ix, err = Open(mem, "ix")
	check(t, err)
	defer ix.Close()
	checkStatistics(t, ix)
	check(t, commitChange(t.Context(), ix, []corpus.Document{{ID: "0"}}, nil)) // with counts again
	checkStatistics(t, ix)
}
