package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

func TestDirectory(t *testing.T) {
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := rest.OpenDirectory(t.Context(), t.TempDir(), rest.DirectoryOptions{Index: griffin.Options{Runtime: runtime}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	}()
	h, err := New(Options{Directory: d, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	do := func(method, target, accept, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
	if w := do(http.MethodGet, "/search?q=x", "", ""); w.Code != http.StatusNotFound {
		t.Errorf("a search without an index: status %d", w.Code)
	}
	do(http.MethodPut, "/a/_doc/1?refresh=true", "", `{"title":"first","t":"whale"}`)
	do(http.MethodPut, "/b/_doc/2?refresh=true", "", `{"title":"second","t":"whale"}`)
	for _, c := range []struct {
		target, accept string
		status         int
		want           string
	}{
		{"/search?q=whale", "", 200, `"id":"1"`},
		{"/search?q=whale&index=b", "", 200, `"id":"2"`},
		{"/search?q=whale&index=c", "", 404, "no index"},
		{"/", "application/json", 200, `"distribution":"opensearch"`},
		{"/?q=whale&index=b", "text/html", 200, `href="/document?id=2&amp;index=b"`},
		{"/document?id=2&index=b", "text/html", 200, "second"},
		{"/healthz", "", 200, "ok"},
		{"/metrics", "", 200, `griffin_writes_total{outcome="created"} 2`},
		{"/b/_search?q=whale", "", 200, `"_id":"2"`},
		{"/c/_search", "", 404, "index_not_found_exception"},
	} {
		if w := do(http.MethodGet, c.target, c.accept, ""); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
			t.Errorf("%s: status %d, want %d and %s: %.2000s", c.target, w.Code, c.status, c.want, w.Body)
		}
	}
}
