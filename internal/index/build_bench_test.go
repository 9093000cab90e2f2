package index

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/shareddata"
	"github.com/griffin-search/griffin/internal/vfs"
)

// A third of the Wikipedia passages (181 MB of JSON Lines in a zstd file) with stored
// documents, from the files to the commit.
func BenchmarkBuild(b *testing.B) {
	for _, c := range []struct {
		name string
		opts Options
		with BuildOptions
	}{
		{"plain", Options{}, BuildOptions{}},
		{"positions", Options{Positions: true}, BuildOptions{}},
		{"memory=64MiB", Options{}, BuildOptions{MemoryBytes: 64 << 20}},
		{"reorder=bp", Options{}, BuildOptions{Reorder: ReorderBP}},
	} {
		b.Run(c.name, func(b *testing.B) {
			var report Report
			var bits float64
			for b.Loop() {
				reader, err := corpus.Open(shareddata.Wiki(b)[:1], corpus.Options{})
				if err != nil {
					b.Fatal(err)
				}
				ix, err := Create(vfs.OS, filepath.Join(b.TempDir(), "index"), c.opts)
				if err != nil {
					b.Fatal(err)
				}
				if report, err = ix.Build(b.Context(), reader, c.with); err != nil {
					b.Fatal(err)
				}
				if bits, err = bitsPerPosting(ix); err != nil {
					b.Fatal(err)
				}
				if err := ix.Close(); err != nil {
					b.Fatal(err)
				}
			}
			b.SetBytes(report.Bytes)
			b.ReportMetric(bits, "bits/posting")
			b.ReportMetric(report.ReadTime.Seconds(), "read-s")
			b.ReportMetric(report.MergeTime.Seconds(), "merge-s")
		})
	}
}

// DocIDs, frequencies and block directories.
func bitsPerPosting(ix *Index) (float64, error) {
	s, err := ix.Snapshot()
	if err != nil {
		return 0, err
	}
	defer s.Release()
	var bytes int64
	var postings uint64
	for i := range s.Segments {
		meta := s.Segments[i].Meta()
		for _, f := range meta.Fields {
			postings += f.NumPostings
		}
		for _, f := range meta.Files {
			if f.Name == "postings" {
				bytes += f.SizeBytes
			}
		}
	}
	if postings == 0 {
		return 0, fmt.Errorf("no postings")
	}
	return 8 * float64(bytes) / float64(postings), nil
}
