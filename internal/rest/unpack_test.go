package rest

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func packZstd(t *testing.T, text []byte, options ...zstd.EOption) []byte {
	t.Helper()
	z, err := zstd.NewWriter(nil, options...)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	return z.EncodeAll(text, nil)
}

func (n *node) packed(target, encoding string, body []byte) *httptest.ResponseRecorder {
	method, address, _ := strings.Cut(target, " ")
	r := httptest.NewRequest(method, address, bytes.NewReader(body))
	r.Header.Set("Content-Type", "application/x-ndjson")
	r.Header.Set("Content-Encoding", encoding)
	w := httptest.NewRecorder()
	n.h.ServeHTTP(w, r)
	return w
}

// Bodies in zstd are read like others, many at the same time.
func TestZstdBodies(t *testing.T) {
	n := newNode(t)
	all, err := io.ReadAll(&docs{n: 500})
	if err != nil {
		t.Fatal(err)
	}
	if w := n.packed("POST /a/_bulk?refresh=true", "zstd", packZstd(t, all)); w.Code != http.StatusOK {
		t.Fatalf("status %d: %.300s", w.Code, w.Body)
	}
	if got := at(n.must(200, "GET /a/_count", ""), "count"); got != 500.0 {
		t.Errorf("count %v, want 500", got)
	}
	var asking sync.WaitGroup
	for i := range 20 {
		asking.Go(func() {
			id := fmt.Sprint(i)
			body := packZstd(t, fmt.Appendf(nil, `{"query":{"ids":{"values":["%s"]}},"_source":false,"x":%q}`, id, ""))
			if w := n.packed("POST /a/_search", "zstd", body); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "Unknown key") {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
			body = packZstd(t, fmt.Appendf(nil, "{}\n{\"query\":{\"match_all\":{}},\"size\":%d,\"_source\":false}\n", i))
			if w := n.packed("POST /a/_msearch", "ZSTD", body); w.Code != http.StatusOK || strings.Count(w.Body.String(), `"_id"`) != i {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		})
	}
	asking.Wait()
}

func TestDamagedZstd(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{MaxBodyBytes: 100_000, MaxDocumentBytes: 50_000})
	n.must(201, "PUT /a/_doc/0", "{}")
	text := []byte(`{"index":{"_id":"1"}}` + "\n{\"x\": \"some text to compress, some text to compress\"}\n")
	whole := packZstd(t, text)
	damaged := bytes.Clone(whole)
	damaged[len(damaged)-2] ^= 1 // of the checksum
	bomb := packZstd(t, bytes.Repeat([]byte(`{"index":{"_id":"1"}}`+"\n{}\n"), 10_000))
	for name, c := range map[string]struct {
		target string
		body   []byte
		status int
		want   string
	}{
		"truncated":        {"POST /a/_bulk", whole[:len(whole)-6], 400, "the zstd data is truncated"},
		"damaged":          {"POST /a/_bulk", damaged, 400, "the zstd data is damaged"},
		"no zstd":          {"POST /a/_bulk", text, 400, "the zstd data is damaged"},
		"a document":       {"PUT /a/_doc/1", whole[:len(whole)-6], 400, "the zstd data is truncated"},
		"bomb":             {"POST /a/_bulk", bomb, 413, "content_too_long_exception"},
		"bomb of a search": {"POST /a/_search", packZstd(t, bytes.Repeat([]byte(" "), 10<<20)), 413, "content_too_long_exception"},
		"bomb of _msearch": {"POST /a/_msearch", packZstd(t, bytes.Repeat([]byte("{}\n{}"+strings.Repeat(" ", 1000)+"\n"), 200)), 413, "content_too_long_exception"},
		"window":           {"POST /a/_bulk", append([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x78}, whole[6:]...), 400, "the zstd data is damaged"},
		"nothing":          {"PUT /a/_doc/1", nil, 400, ""},
		"whole":            {"POST /a/_bulk", whole, 200, `"errors":false`},
	} {
		t.Run(name, func(t *testing.T) {
			if w := n.packed(c.target, "zstd", c.body); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("status %d, want %d: %s", w.Code, c.status, w.Body)
			}
		})
	}
}
