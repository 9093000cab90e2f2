package rest

import (
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/griffin-search/griffin/internal/segment"
	"github.com/griffin-search/griffin/internal/turns"
	"github.com/griffin-search/griffin/internal/vfs"
)

// BenchmarkMergeSegments merges segments that _bulk has written of wiki passages, which a merge of the background would
// join: 16 of 8,000 passages. It reports the processor time for a MB of JSON, and the bytes written for a byte of it.
// -cpuprofile tells the parts.
func BenchmarkMergeSegments(b *testing.B) {
	const numSegments, perSegment, perRequest = 16, 8000, 1000
	passages := bulkPassages(b, numSegments*perSegment)
	n := newNode(b)
	n.must(http.StatusOK, "PUT /wiki", `{"settings":{"refresh_interval":"-1"},"mappings":{"properties":{"title":{"type":"text"},"text":{"type":"text"}}}}`)
	size := 0
	for from := 0; from < len(passages); from += perRequest {
		var body []byte
		for i, p := range passages[from : from+perRequest] {
			body = appendWrite(body, strconv.Itoa(from+i), p.source)
		}
		size += len(body)
		n.must(http.StatusOK, "POST /wiki/_bulk", string(body))
		if (from+perRequest)%perSegment == 0 {
			n.must(http.StatusOK, "POST /wiki/_refresh", "")
		}
	}
	dirs, err := filepath.Glob(filepath.Join(n.dir, "wiki", "seg-*"))
	if err != nil || len(dirs) != numSegments {
		b.Fatalf("segments %q, want %d: %v", dirs, numSegments, err)
	}
	var sources []segment.Source
	var opts segment.Options
	for _, dir := range dirs {
		s, err := segment.Open(vfs.OS, dir)
		if err != nil {
			b.Fatal(err)
		}
		defer s.Close()
		source, err := s.Source(nil)
		if err != nil {
			b.Fatal(err)
		}
		sources = append(sources, source)
		m := s.Meta()
		opts = segment.Options{Codec: m.Codec, Analyzer: m.Analyzer, BM25: m.BM25, Positions: m.Positions, Stored: m.Stored, Threads: 1}
		for _, f := range m.Fields {
			opts.Fields = append(opts.Fields, f.Name)
		}
	}
	opts.Turns = turns.New(1)
	out, written, rounds := b.TempDir(), int64(0), 0
	cpu := processorTime(b)
	for b.Loop() {
		m, err := segment.Write(b.Context(), vfs.Volatile(vfs.OS), filepath.Join(out, fmt.Sprint(rounds)), opts, sources, nil)
		if err != nil {
			b.Fatal(err)
		}
		written = m.SizeBytes()
		rounds++
	}
	mb := float64(size) / 1e6
	b.ReportMetric((processorTime(b)-cpu).Seconds()*1000/mb/float64(rounds), "cpu-ms/MB")
	b.ReportMetric(float64(written)/float64(size), "B/B")
}
