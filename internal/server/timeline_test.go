package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"

	"github.com/griffin-search/griffin"
)

// A query that moved from the GPU to the CPU.
func placedTrace() *griffin.Trace {
	const us = time.Microsecond
	return &griffin.Trace{Query: "fox <ran>", Migrations: 1, Steps: []griffin.TraceStep{
		{Name: "parse", Processor: "cpu", Took: 10 * us},
		{Name: "wait", Processor: "gpu", Start: 10 * us, Took: 40 * us},
		{Name: "intersect", Processor: "gpu0", Start: 50 * us, Took: 100 * us, Predicted: 80 * us, BusBytes: 64_000},
		{Name: "intersect", Processor: "cpu", Start: 150 * us, Took: 50 * us, Predicted: 70 * us},
		{Name: "fetch <x>", Processor: "cpu", Start: 200 * us, Took: 100 * us},
	}}
}

// tracedBackend returns placedTrace on request.
func tracedBackend() backend {
	plain := fakeBackend()
	return fakeSearch(func(ctx context.Context, req searchRequest) (*griffin.Results, error) {
		r, err := plain.search(ctx, req)
		if r.Trace != nil {
			r.Trace = placedTrace()
		}
		return r, err
	})
}

func TestTimelineOnPage(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, tracedBackend())
	if body := get(t, h, "/?q=fox").Body.String(); strings.Contains(body, "<svg") || !strings.Contains(body, `href="/?q=fox&amp;trace=1#trace"`) {
		t.Errorf("the page has a timeline that nobody asked for, or no way to it:\n%s", body)
	}
	body := get(t, h, "/?q=fox&trace=1").Body.String()
	contains(t, body,
		`<title id="timeline-title">Timeline of the search, from 0 to 300 µs</title>`,
		"parse on cpu from 0 µs for 10 µs; intersect on cpu from 150 µs for 50 µs, predicted 70 µs; fetch &lt;x&gt; on cpu",
		"waited for gpu from 10 µs for 40 µs", "64 KB over the bus while the step at 50 µs ran",
		"intersect on gpu0 from 50 µs for 100 µs, predicted 80 µs.</desc>",
		`<text class="lane" x="0" y="37">cpu</text>`, "100 µs (80 µs)</text>", `<text x="52" y="77">fetch &lt;x&gt;</text>`)
	if n := strings.Count(body, `class="bar `); n != 6+2 {
		t.Errorf("%d bars, want 6 that were measured and 2 that were predicted:\n%s", n, body)
	}
	if strings.Contains(body, "style=") || strings.Contains(body, "<script") {
		t.Error("the security policy allows neither styles in attributes nor scripts")
	}
	// Scale: 300 µs are 470 pixels, from 140 on.
	for _, want := range []string{
		`class="bar cpu" x="375" y="48" width="78.33333333333333"`, `class="bar thin cpu" x="375" y="59" width="109.66666666666667"`, `class="bar bus within" x="218.33333333333331"`,
	} {
		contains(t, body, want)
	}
	if newTimeline(nil) != nil || newTimeline(&griffin.Trace{}) != nil {
		t.Error("a timeline of nothing")
	}
}

// Times of any length have room.
func TestTimesBesideBars(t *testing.T) {
	const us = time.Microsecond
	s := newTimeline(&griffin.Trace{Steps: []griffin.TraceStep{
		{Name: "plan", Processor: "cpu", Took: 52 * us},
		{Name: "gpu", Processor: "gpu0", Start: 52 * us, Took: 34_200 * us, Predicted: 13_300 * time.Nanosecond},
	}})
	if got := s.Rows[1].Took; got != "34.2 ms (13.3 µs)" {
		t.Fatalf("the time is %q", got)
	}
	const glyph = 7 // the greatest width of a digit at 12 pixels in common typefaces, rounded down
	if room := s.Width - s.Times; room < glyph*len([]rune(s.Rows[1].Took)) {
		t.Errorf("%d pixels for %q", room, s.Rows[1].Took)
	}
	for _, r := range s.Rows {
		if r.X+r.Width > float64(s.To)+leastBar {
			t.Errorf("a bar from %v, %v wide, ends behind the axis at %d", r.X, r.Width, s.To)
		}
	}
}

func TestTraceInJSON(t *testing.T) {
	h := newHandler(Options{Logger: quiet()}, tracedBackend())
	var got searchResponse
	if err := json.Unmarshal(get(t, h, "/search?q=fox&trace=1").Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	want := placedTrace()
	if got.Trace == nil || got.Trace.Migrations != 1 || len(got.Trace.Steps) != len(want.Steps) {
		t.Fatalf("trace %+v", got.Trace)
	}
	for i, w := range want.Steps {
		s := got.Trace.Steps[i]
		if s.Name != w.Name || s.Processor != w.Processor || s.Start != w.Start || s.Took != w.Took || s.Predicted != w.Predicted || s.BusBytes != w.BusBytes {
			t.Errorf("step %d: %+v, want %+v", i, s, w)
		}
	}
	if body := get(t, h, "/search?q=fox").Body.String(); strings.Contains(body, `"trace"`) {
		t.Errorf("a trace that nobody asked for: %s", body)
	}
}

// For each text and bar of the chart: its kind, box in pixels, colour and background.
const chartScript = `(() => {
	const svg = document.querySelector(".timeline svg"), at = svg.getBoundingClientRect()
	const rgb = c => c.match(/[\d.]+/g).map(Number).slice(0, 3)
	return [...svg.querySelectorAll("text, rect")].map(e => {
		const b = e.getBoundingClientRect(), s = getComputedStyle(e)
		return [e.tagName + "." + e.getAttribute("class"), b.left - at.left, b.right - at.left, b.top - at.top, b.bottom - at.top,
			...rgb(s.fill === "none" ? s.stroke : s.fill), ...rgb(getComputedStyle(document.body).backgroundColor)]
	})
})()`

// The chart has a text alternative, is readable in both colour schemes, has room for its
// parts, and scrolls if it is too wide.
func TestTimelineInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser := startBrowser(t)
	base := serveHandler(t, newHandler(Options{Logger: quiet()}, tracedBackend()))
	tb := newTab(t, browser, base)
	for _, scheme := range []string{"light", "dark"} {
		emulateScheme(tb, scheme)
		tb.open("/?q=fox&trace=1")
		checkChart(tb, scheme)
	}
	if got := eval[string](tb, `document.title`); got != "fox – Griffin" {
		t.Errorf("the page's title is %q", got)
	}
	var images []string
	for _, n := range call(tb, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if role := axText(n.Role); !n.Ignored && (role == "image" || role == "img") {
			images = append(images, axText(n.Name)+": "+axText(n.Description))
		}
	}
	if !slices.ContainsFunc(images, func(s string) bool {
		return strings.HasPrefix(s, "Timeline of the search, from 0 to 300 µs: parse on cpu from 0 µs")
	}) {
		t.Errorf("images of the accessibility tree: %q", images)
	}
	tb.run(chromedp.EmulateViewport(320, 640))
	tb.open("/?q=fox&trace=1")
	if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 320 {
		t.Errorf("the page is %d pixels wide", got)
	}
	if !eval[bool](tb, `(e => e.scrollWidth > e.clientWidth && e.tabIndex === 0)(document.querySelector(".scroll"))`) {
		t.Error("the chart does not scroll by the keyboard where it has no room")
	}
}

func checkChart(tb *tab, scheme string) {
	type box struct {
		name                     string
		left, right, top, bottom float64
	}
	var texts, bars []box
	parts := eval[[][]any](tb, chartScript)
	for _, p := range parts {
		b := box{name: fmt.Sprint(p[0])}
		for i, to := range []*float64{&b.left, &b.right, &b.top, &b.bottom} {
			*to, _ = p[1+i].(float64)
		}
		least := 3.0 // WCAG 2.2, 1.4.11
		if strings.HasPrefix(b.name, "text") {
			least = 4.5 // 1.4.3
			texts = append(texts, b)
		} else {
			bars = append(bars, b)
		}
		if ratio := contrastRatio(rgb(p[5:8]), rgb(p[8:11])); ratio < least {
			tb.Errorf("%s: %s has contrast %.2f", scheme, b.name, ratio)
		}
	}
	if len(texts) < 15 || len(bars) != 8 {
		tb.Fatalf("%s: %d texts and %d bars", scheme, len(texts), len(bars))
	}
	width := eval[float64](tb, `document.querySelector(".timeline svg").getBoundingClientRect().width`)
	for i, a := range texts {
		if a.left < 0 || a.right > width+0.5 {
			tb.Errorf("%s: %s is cut off: from %.1f to %.1f of %.1f", scheme, a.name, a.left, a.right, width)
		}
		for _, b := range append(slices.Clone(texts[i+1:]), bars...) {
			if a.left < b.right && b.left < a.right && a.top+2 < b.bottom && b.top+2 < a.bottom {
				tb.Errorf("%s: %s at %.0f lies over %s at %.0f", scheme, a.name, a.left, b.name, b.left)
			}
		}
	}
}
