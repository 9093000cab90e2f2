package server

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/griffin-search/griffin"
)

var update = flag.Bool("update", false, "take the pictures in docs/images anew")

const attack = `<script>document.title="owned"</script><img src=x onerror="document.title='owned'">`

// Two documents with hostile markup.
var browserDocs = []griffin.Document{
	{ID: "net/http/server.txt", Title: "Package net/http: servers", Text: "ListenAndServe starts an HTTP server with a given address and handler. The handler is usually nil, which means to use DefaultServeMux. Shutdown gracefully shuts down the server without interrupting any active connections."},
	{ID: "net/http/client.txt", Title: "Package net/http: clients", Text: "Get, Head, Post, and PostForm make HTTP requests. The caller must close the response body when finished with it. For control over redirect policy, create a Client."},
	{ID: "context.txt", Title: "Package context", Text: "Incoming requests to a server should create a Context, and outgoing calls to servers should accept a Context. The chain of function calls between them must propagate the Context."},
	{ID: "effective-go.txt", Title: "Effective Go: a web server", Text: "Let's finish with a complete Go program, a web server. This one is actually a kind of web re-server. Google provides a service at chart.apis.google.com that does automatic formatting of data into charts and graphs."},
	{ID: `evil"><b>.html`, Title: "Hostile " + attack, Text: "A hostile page " + attack + " in the middle of its text."},
	{ID: "javascript:alert(1)", Text: "Another hostile page without a title " + attack},
}

func newIndex(t *testing.T) *griffin.Index {
	t.Helper()
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "index"), griffin.Settings{Analyzer: "english"}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	return ix
}

func browserIndex(t *testing.T) *griffin.Index {
	t.Helper()
	ix := newIndex(t)
	if err := ix.Add(t.Context(), browserDocs...); err != nil {
		t.Fatal(err)
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ix
}

func serveIndex(t *testing.T, ix *griffin.Index) string {
	t.Helper()
	h, err := New(Options{Index: ix, Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return serveHandler(t, h)
}

func serveHandler(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return srv.URL
}

// startBrowser starts Chromium, or skips the test unless the environment requires
// one.
func startBrowser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "chrome"} {
		if p, err := exec.LookPath(name); err == nil {
			path = p
			break
		}
	}
	if path == "" {
		if os.Getenv("CI") == "true" || os.Getenv("GRIFFIN_REQUIRE_BROWSER") != "" {
			t.Fatal("no Chromium: install it (apt-get install chromium)")
		}
		t.Skip("no Chromium found; make test installs it")
	}
	// The allocator has a folder for the profile, which processes of the browser that outlive it write to, and removes it after
	// their end. t.TempDir does not wait for them.
	opts := []chromedp.ExecAllocatorOption{
		chromedp.ExecPath(path), chromedp.WindowSize(1000, 900),
		chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck,
		chromedp.Flag("disable-quic", true), chromedp.Flag("disable-background-networking", true),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-dev-shm-usage", true), chromedp.Flag("force-color-profile", "srgb"),
		chromedp.WSURLReadTimeout(patience),
	}
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), opts...)
	t.Cleanup(cancel)
	ctx, cancelBrowser := chromedp.NewContext(ctx)
	t.Cleanup(cancelBrowser)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting %s: %v", path, err)
	}
	return ctx
}

// tab is a page of the browser, whose console must have no error: no exception, no
// violation of the security policy.
type tab struct {
	*testing.T
	ctx  context.Context
	base string
}

func newTab(t *testing.T, browser context.Context, base string) *tab {
	t.Helper()
	ctx, cancel := chromedp.NewContext(browser)
	ctx, cancelTimeout := context.WithTimeout(ctx, patience)
	var mu sync.Mutex
	var complaints []string
	err := chromedp.Listen(ctx, func(event any) {
		mu.Lock()
		defer mu.Unlock()
		switch e := event.(type) {
		case *log.EventEntryAdded:
			if strings.HasSuffix(e.Entry.URL, "&k=x") {
				return // expected: the status of an error page
			}
			complaints = append(complaints, fmt.Sprintf("%s: %s %s", e.Entry.Level, e.Entry.Text, e.Entry.URL))
		case *runtime.EventExceptionThrown:
			complaints = append(complaints, "exception: "+e.ExceptionDetails.Text)
		case *runtime.EventConsoleAPICalled:
			complaints = append(complaints, fmt.Sprintf("console.%s", e.Type))
		case *page.EventJavascriptDialogOpening:
			complaints = append(complaints, "a dialog: "+e.Message)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancelTimeout()
		cancel()
		mu.Lock()
		defer mu.Unlock()
		for _, c := range complaints {
			t.Errorf("the console says: %s", c)
		}
	})
	tb := &tab{t, ctx, base}
	call(tb, log.Enable, cdp.Empty{})
	call(tb, runtime.Enable, cdp.Empty{})
	call(tb, page.Enable, page.EnableParams{})
	return tb
}

// call sends a command of the DevTools protocol.
func call[P, R any](tb *tab, command cdp.Command[P, R], params P) R {
	tb.Helper()
	result, err := chromedp.Call(tb.ctx, command, params)
	if err != nil {
		tb.Fatal(err)
	}
	return result
}

func (tb *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	tb.Helper()
	if err := chromedp.Do(tb.ctx, actions...); err != nil {
		tb.Fatal(err)
	}
}

func (tb *tab) open(target string) {
	tb.Helper()
	tb.run(chromedp.Navigate(tb.base+target), chromedp.WaitReady(chromedp.CSS("main")))
}

func eval[T any](tb *tab, expression string) T {
	tb.Helper()
	v, err := chromedp.Run(tb.ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func TestInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, base := startBrowser(t), serveIndex(t, browserIndex(t))
	for _, test := range []struct {
		name string
		run  func(*tab)
	}{
		{"TypeAndEnter", typeAndEnter},
		{"KeyboardOnly", keyboardOnly},
		{"NothingFound", nothingFound},
		{"HostileQuery", hostileQuery},
		{"HostileDocument", hostileDocument},
		{"WithoutJavaScript", withoutJavaScript},
		{"AccessibilityTree", accessibilityTree},
		{"Contrast", contrast},
		{"NarrowScreen", narrowScreen},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newTab(t, browser, base)) })
	}
}

func typeAndEnter(tb *tab) {
	tb.open("/")
	if got := eval[string](tb, `document.activeElement.id`); got != "q" {
		tb.Errorf("the start page has the focus on %q, want the query", got)
	}
	tb.run(chromedp.SendKeys(chromedp.CSS("#q"), "server handler"+kb.Enter), chromedp.WaitVisible(chromedp.CSS("ol mark")))
	marks := eval[[]string](tb, `[...document.querySelectorAll("ol li:first-child mark")].map(m => m.textContent.toLowerCase())`)
	if !slices.Contains(marks, "server") || !slices.Contains(marks, "handler") {
		tb.Errorf("the first hit has the marks %q", marks)
	}
	if got := eval[string](tb, `document.querySelector("ol h3").textContent`); got != browserDocs[0].Title {
		tb.Errorf("the first hit is %q", got)
	}
	if got := eval[string](tb, `document.querySelector("#q").value`); got != "server handler" {
		tb.Errorf("the query became %q", got)
	}
	if got := eval[string](tb, `document.title`); got != "server handler – Griffin" {
		tb.Errorf("the title is %q", got)
	}
	tb.run(chromedp.Click(chromedp.CSS("ol h3 a")), chromedp.WaitVisible(chromedp.CSS(".text")))
	if got := eval[string](tb, `document.querySelector(".text").textContent`); got != browserDocs[0].Text {
		tb.Errorf("the document's text is %q", got)
	}
}

// Only the Tab key; another mode.
func keyboardOnly(tb *tab) {
	tb.open("/?q=server+handler")
	const focused = `(e => { const s = getComputedStyle(e); return (e.id || e.className || e.tagName.toLowerCase()) + (s.outlineStyle === "none" ? " (not visible)" : "") })(document.activeElement)`
	var order []string
	for range 8 {
		tb.run(chromedp.KeyEvent(kb.Tab))
		order = append(order, eval[string](tb, focused))
	}
	if got, want := strings.Join(order, ", "), "skip, a, q, mode, button, a, a, a"; got != want {
		tb.Errorf("Tab goes to %s; want %s", got, want)
	}
	tb.run(chromedp.Focus(chromedp.CSS("#q")), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Tab), chromedp.KeyEvent(kb.Enter))
	tb.run(chromedp.WaitReady(chromedp.CSS(`option[value="and"][selected]`)))
	if got := eval[int](tb, `document.querySelectorAll("ol > li").length`); got != 1 {
		tb.Errorf("%d documents have all words, want 1", got)
	}
	tb.run(chromedp.Focus(chromedp.CSS(".skip")))
	if !eval[bool](tb, `(r => r.left >= 0 && r.width > 0)(document.querySelector(".skip").getBoundingClientRect())`) {
		tb.Error("the skip link cannot be seen when it has the focus")
	}
	tb.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("#main:focus")))
}

func nothingFound(tb *tab) {
	tb.open("/?mode=and&q=server+xylophone")
	if got := eval[string](tb, `document.querySelector("[role=status]").textContent`); got != "No document matches" {
		tb.Errorf("the status is %q", got)
	}
	tb.run(chromedp.Click(chromedp.CSS("main li a")), chromedp.WaitVisible(chromedp.CSS("ol mark")))
}

// Markup in every parameter.
func hostileQuery(tb *tab) {
	tb.open("/")
	tb.run(chromedp.SendKeys(chromedp.CSS("#q"), `"><script>document.title="owned"</script>`+kb.Enter), chromedp.WaitVisible(chromedp.CSS(".notice, ol")))
	inert(tb)
	if got := eval[string](tb, `document.querySelector("#q").value`); got != `"><script>document.title="owned"</script>` {
		tb.Errorf("the query became %q", got)
	}
}

// Text, title and id hold markup.
func hostileDocument(tb *tab) {
	tb.open("/?q=hostile")
	if got := eval[int](tb, `document.querySelectorAll("ol > li").length`); got != 2 {
		tb.Fatalf("%d hostile documents found, want 2", got)
	}
	inert(tb)
	if snippet := eval[string](tb, `document.querySelector(".snippet").textContent`); !strings.Contains(snippet, "<script>") {
		tb.Errorf("the snippet lost its text: %q", snippet)
	}
	for i := range 2 {
		tb.open("/?q=hostile")
		tb.run(chromedp.Click(chromedp.CSS(fmt.Sprintf("ol > li:nth-child(%d) h3 a", i+1))), chromedp.WaitVisible(chromedp.CSS(".text")))
		inert(tb)
		if text := eval[string](tb, `document.querySelector(".text").textContent`); !strings.Contains(text, attack) {
			tb.Errorf("the document lost its text: %q", text)
		}
	}
}

// Injected markup has no effect.
func inert(tb *tab) {
	tb.Helper()
	if eval[string](tb, `document.title`) == "owned" {
		tb.Error("a script ran")
	}
	if n := eval[int](tb, `document.querySelectorAll("script, main img, main b, [onerror], a[href^='javascript:']").length`); n != 0 {
		tb.Errorf("%d elements were injected", n)
	}
}

func withoutJavaScript(tb *tab) {
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.open("/")
	tb.run(chromedp.SendKeys(chromedp.CSS("#q"), "server"+kb.Enter), chromedp.WaitReady(chromedp.CSS("ol mark")))
	html, err := chromedp.Run(tb.ctx, chromedp.OuterHTML(chromedp.CSS("ol")))
	if err != nil {
		tb.Fatal(err)
	}
	if !strings.Contains(html, "<mark>server</mark>") {
		tb.Errorf("the results are %s", html)
	}
}

// The output for screen readers.
func accessibilityTree(tb *tab) {
	for target, wanted := range map[string][]string{
		"/": {
			"banner", "main", "search: Documents", "searchbox: Search 6 documents", "combobox: Which documents to find",
			"button: Search", "heading 1: Griffin", "heading 2: What you can type", "link: Skip to the results",
		},
		"/?q=server": {
			"banner", "main", "searchbox: Search 6 documents", "heading 1: Griffin", "heading 3: Package context", "list",
			"article: Package context", "link: Package context", "navigation: Pages of results", "status", "mark",
		},
		"/?q=server&k=x":           {"alert", "heading 2: That did not work", "searchbox: Search 6 documents"},
		"/document?id=context.txt": {"main", "article: Package context", "heading 2: Package context"},
	} {
		tb.open(target)
		var tree []string
		level := 0
		for _, n := range call(tb, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
			if n.Ignored {
				continue
			}
			role, name := axText(n.Role), axText(n.Name)
			if role == "heading" {
				for _, p := range n.Properties {
					if p.Name == accessibility.PropertyNameLevel {
						role += " " + axText(p.Value)
						if to := int(axText(p.Value)[0] - '0'); to > level+1 {
							tb.Errorf("%s: heading %q of level %d follows one of level %d", target, name, to, level)
						} else {
							level = to
						}
					}
				}
			}
			if slices.Contains([]string{"link", "button", "searchbox", "combobox", "textbox", "article", "navigation"}, role) && name == "" {
				tb.Errorf("%s: a %s has no name", target, role)
			}
			tree = append(tree, strings.TrimSuffix(role+": "+name, ": "), role)
		}
		for _, want := range wanted {
			if !slices.Contains(tree, want) {
				tb.Errorf("%s: no %s in the accessibility tree:\n%s", target, want, strings.Join(tree, "\n"))
			}
		}
	}
}

func axText(v *accessibility.Value) string {
	if v == nil {
		return ""
	}
	var text string
	if json.Unmarshal([]byte(v.Value), &text) != nil { // a number
		return string(v.Value)
	}
	return text
}

// Text and background colours of each element with text, as [name, r, g, b, r, g, b].
const contrastScript = `[...document.querySelectorAll("body *")].filter(e =>
	e.offsetParent !== null && ([...e.childNodes].some(n => n.nodeType === 3 && n.data.trim()) || e.matches("input, select"))).map(e => {
	const rgb = c => c.match(/[\d.]+/g).map(Number)
	let g = e
	while (g.parentElement && rgb(getComputedStyle(g).backgroundColor)[3] === 0) g = g.parentElement
	return [e.tagName + "." + e.className, ...rgb(getComputedStyle(e).color).slice(0, 3), ...rgb(getComputedStyle(g).backgroundColor).slice(0, 3)]
})`

// WCAG 2.2, 1.4.3 (AA: 4.5 to 1) in both colour schemes.
func contrast(tb *tab) {
	for _, scheme := range []string{"light", "dark"} {
		emulateScheme(tb, scheme)
		for _, target := range []string{"/", "/?q=server", "/?q=server&k=1", "/?q=server&trace=1", "/?q=xylophone&mode=and", "/?q=a&k=x", "/document?id=context.txt"} {
			tb.open(target)
			if dark := eval[bool](tb, `matchMedia("(prefers-color-scheme: dark)").matches`); dark != (scheme == "dark") {
				tb.Fatalf("the scheme is not %s", scheme)
			}
			elements := eval[[][]any](tb, contrastScript)
			if len(elements) < 8 {
				tb.Errorf("%s: only %d elements with text", target, len(elements))
			}
			for _, e := range elements {
				if ratio := contrastRatio(rgb(e[1:4]), rgb(e[4:7])); ratio < 4.5 {
					tb.Errorf("%s, %s: %s has contrast %.2f", target, scheme, e[0], ratio)
				}
			}
		}
	}
}

func emulateScheme(tb *tab, scheme string) {
	tb.Helper()
	call(tb, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
	})
}

func rgb(v []any) (c [3]float64) {
	for i := range c {
		c[i], _ = v[i].(float64)
	}
	return c
}

// WCAG's (L1+0.05)/(L2+0.05) of the relative luminances: black on white is 21.
func contrastRatio(a, b [3]float64) float64 {
	luminance := func(c [3]float64) float64 {
		for i, v := range c {
			if v /= 255; v <= 0.04045 {
				c[i] = v / 12.92
			} else {
				c[i] = math.Pow((v+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*c[0] + 0.7152*c[1] + 0.0722*c[2]
	}
	la, lb := luminance(a), luminance(b)
	return (max(la, lb) + 0.05) / (min(la, lb) + 0.05)
}

func TestContrastRatio(t *testing.T) {
	if got := contrastRatio([3]float64{}, [3]float64{255, 255, 255}); math.Abs(got-21) > 1e-9 {
		t.Errorf("black on white: %v, want 21", got)
	}
}

// WCAG 2.2, 1.4.10: no horizontal scrolling at 320 pixels.
func narrowScreen(tb *tab) {
	tb.run(chromedp.EmulateViewport(320, 640))
	for _, target := range []string{"/", "/?q=server", "/?q=hostile", "/?q=server&trace=1", "/?q=xylophone", "/document?id=context.txt"} {
		tb.open(target)
		if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 320 {
			tb.Errorf("%s is %d pixels wide", target, got)
		}
	}
}

// With -update, takes the pictures for the documents, of an index of Go's net package.
func TestPictures(t *testing.T) {
	if !*update {
		t.Skip("takes pictures with -update only (make pictures)")
	}
	goroot, err := exec.Command("go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	ix := newIndex(t)
	dir := filepath.Join(strings.TrimSpace(string(goroot)), "src", "net")
	if _, err := ix.IndexFiles(t.Context(), []string{dir}, griffin.FilesOptions{}); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, startBrowser(t), serveIndex(t, ix))
	for _, scheme := range []string{"light", "dark"} {
		emulateScheme(tb, scheme)
		for range 3 { // the last one measures a warm index
			tb.open("/?q=graceful+server+shutdown")
		}
		tb.run(chromedp.EmulateViewport(880, 700, chromedp.EmulateScale(1.5)))
		png, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("../../docs/images/serve-"+scheme+".png", png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
