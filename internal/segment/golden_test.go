package segment_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/base"
	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/segment/segmenttest"
	"github.com/griffin-search/griffin/internal/vfs"
)

var update = flag.Bool("update", false, "write testdata anew")

// A list of several blocks ("griffin"), an empty document, a gap in the positions, a repeated
// term, UTF-8.
func goldenDocs() []segmenttest.Doc {
	docs := make([]segmenttest.Doc, 150)
	for i := range docs {
		docs[i] = segmenttest.Doc{
			ID:     fmt.Sprintf("d%03d", i),
			Title:  fmt.Sprintf("Document %d", i),
			Text:   fmt.Sprintf("griffin number %d", i),
			Fields: [][]string{{"griffin", "number", fmt.Sprint(i)}, {"document"}},
		}
	}
	docs[3].Fields[0] = []string{"griffin", "", "griffin", "löwe", "adler"}
	docs[3].Extra = []corpus.Field{{Name: "url", Value: "https://example.org/3"}}
	docs[7] = segmenttest.Doc{ID: "empty", Fields: [][]string{nil, nil}}
	return docs
}

// "go test -update" is valid only before the release of version 1.
func TestVersion1StaysReadable(t *testing.T) {
	docs := goldenDocs()
	reversed := make([]segmenttest.Doc, len(docs))
	order := make([]base.DocID, len(docs))
	for i := range docs {
		order[i] = base.DocID(len(docs) - 1 - i)
		reversed[i] = docs[order[i]]
	}
	for _, c := range []struct {
		name   string
		docs   []segmenttest.Doc
		change func(*segment.Options)
	}{
		{"simdbp", docs, func(*segment.Options) {}},
		{"raw", docs, func(o *segment.Options) { o.Codec, o.Positions, o.Stored = "raw", false, false }},
		{"ordered", reversed, func(o *segment.Options) { o.Order = order }},
	} {
		t.Run(c.name, func(t *testing.T) {
			opts := options(2)
			c.change(&opts)
			check(t, openGolden(t, filepath.Join("testdata", "v1", c.name), docs, opts), c.docs, opts)
		})
	}
}

// "go test -update" is valid only before a release with columns.
func TestColumnsStayReadable(t *testing.T) {
	docs := goldenDocs()
	for i := range docs {
		docs[i].Fields[1] = docs[i].Fields[1][:min(1, i%3, len(docs[i].Fields[1]))]
		if i%4 > 0 {
			docs[i].Numbers = []int64{int64(i) << 33, int64(i % 7)}[:1+i%2]
		}
		if i%20 == 0 {
			docs[i].Keywords = []string{"löwe", fmt.Sprint("k", i), "löwe"}
		}
	}
	opts := options(2)
	opts.UnitLengths = []bool{false, true}
	s := openGolden(t, filepath.Join("testdata", "v2", "columns"), docs, opts)
	checkColumns(t, s, docs)
	checkUnitLengths(t, "golden", s, func(doc int) *segmenttest.Doc { return &docs[doc] })
}

func openGolden(t *testing.T, dir string, docs []segmenttest.Doc, opts segment.Options) *segment.Segment {
	t.Helper()
	if *update {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		src, err := segmenttest.NewSource(docs, vfs.OS, filepath.Join(t.TempDir(), "stored"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := segment.Write(context.Background(), vfs.OS, dir, opts, []segment.Source{src}, nil); err != nil {
			t.Fatal(err)
		}
	}
	s, err := segment.Open(vfs.OS, dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if err := s.Verify(context.Background(), nil); err != nil {
		t.Fatal(err)
	}
	return s
}
