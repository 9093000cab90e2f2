package server

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/shareddata"
)

func TestFacetsInBrowser(t *testing.T) {
	if testing.Short() {
		t.Skip("starts a browser")
	}
	browser, base := startBrowser(t), serveHandler(t, shopHandler(t))
	for _, test := range []struct {
		name string
		run  func(*tab)
	}{
		{"WithoutJavaScript", facetsWithoutJavaScript},
		{"Keyboard", facetsByKeyboard},
		{"Names", facetNames},
		{"Looks", facetLooks},
	} {
		t.Run(test.name, func(t *testing.T) { test.run(newTab(t, browser, base)) })
	}
}

// A value, a range and an order are chosen and removed.
func facetsWithoutJavaScript(tb *tab) {
	call(tb, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	tb.open("/?q=red")
	wait := func(part string) {
		tb.Helper()
		tb.run(chromedp.WaitReady(chromedp.CSS(part)))
	}
	tb.run(chromedp.Click(chromedp.CSS("aside section:nth-of-type(1) li:first-child a")))
	wait(`aside a[aria-current]`)
	tb.run(chromedp.SendKeys(chromedp.CSS(`aside input[name=from]`), "100"+kb.Enter))
	wait(`.chips li:nth-child(2)`)
	tb.run(chromedp.Focus(chromedp.CSS("#sort")), chromedp.KeyEvent("price, lowest"+kb.Tab+kb.Enter))
	wait(`option[value="price:asc"][selected]`)
	wait(`.chips li:nth-child(2)`)
	tb.run(chromedp.Click(chromedp.CSS(".chips li:first-child a")))
	wait(`.chips li:only-child`)
	tb.run(chromedp.Click(chromedp.CSS(".chips a")))
	wait(`header form:last-child`)
}

// Tab reaches every value and every form after the results.
func facetsByKeyboard(tb *tab) {
	tb.open("/?q=red&k=1")
	const focused = `(e => (e.closest("aside") ? "facet " : "") + (e.name || e.id || e.tagName.toLowerCase()) + (getComputedStyle(e).outlineStyle === "none" ? " (not visible)" : ""))(document.activeElement)`
	links := eval[int](tb, `document.querySelectorAll("aside a").length`)
	var order []string
	for range 14 + links + 20 {
		tb.run(chromedp.KeyEvent(kb.Tab))
		order = append(order, eval[string](tb, focused))
	}
	if got := order[:6]; !slices.Equal(got, []string{"a", "a", "q", "mode", "sort", "button"}) {
		tb.Errorf("Tab goes to %q", got)
	}
	reached := 0
	for _, name := range order {
		if name == "facet a" {
			reached++
		}
		if strings.Contains(name, "not visible") && !strings.HasPrefix(name, "body") { // the end of the page
			tb.Errorf("the focus on %s cannot be seen", name)
		}
	}
	if reached < links || !slices.Contains(order, "facet from") || !slices.Contains(order, "facet to") {
		tb.Errorf("Tab reaches %d of %d links: %q", reached, links, order)
	}
}

// What screen readers say.
func facetNames(tb *tab) {
	tb.open("/?q=red&filter=kind:%22bag%22")
	var tree []string
	for _, n := range call(tb, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{}).Nodes {
		if !n.Ignored {
			tree = append(tree, axText(n.Role)+": "+axText(n.Name))
		}
	}
	for _, want := range []string{
		"complementary: Filter the results", "heading: kind", "heading: price", "region: kind", "list: Filters", "link: Remove the filter kind: bag", "combobox: Order of the results",
		"spinbutton: price from", "spinbutton: price to", "button: Set the range of price", "Date: added from", "form: price",
	} {
		if !slices.Contains(tree, want) {
			tb.Errorf("no %s in the accessibility tree:\n%s", want, strings.Join(tree, "\n"))
		}
	}
	if !slices.ContainsFunc(tree, func(s string) bool {
		return strings.HasPrefix(s, "link: Without the filter bag") && strings.HasSuffix(s, "documents")
	}) {
		tb.Errorf("the chosen value has no name:\n%s", strings.Join(tree, "\n"))
	}
}

// Contrast in both schemes, and no horizontal scrolling on a narrow screen.
func facetLooks(tb *tab) {
	const target = "/?q=red&filter=kind:%22bag%22&filter=price:[10+TO+900]"
	for _, scheme := range []string{"light", "dark"} {
		emulateScheme(tb, scheme)
		tb.open(target)
		elements := eval[[][]any](tb, contrastScript)
		if len(elements) < 60 {
			tb.Errorf("only %d elements with text", len(elements))
		}
		for _, e := range elements {
			if ratio := contrastRatio(rgb(e[1:4]), rgb(e[4:7])); ratio < 4.5 {
				tb.Errorf("%s: %s has contrast %.2f", scheme, e[0], ratio)
			}
		}
	}
	if !eval[bool](tb, `document.querySelector("aside").getBoundingClientRect().left > document.querySelector("ol").getBoundingClientRect().right`) {
		tb.Error("the facets are not beside the results")
	}
	tb.run(chromedp.EmulateViewport(320, 640))
	tb.open(target)
	if got := eval[int](tb, `document.documentElement.scrollWidth`); got > 320 {
		tb.Errorf("the page is %d pixels wide", got)
	}
	if !eval[bool](tb, `getComputedStyle(document.querySelector(".to-facets")).display !== "none"`) {
		tb.Error("no link leads to the facets below the results")
	}
}

const debianMapping = `{"properties": {"section": {"type": "keyword"}, "priority": {"type": "keyword"}, "tags": {"type": "keyword"}, "size": {"type": "long"}}}`

// With -update, takes the pictures of facets, of an index of Debian's packages.
func TestPicturesOfFacets(t *testing.T) {
	if !*update {
		t.Skip("takes pictures with -update only (make pictures)")
	}
	m, err := griffin.ParseMapping([]byte(debianMapping))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(filepath.Join(t.TempDir(), "packages"), griffin.Settings{Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ix.Close() })
	if _, err := ix.IndexFiles(t.Context(), []string{filepath.Join(shareddata.Dir(t), "structured", "debian-packages.jsonl.zst")}, griffin.FilesOptions{}); err != nil {
		t.Fatal(err)
	}
	tb := newTab(t, startBrowser(t), serveIndex(t, ix))
	for _, scheme := range []string{"light", "dark"} {
		emulateScheme(tb, scheme)
		for range 3 { // the last one measures a warm index
			tb.open("/?q=chess+game&filter=" + `section:"games"` + "&filter=size:[100000+TO+10000000]")
		}
		tb.run(chromedp.EmulateViewport(1100, 900, chromedp.EmulateScale(1.5)))
		png, err := chromedp.Run(tb.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(fmt.Sprintf("../../docs/images/facets-%s.png", scheme), png, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}
