package server

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/rest"
)

// newDirectory serves an empty directory; do sends it a request.
func newDirectory(t *testing.T) (h *Handler, do func(method, target, accept, body string) *httptest.ResponseRecorder) {
	t.Helper()
	return newDirectoryIn(t, t.TempDir())
}

func newDirectoryIn(t *testing.T, dir string) (h *Handler, do func(method, target, accept, body string) *httptest.ResponseRecorder) {
	t.Helper()
	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d, err := rest.OpenDirectory(t.Context(), dir, rest.DirectoryOptions{Index: griffin.Options{Runtime: runtime}, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(context.Background()); err != nil {
			t.Error(err)
		}
		if err := runtime.Close(); err != nil {
			t.Error(err)
		}
	})
	if h, err = New(Options{Directory: d, Logger: quiet()}); err != nil {
		t.Fatal(err)
	}
	return h, func(method, target, accept, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest(method, target, strings.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w
	}
}

// A damaged file of one of the indexes shows in the health of the server, whatever asked for it.
func TestHealthOfDamagedDirectory(t *testing.T) {
	for _, target := range []string{"/search?q=whale", "/?q=whale", "/a/_search?q=whale"} {
		t.Run(target, func(t *testing.T) {
			dir := t.TempDir()
			_, do := newDirectoryIn(t, dir)
			do(http.MethodPut, "/a/_doc/1", "", `{"t":"whale"}`)
			do(http.MethodPost, "/a/_flush", "", "")
			if w := do(http.MethodGet, "/healthz", "", ""); w.Code != http.StatusOK {
				t.Fatalf("status %d before", w.Code)
			}
			names, err := filepath.Glob(filepath.Join(dir, "a", "seg-*", "stored"))
			if err != nil || len(names) == 0 {
				t.Fatalf("files %q, error %v", names, err)
			}
			for _, name := range names {
				damage(t, name)
			}
			if w := do(http.MethodGet, target, "text/html", ""); w.Code != http.StatusInternalServerError {
				t.Fatalf("status %d of a search: %s", w.Code, w.Body)
			}
			if w := do(http.MethodGet, "/healthz", "", ""); w.Code != http.StatusServiceUnavailable {
				t.Errorf("status %d afterwards", w.Code)
			}
			if w := do(http.MethodGet, "/_cluster/health", "", ""); !strings.Contains(w.Body.String(), `"status":"red"`) {
				t.Errorf("health: %s", w.Body)
			}
		})
	}
}

// damage changes a byte after the header of a file, which may be mapped.
func damage(t *testing.T, name string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	const at = 64
	var b [1]byte
	if _, err := f.ReadAt(b[:], at); err != nil {
		t.Fatal(err)
	}
	b[0]++
	if _, err := f.WriteAt(b[:], at); err != nil {
		t.Fatal(err)
	}
}

// A multi-search is counted and measured apart from searches.
func TestMultiSearchIsNoSearch(t *testing.T) {
	h, do := newDirectory(t)
	do(http.MethodPut, "/a/_doc/1?refresh=true", "", `{"t":"whale"}`)
	searches, multi := h.state.searches, h.state.multi
	if w := do(http.MethodPost, "/a/_msearch", "", "{}\n{}\n"); w.Code != http.StatusOK || searches.cost != 0 || multi.cost == 0 {
		t.Errorf("a multi-search: status %d; a search takes %v s, a multi-search %v s", w.Code, searches.cost, multi.cost)
	}
	learnt := multi.cost
	for _, target := range []string{"/a/_search?q=whale", "/a/_count", "/search?q=whale"} {
		searches.cost = 0
		if w := do(http.MethodGet, target, "", ""); w.Code != http.StatusOK || searches.cost == 0 || multi.cost != learnt {
			t.Errorf("%s: status %d; a search takes %v s, a multi-search %v s, before %v", target, w.Code, searches.cost, multi.cost, learnt)
		}
	}
	if searches.running != 0 || multi.running != 0 {
		t.Errorf("%d searches and %d multi-searches are left", searches.running, multi.running)
	}
}

func TestDirectory(t *testing.T) {
	_, do := newDirectory(t)
	type want struct {
		target, accept string
		status         int
		want           string
	}
	check := func(wanted ...want) {
		t.Helper()
		for _, c := range wanted {
			if w := do(http.MethodGet, c.target, c.accept, ""); w.Code != c.status || !strings.Contains(w.Body.String(), c.want) {
				t.Errorf("%s: status %d, want %d and %s: %.2000s", c.target, w.Code, c.status, c.want, w.Body)
			}
		}
	}
	check(
		want{"/search?q=x", "", 404, "PUT /NAME makes one"},
		want{"/", "text/html", 200, "There is no index yet"},
		want{"/?q=x", "text/html", 404, "PUT /NAME makes one"},
	)
	do(http.MethodPut, "/a/_doc/1?refresh=true", "", `{"title":"first","t":"whale"}`)
	check(
		want{"/search?q=whale", "", 200, `"id":"1"`},
		want{"/?q=whale", "text/html", 200, `href="/document?id=1&amp;index=a"`},
		want{"/", "text/html", 200, `<input type="hidden" name="index" value="a">`},
		want{"/?index=c&q=whale", "text/html", 404, `<option value="">Choose an index</option>`},
	)
	do(http.MethodPut, "/b/_doc/2?refresh=true", "", `{"title":"second","t":"whale"}`)
	check(
		want{"/search?q=whale", "", 400, "?index=NAME; there are: a, b"},
		want{"/search?q=whale&index=b", "", 200, `"id":"2"`},
		want{"/search?q=whale&index=b&x=y", "", 400, "timeout, index"},
		want{"/search?q=whale&index=c", "", 404, "no index \\\"c\\\"; there are: a, b"},
		want{"/", "application/json", 200, `"distribution":"opensearch"`},
		want{"/", "text/html", 200, `<option value="">Choose an index</option>`},
		want{"/", "text/html", 200, "What you can type"},
		want{"/?q=whale", "text/html", 400, `value="whale"`},
		want{"/?q=whale", "text/html", 400, "there are: a, b"},
		want{"/?q=whale&index=b", "text/html", 200, `<option value="b" selected>b</option>`},
		want{"/?q=whale&index=b", "text/html", 200, `href="/document?id=2&amp;index=b"`},
		want{"/document?id=2&index=b", "text/html", 200, "second"},
		want{"/document?id=2", "text/html", 400, "there are: a, b"},
		want{"/healthz", "", 200, "ok"},
		want{"/metrics", "", 200, `griffin_writes_total{outcome="created"} 2`},
		want{"/b/_search?q=whale", "", 200, `"_id":"2"`},
		want{"/c/_search", "", 404, "index_not_found_exception"},
	)
}

// The choice of an index works without JavaScript and stays in the address.
func TestDirectoryInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	h, do := newDirectory(t)
	long := strings.Repeat("long-", 40) + "b"
	do(http.MethodPut, "/a/_doc/1?refresh=true", "", `{"title":"first","t":"ship"}`)
	do(http.MethodPut, "/"+long+"/_doc/2?refresh=true", "", `{"title":"second","t":"white whale"}`)
	tb := newTab(t, startBrowser(t), serveHandler(t, h))
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.run(chromedp.EmulateViewport(320, 640))
	tb.open("/")
	tb.run(chromedp.Focus(chromedp.CSS("#index")), chromedp.KeyEvent("l"), chromedp.SendKeys(chromedp.CSS("#q"), "whale"+kb.Enter), chromedp.WaitReady(chromedp.CSS("ol mark")))
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: false})
	for _, step := range []string{"ol h3 a", "h1 a"} {
		if got, want := eval[string](tb, `document.querySelector("#index").value + ", " + new URL(location).searchParams.get("index")`), long+", "+long; got != want {
			tb.Errorf("before %s the chosen index is %s", step, got)
		}
		if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 320 {
			tb.Errorf("before %s the page is %d pixels wide", step, got)
		}
		tb.run(chromedp.Click(chromedp.CSS(step)), chromedp.WaitReady(chromedp.CSS(map[string]string{"ol h3 a": ".text", "h1 a": "body.start"}[step])))
	}
	tb.run(chromedp.SendKeys(chromedp.CSS("#q"), "white"+kb.Enter), chromedp.WaitReady(chromedp.CSS("ol mark")))
}
