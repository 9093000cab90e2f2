package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// With an engine that answers only some modes, the page offers these, and the first is the default.
func TestModesOfEngine(t *testing.T) {
	h, err := New(Options{Index: browserIndex(t), Logger: quiet(), Modes: []griffin.Mode{griffin.ModeAnd}})
	if err != nil {
		t.Fatal(err)
	}
	get := func(path, accept string) string {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Body.String()
	}
	if page := get("/", "text/html"); strings.Contains(page, `value="or"`) || !strings.Contains(page, `value="and"`) {
		t.Errorf("the page offers other modes: %s", page)
	}
	if answer := get("/search?q=word", "application/json"); !strings.Contains(answer, `"mode":"and"`) {
		t.Errorf("without a mode: %s", answer)
	}
	if answer := get("/search?q=word&mode=or", "application/json"); !strings.Contains(answer, `"mode":"or"`) {
		t.Errorf("with a mode: %s", answer)
	}
}
