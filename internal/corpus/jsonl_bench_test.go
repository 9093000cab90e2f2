package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"

	"github.com/griffin-search/griffin/internal/shareddata"
)

// wikiLines returns the first 32 MiB of the wiki passages, in whole lines.
func wikiLines(b *testing.B) [][]byte {
	data, err := io.ReadAll(io.LimitReader(shareddata.OpenWiki(b), 32<<20))
	if err != nil {
		b.Fatal(err)
	}
	return bytes.Split(data[:bytes.LastIndexByte(data, '\n')], []byte{'\n'})
}

func sizeOf(lines [][]byte) (size int64) {
	for _, line := range lines {
		size += int64(len(line)) + 1
	}
	return size
}

// BenchmarkJSONScan compares the ways to split a record into its members; the
// table is in docs/benchmarks/corpus.md.
func BenchmarkJSONScan(b *testing.B) {
	lines := wikiLines(b)
	var s jsonScanner
	for _, scan := range []struct {
		name string
		scan func(line []byte) bool
	}{
		{"jsontext", func(line []byte) bool { _, rec := s.object(line); return rec == nil }},
		{"encoding-json", func(line []byte) bool {
			var d struct{ ID, Title, Text string }
			return json.Unmarshal(line, &d) == nil
		}},
	} {
		b.Run("scanner="+scan.name, func(b *testing.B) {
			b.SetBytes(sizeOf(lines))
			b.ReportAllocs()
			for b.Loop() {
				for _, line := range lines {
					if !scan.scan(line) {
						b.Fatalf("%.100s", line)
					}
				}
			}
		})
	}
}

// BenchmarkJSONParse measures Parse of whole batches, documents built.
func BenchmarkJSONParse(b *testing.B) {
	lines := wikiLines(b)
	parser := &jsonParser{opts: &Options{}}
	b.SetBytes(sizeOf(lines))
	b.ReportAllocs()
	for b.Loop() {
		for i, line := range lines {
			if _, rec := parser.parse(line, Location{File: "wiki", Line: int64(i)}); rec != nil {
				b.Fatal(rec)
			}
		}
	}
}

// BenchmarkNext measures what one goroutine must do: decompress and cut.
func BenchmarkNext(b *testing.B) {
	paths := shareddata.Wiki(b)[:1]
	for b.Loop() {
		r, err := Open(paths, Options{})
		if err != nil {
			b.Fatal(err)
		}
		size := int64(0)
		for {
			batch, err := r.Next()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				b.Fatal(err)
			}
			size += batch.SizeBytes
		}
		b.SetBytes(size)
		if err := r.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
