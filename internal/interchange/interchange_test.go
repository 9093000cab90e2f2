package interchange_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin/ciff"
	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/interchange"
	"github.com/griffin-search/griffin/internal/score"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
)

func opener(b []byte, asFile bool) func() (io.ReadCloser, error) {
	return func() (io.ReadCloser, error) {
		if asFile {
			return file{bytes.NewReader(b)}, nil
		}
		return io.NopCloser(bytes.NewBuffer(bytes.Clone(b))), nil
	}
}

type file struct{ *bytes.Reader }

func (file) Close() error { return nil }

func importFile(t *testing.T, b []byte) *index.Snapshot {
	t.Helper()
	src, err := interchange.NewSource(opener(b, true))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := index.Create(vfs.OS, filepath.Join(t.TempDir(), "index"), index.Options{Analyzer: "whitespace", NoStored: true, Fields: []string{}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ix.Import(t.Context(), src, index.ImportOptions{}); err != nil {
		t.Fatal(err)
	}
	return snapshot(t, ix)
}

func snapshot(t *testing.T, ix *index.Index) *index.Snapshot {
	t.Helper()
	s, err := ix.Snapshot()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Release()
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func export(t *testing.T, s *index.Snapshot, description string) []byte {
	t.Helper()
	var parts []interchange.Part
	for _, v := range s.Segments {
		parts = append(parts, interchange.Part{Segment: v.Segment, Live: v.Live})
	}
	return exportParts(t, parts, description)
}

func exportParts(t *testing.T, parts []interchange.Part, description string) []byte {
	t.Helper()
	var b bytes.Buffer
	if _, err := interchange.Export(t.Context(), &b, parts, interchange.ExportOptions{Description: description}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestFileByOthersComesBackByteForByte(t *testing.T) {
	want, err := os.ReadFile(shareddata.CIFF(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := ciff.NewReader(bytes.NewReader(want))
	if err != nil {
		t.Fatal(err)
	}
	got := export(t, importFile(t, want), r.Header().Description)
	if !bytes.Equal(got, want) {
		t.Errorf("exported:\n%q\nimported was:\n%q", got, want)
	}
}

// Exported, imported and exported again, a built index gives the same file.
func TestCollectionsRoundTrip(t *testing.T) {
	for _, name := range []string{"cacm", "cranfield"} {
		c := shareddata.OneCollection(t, name)
		ix, err := index.Create(vfs.OS, filepath.Join(t.TempDir(), "index"), index.Options{Positions: true})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := corpus.Open([]string{c.Corpus}, corpus.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := ix.Build(t.Context(), reader, index.BuildOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := reader.Close(); err != nil {
			t.Fatal(err)
		}
		built := snapshot(t, ix)
		first := export(t, built, name)
		imported := importFile(t, first)
		if second := export(t, imported, name); !bytes.Equal(first, second) {
			t.Errorf("%s: %d bytes became %d different ones", name, len(first), len(second))
		}
		if imported.NumDocs != c.NumDocs || imported.Fields[0].TotalTokens != built.Fields[0].TotalTokens || imported.Fields[0].NumPostings != built.Fields[0].NumPostings {
			t.Errorf("%s: imported %+v, built %+v", name, imported.Fields[0], built.Fields[0])
		}
	}
}

func expect(docs []segmenttest.Doc, live func(doc int) bool) []byte {
	var kept []segmenttest.Doc
	for i, d := range docs {
		if live(i) {
			kept = append(kept, d)
		}
	}
	lists, lengths := segmenttest.Lists(kept, 0), segmenttest.Lengths(kept, 0)
	h := ciff.Header{
		Version: 1, NumPostingsLists: int32(len(lists)), TotalPostingsLists: int32(len(lists)), NumDocs: int32(len(kept)), TotalDocs: int32(len(kept)),
	}
	for _, n := range lengths {
		h.TotalTermsInCollection += int64(n)
	}
	if len(kept) > 0 {
		h.AverageDocLength = float64(h.TotalTermsInCollection) / float64(len(kept))
	}
	var b bytes.Buffer
	w, err := ciff.NewWriter(&b, h)
	for _, term := range slices.Sorted(maps.Keys(lists)) {
		l := ciff.PostingsList{Term: term}
		for _, p := range lists[term] {
			l.Postings = append(l.Postings, ciff.Posting{DocID: int32(p.Doc), TF: int32(len(p.Positions))})
		}
		err = errors.Join(err, w.WriteList(&l))
	}
	for i, d := range kept {
		err = errors.Join(err, w.WriteDoc(&ciff.DocRecord{DocID: int32(i), CollectionDocID: d.ID, DocLength: int32(lengths[i])}))
	}
	if err = errors.Join(err, w.Close()); err != nil {
		panic(err)
	}
	return b.Bytes()
}

func writeSegment(t *testing.T, source segment.Source, fields ...string) *segment.Segment {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "segment")
	opts := segment.Options{Fields: append([]string{""}, fields...), Codec: "simdbp", Analyzer: "simple", BM25: score.DefaultBM25}
	if _, err := segment.Write(t.Context(), vfs.OS, dir, opts, []segment.Source{source}, nil); err != nil {
		t.Fatal(err)
	}
	s, err := segment.Open(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// The reference is an inversion of the remaining documents, over several segments with
// deletions.
func TestExportMergesLiveDocuments(t *testing.T) {
	for seed := range uint64(4) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var all []segmenttest.Doc
		var parts []interchange.Part
		alive := map[int]bool{}
		for range 1 + rng.IntN(4) {
			docs := segmenttest.RandomDocs(rng, 1+rng.IntN(400), 300, 2)
			source, err := segmenttest.NewSource(docs, nil, "")
			if err != nil {
				t.Fatal(err)
			}
			part := interchange.Part{Segment: writeSegment(t, source, "title")}
			if rng.IntN(3) > 0 {
				part.Live = segment.NewBitmap(len(docs))
			}
			for i := range docs {
				if part.Live == nil || rng.IntN(3) > 0 && part.Live.Set(i) {
					alive[len(all)+i] = true
				}
			}
			all = append(all, docs...)
			parts = append(parts, part)
		}
		want := expect(all, func(doc int) bool { return alive[doc] })
		if got := exportParts(t, parts, ""); !bytes.Equal(got, want) {
			t.Errorf("seed %d: %d bytes, want %d different ones", seed, len(got), len(want))
		}
	}
	if got, want := exportParts(t, nil, ""), expect(nil, nil); !bytes.Equal(got, want) {
		t.Errorf("no segments: %q, want %q", got, want)
	}
}

// rewrite changes the order of the lists.
func rewrite(t *testing.T, b []byte, order func(lists []ciff.PostingsList)) []byte {
	t.Helper()
	r, err := ciff.NewReader(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	var all []ciff.PostingsList
	for {
		var l ciff.PostingsList
		if err := r.NextList(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	order(all)
	var out bytes.Buffer
	w, err := ciff.NewWriter(&out, r.Header())
	if err != nil {
		t.Fatal(err)
	}
	for i := range all {
		if err := w.WriteList(&all[i]); err != nil {
			t.Fatal(err)
		}
	}
	var d ciff.DocRecord
	for r.NextDoc(&d) == nil {
		if err := w.WriteDoc(&d); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestTermsOutOfOrder(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 0))
	docs := segmenttest.RandomDocs(rng, 500, 400, 1)
	docs[0].Fields[0] = []string{strings.Repeat("long", 2000)} // longer than one read
	sorted := expect(docs, func(int) bool { return true })
	mixed := rewrite(t, sorted, func(lists []ciff.PostingsList) {
		rng.Shuffle(len(lists), func(i, j int) { lists[i], lists[j] = lists[j], lists[i] })
	})
	src, err := interchange.NewSource(opener(mixed, true))
	if err != nil {
		t.Fatal(err)
	}
	got := exportParts(t, []interchange.Part{{Segment: writeSegment(t, src)}}, "")
	if !bytes.Equal(got, sorted) {
		t.Error("sorting by import gives a different file")
	}
	if _, err := interchange.NewSource(opener(mixed, false)); !errors.Is(err, base.ErrBadInput) || !strings.Contains(err.Error(), "uncompressed") {
		t.Errorf("from a stream: %v", err)
	}
}

func TestImportErrors(t *testing.T) {
	valid := expect(segmenttest.RandomDocs(rand.New(rand.NewPCG(2, 0)), 50, 40, 1), func(int) bool { return true })
	for name, order := range map[string]func([]ciff.PostingsList){
		"neighbours":   func(l []ciff.PostingsList) { l[1].Term = l[0].Term },
		"out of order": func(l []ciff.PostingsList) { l[0].Term = l[5].Term },
		"empty":        func(l []ciff.PostingsList) { l[0].Term = "" },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := interchange.NewSource(opener(rewrite(t, valid, order), true)); !errors.Is(err, base.ErrBadInput) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
	for cut := 0; cut < len(valid); cut += 7 {
		if _, err := interchange.NewSource(opener(valid[:cut], true)); !errors.Is(err, ciff.ErrInvalid) {
			t.Errorf("cut after %d bytes: %v", cut, err)
		}
	}
	denied := errors.New("denied")
	if _, err := interchange.NewSource(func() (io.ReadCloser, error) { return nil, denied }); !errors.Is(err, denied) {
		t.Errorf("open: %v", err)
	}
}

// The second read checks the lists again.
func TestFileChangesBetweenReads(t *testing.T) {
	valid := expect(segmenttest.RandomDocs(rand.New(rand.NewPCG(3, 0)), 50, 40, 1), func(int) bool { return true })
	b := valid
	src, err := interchange.NewSource(func() (io.ReadCloser, error) { return opener(b, true)() })
	if err != nil {
		t.Fatal(err)
	}
	b = valid[:len(valid)/2]
	_, err = segment.Write(t.Context(), vfs.OS, filepath.Join(t.TempDir(), "s"),
		segment.Options{Fields: []string{""}, Codec: "raw", Analyzer: "simple", BM25: score.DefaultBM25}, []segment.Source{src}, nil)
	if !errors.Is(err, ciff.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

func TestExportErrors(t *testing.T) {
	source, err := segmenttest.NewSource(segmenttest.RandomDocs(rand.New(rand.NewPCG(4, 0)), 50, 40, 1), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	part := interchange.Part{Segment: writeSegment(t, source)}
	full := errors.New("disk full")
	if _, err := interchange.Export(t.Context(), failing{full}, []interchange.Part{part}, interchange.ExportOptions{}); !errors.Is(err, full) {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := interchange.Export(ctx, io.Discard, []interchange.Part{part}, interchange.ExportOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	part.Live = segment.NewBitmap(7)
	if _, err := interchange.Export(t.Context(), io.Discard, []interchange.Part{part}, interchange.ExportOptions{}); !errors.Is(err, base.ErrBadInput) {
		t.Errorf("live set of another segment: %v", err)
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestExportTellsProgress(t *testing.T) {
	source, err := segmenttest.NewSource(segmenttest.RandomDocs(rand.New(rand.NewPCG(5, 0)), 50, 40, 1), nil, "")
	if err != nil {
		t.Fatal(err)
	}
	last := ""
	h, err := interchange.Export(t.Context(), io.Discard, []interchange.Part{{Segment: writeSegment(t, source)}}, interchange.ExportOptions{
		Progress: func(done, total int64) { last = fmt.Sprint(done, " of ", total) },
	})
	if want := fmt.Sprint(h.NumPostingsLists, " of ", h.NumPostingsLists); err != nil || last != want {
		t.Errorf("last progress %q, want %q (%v)", last, want, err)
	}
}
