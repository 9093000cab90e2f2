package rest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// countedReader counts the bytes read of an endless body.
type countedReader struct{ n int }

func (r *countedReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = ' '
	}
	r.n += len(p)
	return len(p), nil
}

// Bodies of searches are used up to the limit of queries, not of documents, and an endless rest is not read for ever.
func TestSearchBody(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{})
	if w := n.do("PUT /books", ""); w.Code != http.StatusOK {
		t.Fatal(w.Body)
	}
	for _, path := range []string{"/books/_search", "/books/_count", "/books/_delete_by_query"} {
		body := new(countedReader)
		w := httptest.NewRecorder()
		r := httptest.NewRequest(http.MethodPost, path, body)
		r.Header.Set("Content-Type", "application/json")
		n.h.ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || !strings.Contains(w.Body.String(), "1048576 bytes") || body.n > maxDroppedChunks+2*maxQueryText {
			t.Errorf("%s: %d bytes read, %d %s", path, body.n, w.Code, w.Body)
		}
	}
}
