package server

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/griffin-search/griffin"
)

func contains(t *testing.T, body string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(body, want) {
			t.Errorf("page lacks %s:\n%s", want, body)
		}
	}
}

func TestStartPage(t *testing.T) {
	w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), "/")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "<title>Griffin</title>", "Search 3 documents", " autofocus", "What you can type")
}

func TestResultsPage(t *testing.T) {
	w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), "/?q=%22fox%22&mode=and&utm_source=x")
	if w.Code != http.StatusOK {
		t.Fatalf("status %d", w.Code)
	}
	contains(t, w.Body.String(),
		"<title>&quot;fox&quot; – Griffin</title>", `value="&quot;fox&quot;"`, `<option value="and" selected>`,
		`3 results <span class="time">in 1.5 ms</span>`, `<a href="/document?id=a%2Fone.txt">One &amp; only</a>`,
		"a &lt;b&gt;<mark>fox</mark>&lt;/b&gt; ran", "score 2.50", `<a href="/document?id=b">b</a>`,
		`href="/search?mode=and&amp;q=%22fox%22"`)
}

func TestPagesOfResults(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	body := get(t, h, "/?q=fox&k=2").Body.String()
	contains(t, body, "Results 1 to 2 ", `rel="next" href="/?k=2&amp;offset=2&amp;q=fox"`)
	if strings.Contains(body, `rel="prev"`) {
		t.Error("the first page has a page before it")
	}
	body = get(t, h, "/?q=fox&k=2&offset=2").Body.String()
	contains(t, body, "Results 3 to 3 ", `<ol start="3">`, `id="hit-3"`, `rel="prev" href="/?k=2&amp;q=fox"`)
	if strings.Contains(body, `rel="next"`) {
		t.Error("the last page has a page after it")
	}
	contains(t, get(t, h, "/?q=fox&offset=10").Body.String(), "No further results", `rel="prev"`)
}

func TestEmptyResultPage(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) {
		return &griffin.Results{Notes: []string{`"the" is a stop word`}}, nil
	}))
	w := get(t, h, "/?q=the&mode=and")
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "No document matches", "&quot;the&quot; is a stop word", `<a href="/?q=the">Search for any of the words</a>`)
}

func TestPageIsLenient(t *testing.T) {
	lenient := false
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(_ context.Context, req searchRequest) (*griffin.Results, error) {
		lenient = req.Lenient
		return &griffin.Results{}, nil
	}))
	if get(t, h, "/?q=("); !lenient {
		t.Error("the page must make the best of a faulty query")
	}
	if get(t, h, "/search?q=("); lenient {
		t.Error("the API must tell about a faulty query")
	}
}

func TestTraceOnPage(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	contains(t, get(t, h, "/?q=fox").Body.String(), `href="/?q=fox&amp;trace=1#trace"`)
	body := get(t, h, "/?q=fox&k=1&trace=1").Body.String()
	contains(t, body, `<h2 id="trace-title">`, "query fox, mode or", `rel="next" href="/?k=1&amp;offset=1&amp;q=fox&amp;trace=1"`, `/search?k=1&amp;q=fox&amp;trace=1`)
	if strings.Contains(body, "#trace") {
		t.Error("the page with the trace links to the trace")
	}
}

// With hits and without.
func TestBudgetOnPage(t *testing.T) {
	r := &griffin.Results{Query: "fox", Mode: griffin.ModeSaat, Missed: 41.5}
	h := newHandler(Options{Logger: quiet()}, fakeSearch(func(context.Context, searchRequest) (*griffin.Results, error) { return r, nil }))
	contains(t, get(t, h, "/?q=fox&mode=saat&rho=1").Body.String(), "Nothing found within the budget", "up to 41.50 too low")
	r.Hits = []griffin.Hit{{ID: "a", Score: 1}}
	contains(t, get(t, h, "/?q=fox&mode=saat&rho=1").Body.String(), "1 result", "up to 41.50 too low")
	r.Missed = 0
	if body := get(t, h, "/?q=fox").Body.String(); strings.Contains(body, "budget") {
		t.Error("a budget is spoken of where none was")
	}
}

func TestErrorPage(t *testing.T) {
	w := get(t, newHandler(Options{Logger: quiet()}, fakeBackend()), "/?q=fox&k=zero")
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), `aria-invalid="true" aria-describedby="error"`, `role="alert"`, "k &quot;zero&quot; is not a number", `value="fox"`)
}

func TestDocumentPage(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	w := get(t, h, "/document?id=a%2Fone.txt")
	if w.Code != http.StatusOK {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "<title>One &amp; only – Griffin</title>", "a &lt;b&gt;fox&lt;/b&gt; ran\naway</div>")
	if w := get(t, h, "/document?id=%3Cscript%3E"); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<script") {
		t.Errorf("unknown document: status %d: %s", w.Code, w.Body)
	}
}

func TestPageHasNoScriptAndNoForeignAddress(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, fakeBackend())
	for _, target := range []string{"/", "/?q=fox", "/document?id=a%2Fone.txt"} {
		body := get(t, h, target).Body.String()
		for _, bad := range []string{"<script", "javascript:", "//", " onload", " style="} {
			if strings.Contains(strings.ReplaceAll(body, "http://www.w3.org", ""), bad) {
				t.Errorf("%s holds %q", target, bad)
			}
		}
		if len(body) > 16<<10 {
			t.Errorf("%s has %d bytes", target, len(body))
		}
	}
}

func TestFormats(t *testing.T) {
	for d, want := range map[time.Duration]string{
		830 * time.Microsecond: "830 µs", 12300 * time.Microsecond: "12.3 ms", 1250 * time.Millisecond: "1.25 s",
	} {
		if got := formatDuration(d); got != want {
			t.Errorf("formatDuration(%d) = %s, want %s", d, got, want)
		}
	}
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		if got := formatCount(n); got != want {
			t.Errorf("formatCount(%d) = %s, want %s", n, got, want)
		}
	}
}
