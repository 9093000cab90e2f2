//go:build linux && !nolab

package load

import (
	"bufio"
	"bytes"
	"io"
	"net/http"
	"testing"
)

var heads = []struct {
	text string
	want extent
}{
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Type: text/plain\r\n\r\nhello", plain},
	{"HTTP/1.1 503 Service Unavailable\r\ncontent-length:\t2 \r\nConnection: Close\r\nRetry-After: 1\r\n\r\n{}HTTP/1.1", plain},
	{"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n", plain},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nX: y", partial},
	{"", partial},
	{"HTTP/1.1 200 OK\r\n\r\n", special},
	{"HTTP/1.0 200 OK\r\nContent-Length: 5\r\n\r\nhello", special},
	{"HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n", special},
	{"HTTP/1.1 100 Continue\r\nContent-Length: 0\r\n\r\n", special},
	{"HTTP/1.1 2x0 OK\r\nContent-Length: 5\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\r\nContent-Length: +5\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", special},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: upgrade\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n folded\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\r\nContent-Length : 5\r\n\r\nhello", special},
	{"HTTP/1.1 200 OK\nContent-Length: 5\r\n\r\nhello", special},
}

func TestParseHead(t *testing.T) {
	for _, c := range heads {
		if _, _, got := parseHead([]byte(c.text)); got != c.want {
			t.Errorf("%q: %d, want %d", c.text, got, c.want)
		}
		checkHead(t, []byte(c.text))
	}
}

// checkHead compares a plain head with what net/http reads.
func checkHead(t *testing.T, p []byte) {
	t.Helper()
	h, size, e := parseHead(p)
	if e != plain {
		return
	}
	from := bufio.NewReaderSize(bytes.NewReader(p), len(p)+16)
	want, err := http.ReadResponse(from, nil)
	if err != nil {
		t.Fatalf("net/http refuses %q: %v", p, err)
	}
	if h != (answerHead{want.StatusCode, want.ContentLength, want.Close}) || len(want.TransferEncoding) > 0 {
		t.Fatalf("%q: %+v; net/http has %d, %d bytes, %v, close %v", p, h, want.StatusCode, want.ContentLength, want.TransferEncoding, want.Close)
	}
	body, err := io.ReadAll(want.Body)
	if got := p[size:min(len(p), size+int(h.length))]; !bytes.Equal(got, body) || (err == nil) != (int64(len(got)) == h.length) {
		t.Fatalf("%q: the body is %q; net/http has %q, %v", p, got, body, err)
	}
}

func FuzzParseHead(f *testing.F) {
	for _, c := range heads {
		f.Add([]byte(c.text))
	}
	f.Fuzz(checkHead)
}
