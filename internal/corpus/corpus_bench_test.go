//go:build unix

package corpus

import (
	"bytes"
	"encoding/json"
	"errors"
	"html"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/shareddata"
)

// reportCPU reports throughput per second of processor time of all threads, because wall-clock
// rates vary too much on a shared machine. Call it before the loop and the result after it.
func reportCPU(b *testing.B) (report func(sizeBytes int64)) {
	start := cpuTime(b)
	return func(sizeBytes int64) {
		used := cpuTime(b) - start
		b.SetBytes(sizeBytes)
		b.ReportMetric(float64(sizeBytes)*float64(b.N)/1e6/used.Seconds(), "cpu-MB/s")
	}
}

func cpuTime(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// The first 32 MiB of the wiki passages, in whole lines.
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

// Parsers that split a record into members (docs/benchmarks/corpus.md).
func BenchmarkJSONScan(b *testing.B) {
	lines := wikiLines(b)
	var s jsonScanner
	for _, scan := range []struct {
		name string
		scan func(line []byte) bool
	}{
		{"jsontext", func(line []byte) bool { _, rec := s.object(line, MaxFields); return rec == nil }},
		{"encoding-json", func(line []byte) bool {
			var d struct{ ID, Title, Text string }
			return json.Unmarshal(line, &d) == nil
		}},
	} {
		b.Run("scanner="+scan.name, func(b *testing.B) {
			b.ReportAllocs()
			report := reportCPU(b)
			for b.Loop() {
				for _, line := range lines {
					if !scan.scan(line) {
						b.Fatalf("%.100s", line)
					}
				}
			}
			report(sizeOf(lines))
		})
	}
}

func BenchmarkJSONParse(b *testing.B) {
	lines := wikiLines(b)
	parser := &jsonParser{builder: builder{opts: &Options{}}}
	b.ReportAllocs()
	report := reportCPU(b)
	for b.Loop() {
		for i, line := range lines {
			if _, rec := parser.parse(line, Location{File: "wiki", Line: int64(i)}); rec != nil {
				b.Fatal(rec)
			}
		}
	}
	report(sizeOf(lines))
}

// The sequential part: decompress and cut.
func BenchmarkNext(b *testing.B) {
	paths := shareddata.Wiki(b)[:1]
	report := reportCPU(b)
	size := int64(0)
	for b.Loop() {
		size = drain(b, paths, formatJSONL, func(*Batch) error { return nil })
	}
	report(size)
}

// Reading and parsing in one goroutine, from the same 32 MiB of passages; MB/s are of the
// uncompressed file.
func BenchmarkFormats(b *testing.B) {
	documents := wikiDocuments(b)
	object := func(d *Document) string {
		line, err := json.Marshal(map[string]string{"id": d.ID, "title": d.Title, "text": d.Text})
		if err != nil {
			b.Fatal(err)
		}
		return string(line) + "\n"
	}
	quote := func(s string) string { return `"` + strings.ReplaceAll(s, `"`, `""`) + `"` }
	for _, c := range []struct {
		format string
		render func(d *Document) string
	}{
		{formatJSONL, object},
		{formatJSON, object},
		{formatCSV, func(d *Document) string { return d.ID + "," + quote(d.Title) + "," + quote(d.Text) + "\n" }},
		{formatTSV, func(d *Document) string { return d.ID + "\thttp://x.y/\t" + d.Title + "\t" + d.Text + "\n" }},
		{formatTRECText, func(d *Document) string {
			return "<DOC>\n<DOCNO> " + d.ID + " </DOCNO>\n<HEADLINE>" + html.EscapeString(d.Title) + "</HEADLINE>\n<TEXT>\n" + html.EscapeString(d.Text) + "\n</TEXT>\n</DOC>\n"
		}},
		{formatTRECWeb, func(d *Document) string {
			return "<DOC>\n<DOCNO>" + d.ID + "</DOCNO>\n<DOCHDR>\nhttp://x.y/\n</DOCHDR>\n" + htmlPage(d) + "\n</DOC>\n"
		}},
		{formatWARC, func(d *Document) string {
			return responseOf(d.ID, "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n\r\n"+htmlPage(d))
		}},
	} {
		var file strings.Builder
		if c.format == formatCSV {
			file.WriteString("id,title,text\n")
		}
		for i := range documents {
			file.WriteString(c.render(&documents[i]))
		}
		for _, compression := range []string{"none", "gzip", "zstd"} {
			content := file.String()
			switch compression {
			case "gzip":
				content = gzipped(b, content)
			case "zstd":
				content = zstded(b, content)
			}
			path := filepath.Join(b.TempDir(), "file."+c.format)
			if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
				b.Fatal(err)
			}
			b.Run("format="+c.format+"/compression="+compression, func(b *testing.B) {
				report := reportCPU(b)
				for b.Loop() {
					n := 0
					drain(b, []string{path}, c.format, func(batch *Batch) error {
						return batch.Parse(func(*Document) error { n++; return nil }, func(e *RecordError) error { return e })
					})
					if n != len(documents) {
						b.Fatalf("%d documents of %d", n, len(documents))
					}
				}
				report(int64(file.Len()))
			})
		}
	}
}

// htmlPage adds a menu.
func htmlPage(d *Document) string {
	title := html.EscapeString(d.Title)
	return "<!DOCTYPE html><html><head><meta charset=utf-8><title>" + title + "</title><style>p{margin:0}</style></head>" +
		"<body><nav><a href=/>home</a> <a href=/all>all</a></nav><h1>" + title + "</h1><p>" + html.EscapeString(d.Text) + "</p></body></html>"
}

func wikiDocuments(b *testing.B) []Document {
	parser := &jsonParser{builder: builder{opts: &Options{}}}
	var documents []Document
	for _, line := range wikiLines(b) {
		d, rec := parser.parse(line, Location{})
		if rec != nil {
			b.Fatal(rec)
		}
		documents = append(documents, *d)
	}
	return documents
}

func drain(b *testing.B, paths []string, format string, use func(*Batch) error) (size int64) {
	r, err := Open(paths, Options{Format: format})
	if err != nil {
		b.Fatal(err)
	}
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err == nil {
			err = use(batch)
		}
		if err != nil {
			b.Fatal(err)
		}
		size += batch.SizeBytes
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	return size
}
