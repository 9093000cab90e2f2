package corpus

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/flate"
)

func warcOf(header, block string) string {
	header = strings.ReplaceAll(header, "\n", "\r\n")
	return fmt.Sprintf("WARC/1.0\r\n%s\r\nContent-Length: %d\r\n\r\n%s\r\n\r\n", header, len(block), block)
}

func responseOf(id, http string) string {
	return warcOf("WARC-Type: response\nWARC-Record-ID: <urn:uuid:"+id+">\nWARC-Target-URI: http://x.y/"+id+
		"\nWARC-Date: 2020-01-02T03:04:05Z\nContent-Type: application/http; msgtype=response", http)
}

const page = "<html><title>T</title><body><p>a page</body></html>"

func TestWARC(t *testing.T) {
	html := "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
	var deflated, raw bytes.Buffer
	zw := zlib.NewWriter(&deflated)
	fw, err := flate.NewWriter(&raw, 6)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{write(zw, page), zw.Close(), write(fw, page), fw.Close()} {
		if err != nil {
			t.Fatal(err)
		}
	}
	records := []string{
		warcOf("WARC-Type: warcinfo", "software: x"),
		warcOf("WARC-Type: request", "GET / HTTP/1.1\r\n\r\n"),
		responseOf("plain", html+"\r\n"+page),
		responseOf("chunked", html+"Transfer-Encoding: chunked\r\n\r\n5\r\n"+page[:5]+"\r\n"+fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", len(page)-5, page[5:])),
		responseOf("not-chunked", html+"Transfer-Encoding: chunked\r\n\r\n"+page),
		responseOf("gzip", html+"Content-Encoding: gzip\r\n\r\n"+gzipped(t, page)),
		responseOf("not-gzip", html+"Content-Encoding: gzip\r\n\r\n"+page),
		responseOf("zlib", html+"Content-Encoding: deflate\r\n\r\n"+deflated.String()),
		responseOf("flate", html+"Content-Encoding: deflate\r\n\r\n"+raw.String()),
		responseOf("zstd", html+"Content-Encoding: zstd\r\n\r\n"+zstded(t, page)),
		responseOf("lf", "HTTP/1.0 200\ncontent-type: text/html\n\n"+page),
		responseOf("sniffed", "HTTP/1.1 200 OK\r\n\r\n"+page),
		responseOf("image", "HTTP/1.1 200 OK\r\nContent-Type: image/png\r\n\r\n\x89PNG"),
		responseOf("moved", "HTTP/1.1 301 Moved\r\nContent-Type: text/html\r\n\r\n"+page),
		warcOf("WARC-Type: conversion\nWARC-Record-ID: <urn:uuid:wet>\nContent-Type: text/plain", "Title line\nsome text\n"),
		warcOf("WARC-Type: resource\nWARC-TREC-ID: clueweb-1\nWARC-Record-ID: <urn:uuid:r>\nContent-Type: text/html", page),
		warcOf("WARC-Type: resource\nWARC-Target-URI: http://only.uri/\nContent-Type: text/html", page),
	}
	all := strings.Join(records, "")
	members := ""
	for _, r := range records {
		members += gzipped(t, r)
	}
	for name, content := range map[string]string{"plain": all, "a gzip member each": members, "one zstd frame": zstded(t, all)} {
		t.Run(name, func(t *testing.T) {
			res := collectString(t, content, Options{})
			checkBad(t, res.bad)
			ids := ""
			for _, d := range res.docs {
				ids += d.ID + " "
				if d.ID != "wet" && (d.Title != "T" || d.Text != "a page") {
					t.Errorf("%s: %+v", name, d)
				}
			}
			if want := "plain chunked not-chunked gzip not-gzip zlib flate zstd lf sniffed wet clueweb-1 http://only.uri/ "; ids != want {
				t.Errorf("%s: ids %s, want %s", name, ids, want)
			}
			if res.skipped != 4 {
				t.Errorf("%s: %d skipped, want 4", name, res.skipped)
			}
		})
	}
	res := collectString(t, all, Options{})
	checkDocs(t, res.docs[:1], Document{
		ID: "plain", Title: "T", Text: "a page",
		Extra: []Field{{"url", "http://x.y/plain"}, {"date", "2020-01-02T03:04:05Z"}},
	})
	if at := res.docs[0].Source; at.Offset != int64(len(records[0]+records[1])) {
		t.Errorf("the first response is at %v", at)
	}
}

func write(w interface{ Write([]byte) (int, error) }, s string) error {
	_, err := w.Write([]byte(s))
	return err
}

func TestWARCErrors(t *testing.T) {
	ok := responseOf("ok", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"+page)
	for _, c := range []struct{ name, record, want string }{
		{"garbage", "garbage\r\nmore\r\n\r\n", "malformed WARC record: a record starts with WARC/ and its version, not with \"garbage\""},
		{"no length", "WARC/1.0\r\nWARC-Type: response\r\n\r\nx\r\n\r\n", `field "Content-Length": malformed WARC record: "" is no length`},
		{"bad length", "WARC/1.0\r\nContent-Length: -1\r\n\r\nx\r\n\r\n", `field "Content-Length": malformed WARC record: "-1" is no length`},
		{"too long", responseOf("big", strings.Repeat("x", 3000)), "the record is longer than the limit of 2000 bytes"},
		{"no id", warcOf("WARC-Type: conversion\nContent-Type: text/plain", "x"), `field "WARC-Record-ID": missing`},
		{"brotli", responseOf("br", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: br\r\n\r\nx"), `content encoding "br" is not supported`},
		{
			"bomb", responseOf("bomb", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\n\r\n"+gzipped(t, strings.Repeat("x", 5000))),
			"the decoded page is longer than the limit of 2000 bytes",
		},
		{"header", "WARC/1.0\r\n" + strings.Repeat("X: y\r\n", maxHeaderBytes/4), "malformed WARC record: its header is longer"},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := collectString(t, ok+c.record+ok, Options{Format: "warc", MaxRecordBytes: 2000})
			checkBad(t, res.bad, fmt.Sprintf("-@%d: %s", len(ok), c.want))
			if len(res.docs) != 2 {
				t.Errorf("%s: %d documents, want the 2 around the bad one", c.name, len(res.docs))
			}
		})
	}
	for cut := 1; cut < len(ok)-4; cut++ {
		res := collectString(t, ok+ok[:cut], Options{})
		if len(res.docs) != 1 || len(res.bad) == 0 {
			t.Errorf("cut after %d bytes: %d documents, bad records %q", cut, len(res.docs), res.bad)
		}
	}
}

// Exactly the limit, and one byte more.
func TestWARCLimit(t *testing.T) {
	const limit = 2000
	text := strings.Repeat("x", limit)
	record := func(id, block string) string {
		return warcOf("WARC-Type: conversion\nContent-Type: text/plain\nWARC-Record-ID: <urn:uuid:"+id+">", block)
	}
	for _, c := range []struct {
		name, block string
		ids         []string
	}{
		{"exactly the limit", text, []string{"a", "b"}},
		{"one byte more", text + "x", []string{"b"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			res := collectString(t, record("a", c.block)+record("b", "y"), Options{MaxRecordBytes: limit})
			if !slices.Equal(idsOf(res.docs), c.ids) || len(res.docs)+len(res.bad) != 2 {
				t.Errorf("documents %q and errors %q, want the documents %q", idsOf(res.docs), res.bad, c.ids)
			}
		})
	}
}

func FuzzWARC(f *testing.F) {
	f.Add(responseOf("a", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"+page) + warcOf("WARC-Type: conversion", "x"))
	f.Add(responseOf("b", "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n3\r\nabc\r\n0\r\n\r\n"))
	f.Fuzz(func(t *testing.T, s string) { fuzzFormat(t, "warc", s) })
}
