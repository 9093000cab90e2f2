package rest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// A client that sends its whole body before it reads sees the error, not a reset connection.
func TestErrorsAfterLargeBodies(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{MaxBodyBytes: 20 << 20, MaxDocumentBytes: 2 << 20})
	n.must(200, "PUT /a", "")
	s := httptest.NewServer(n.h)
	defer s.Close()
	const large = 16 << 20 // more than buffers of sockets take
	for _, c := range []struct {
		target, header string
		size           int
		status         int
		kind           string
	}{
		{"POST /a/_search", "", large, 413, "content_too_long_exception"},
		{"POST /a/_search", "Content-Encoding: gzip\r\n", large, 400, "parsing_exception"},
		{"POST /a/_count", "", large, 413, "content_too_long_exception"},
		{"PUT /a/_doc/1", "", large, 413, "content_too_long_exception"},
		{"POST /_bulk", "", 24 << 20, 413, "content_too_long_exception"},
		{"POST /_bulk", "", large, 413, "content_too_long_exception"}, // the first line
		{"POST /_msearch", "", large, 400, "parsing_exception"},
		{"POST /none/_search", "", large, 404, "index_not_found_exception"},
		{"POST /a/_unknown", "", large, 400, "illegal_argument_exception"},
	} {
		for _, chunked := range []bool{false, true} {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			_ = conn.SetDeadline(time.Now().Add(5 * time.Minute)) // for slow machines
			length := fmt.Sprintf("Content-Length: %d\r\n", c.size)
			body := strings.Repeat("x", c.size)
			if chunked {
				length, body = "Transfer-Encoding: chunked\r\n", fmt.Sprintf("%x\r\n%s\r\n0\r\n\r\n", c.size, body)
			}
			head := c.target + " HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n" + c.header + length + "\r\n"
			if _, err := io.WriteString(conn, head+body); err != nil {
				t.Errorf("%s, chunked %v: the body cannot be sent: %v", c.target, chunked, err)
			}
			r, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err != nil {
				t.Errorf("%s, chunked %v: %v", c.target, chunked, err)
			} else {
				answer, err := io.ReadAll(r.Body)
				if err != nil || r.StatusCode != c.status || !strings.Contains(string(answer), c.kind) {
					t.Errorf("%s, chunked %v: status %d, %s, %v: want %d and %s", c.target, chunked, r.StatusCode, answer, err, c.status, c.kind)
				}
				_ = r.Body.Close()
			}
			_ = conn.Close()
		}
	}
}

// A client that waits for "100 Continue" is not asked for a body that is too large.
func TestExpectContinue(t *testing.T) {
	n := newNode(t)
	n.must(200, "PUT /a", "")
	s := httptest.NewServer(n.h)
	defer s.Close()
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(5 * time.Minute))
	if _, err := io.WriteString(conn, "POST /a/_search HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 2000000\r\nExpect: 100-continue\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.HasPrefix(line, "HTTP/1.1 413 ") {
		t.Errorf("%q, %v: want 413", line, err)
	}
}
