package server

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

// BenchmarkRequests measures requests over a connection, from the request's bytes to the answer's. The searches
// are short, so that what surrounds them counts; in-process has the search alone, with the documents of the hits. cpu-us is
// processor time of the process; the client's part is small, because it only finds the end of an answer.
func BenchmarkRequests(b *testing.B) {
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = runtime.Close() })
	d, err := rest.OpenDirectory(b.Context(), b.TempDir(), rest.DirectoryOptions{Index: griffin.Options{Runtime: runtime}, Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = d.Close(context.Background()) })
	h, err := New(Options{Directory: d, Logger: quiet()})
	if err != nil {
		b.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, stop := context.WithCancel(b.Context())
	served := make(chan error, 1)
	go func() { served <- Serve(ctx, listener, h, time.Second) }()
	b.Cleanup(func() { stop(); <-served })
	c, err := (&net.Dialer{}).DialContext(b.Context(), "tcp", listener.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = c.Close() })
	conn := &benchConnection{Conn: c, in: bufio.NewReader(c)}

	const docs = 2000
	var bulk bytes.Buffer
	for i := range docs {
		fmt.Fprintf(&bulk, "{\"index\":{\"_id\":\"document-%d\"}}\n{\"title\":\"Title %d\",\"text\":\"word%d word%d, a text of some length “with quotes” & more\"}\n", i, i, i%50, i%77)
	}
	must := func(request []byte) {
		b.Helper()
		if answer, err := conn.ask(request); err != nil || bytes.Contains(answer, []byte(`"error"`)) || bytes.Contains(answer, []byte(`"errors":true`)) {
			b.Fatalf("%.2000s, %v", answer, err)
		}
	}
	must(requestOf(http.MethodPost, "/x/_bulk?refresh=true", bulk.String()))
	const search = `{"query":{"match":{"*":{"query":"word7 word5"}}},"size":10,"_source":%t,"track_total_hits":false}`
	for _, r := range []struct {
		name    string
		queries int
		request []byte
	}{
		{"search", 1, requestOf(http.MethodGet, "/search?q=word7+word5&k=10&mode=or&index=x", "")},
		{"_search/source=false", 1, requestOf(http.MethodPost, "/x/_search", fmt.Sprintf(search, false))},
		{"_search/source=true", 1, requestOf(http.MethodPost, "/x/_search", fmt.Sprintf(search, true))},
		{"_search/q", 1, requestOf(http.MethodGet, "/x/_search?q=word7+word5&_source=false&track_total_hits=false", "")},
		{"_msearch/100", 100, requestOf(http.MethodPost, "/x/_msearch", strings.Repeat("{}\n"+fmt.Sprintf(search, false)+"\n", 100))},
	} {
		b.Run(r.name, func(b *testing.B) {
			must(r.request)
			b.ReportAllocs()
			began := processTime()
			n := 0
			for b.Loop() {
				if _, err := conn.ask(r.request); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((processTime()-began).Microseconds())/float64(n*r.queries), "cpu-us/query")
		})
	}
	ix, err := d.Open("x")
	if err != nil {
		b.Fatal(err)
	}
	for name, q := range map[string]griffin.Query{
		"search":               {Text: "word7 word5", SnippetLength: griffin.DefaultSnippetLength},
		"_search/source=false": {Text: "word7 word5", Load: griffin.LoadIDs},
		"_search/source=true":  {Text: "word7 word5"},
	} {
		b.Run("in-process/"+name, func(b *testing.B) {
			b.ReportAllocs()
			began := processTime()
			n := 0
			for b.Loop() {
				if _, err := ix.Search(b.Context(), q); err != nil {
					b.Fatal(err)
				}
				n++
			}
			b.ReportMetric(float64((processTime()-began).Microseconds())/float64(n), "cpu-us/query")
		})
	}
}

func processTime() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func requestOf(method, target, body string) []byte {
	kind := ""
	if body != "" {
		kind = "Content-Type: application/x-ndjson\r\n"
	}
	return fmt.Appendf(nil, "%s %s HTTP/1.1\r\nHost: x\r\n%sContent-Length: %d\r\n\r\n%s", method, target, kind, len(body), body)
}

type benchConnection struct {
	net.Conn
	in   *bufio.Reader
	body []byte
}

// ask returns the body of the answer, which is valid until the next call.
func (c *benchConnection) ask(request []byte) ([]byte, error) {
	if _, err := c.Write(request); err != nil {
		return nil, err
	}
	length := -1
	for {
		line, err := c.in.ReadSlice('\n')
		if err != nil {
			return nil, err
		}
		if number, ok := bytes.CutPrefix(line, []byte("Content-Length: ")); ok {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(number))); err != nil {
				return nil, err
			}
		}
		if len(line) == len("\r\n") {
			break
		}
	}
	if cap(c.body) < length {
		c.body = make([]byte, length)
	}
	c.body = c.body[:max(length, 0)]
	_, err := io.ReadFull(c.in, c.body)
	return c.body, err
}
