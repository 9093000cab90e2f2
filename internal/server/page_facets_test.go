package server

import (
	"fmt"
	"html"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// shopIndex has articles of several types of fields, in two segments.
func shopIndex(t testing.TB) *griffin.Index {
	t.Helper()
	m, err := griffin.ParseMapping([]byte(`{"properties": {
		"kind": {"type": "keyword"}, "price": {"type": "double"}, "rating": {"type": "byte"}, "sold": {"type": "boolean"}, "added": {"type": "date"},
		"host": {"type": "ip"}, "sku": {"type": "keyword"}, "note": {"type": "text"}, "hidden": {"type": "keyword", "doc_values": false}, "place": {"type": "geo_point"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	ix, err := griffin.Create(t.TempDir()+"/ix", griffin.Settings{Analyzer: "english", Mapping: m}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := ix.Close(); err != nil {
			t.Error(err)
		}
	})
	r := rand.New(rand.NewPCG(7, 8))
	kinds := []string{"shoe", "hat & scarf", `"coat"`, "bag", `<b>sock</b>`}
	for part := range 2 {
		for i := range 60 {
			kind := kinds[r.IntN(len(kinds))]
			fields := []griffin.Field{
				{Name: "kind", Value: kind},
				{Name: "price", Value: fmt.Sprint(float64(r.IntN(100000)) / 100)},
				{Name: "rating", Value: fmt.Sprint(1 + r.IntN(5))},
				{Name: "added", Value: fmt.Sprintf("%d-%02d-%02d", 2020+r.IntN(5), 1+r.IntN(12), 1+r.IntN(28))},
				{Name: "host", Value: fmt.Sprintf("10.0.0.%d", r.IntN(4))},
				{Name: "sku", Value: fmt.Sprintf("sku-%d-%d", part, i)},
				{Name: "note", Value: "a note about red"},
			}
			if r.IntN(4) > 0 {
				fields = append(fields, griffin.Field{Name: "sold", Value: fmt.Sprint(r.IntN(2) == 0)})
			}
			d := griffin.Document{ID: fmt.Sprintf("%d-%d", part, i), Title: "The red article", Text: "A warm thing <i>", Fields: fields}
			if err := ix.Add(t.Context(), d); err != nil {
				t.Fatal(err)
			}
		}
		if err := ix.Commit(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return ix
}

func shopHandler(t testing.TB) http.Handler {
	t.Helper()
	h, err := New(Options{Index: shopIndex(t), Logger: quiet()})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// link is a value of a facet on a page.
type link struct {
	facet, address, text string
	count                int
	chosen               bool
}

var (
	facetPattern = regexp.MustCompile(`(?s)<h3 id="facet-\d+">(.*?)</h3>(.*?)</section>`)
	linkPattern  = regexp.MustCompile(`<li><a href="([^"]*)"( aria-current="true")?[^>]*><span>(?:<span class="hidden">[^<]*</span>)?(.*?)</span>(?: <span class="count">([\d,]+)<)?`)
	totalPattern = regexp.MustCompile(`<h2[^>]*>(?:Results [\d,]+ to [\d,]+ of )?([\d,]+)?`)
	chipPattern  = regexp.MustCompile(`(?s)<ul class="chips".*?</ul>`)
	hrefPattern  = regexp.MustCompile(`href="([^"]*)"`)
)

func linksOf(body string) (links []link) {
	for _, facet := range facetPattern.FindAllStringSubmatch(body, -1) {
		for _, m := range linkPattern.FindAllStringSubmatch(facet[2], -1) {
			count := -1
			if m[4] != "" {
				count, _ = strconv.Atoi(strings.ReplaceAll(m[4], ",", ""))
			}
			links = append(links, link{html.UnescapeString(facet[1]), html.UnescapeString(m[1]), html.UnescapeString(m[3]), count, m[2] != ""})
		}
	}
	return links
}

// totalOf is the number of results of a page.
func totalOf(t *testing.T, body string) int {
	t.Helper()
	_, main, _ := strings.Cut(body, "<main")
	if strings.Contains(main, "No document matches") {
		return 0
	}
	m := totalPattern.FindStringSubmatch(main)
	if m == nil || m[1] == "" {
		t.Fatalf("the page has no number of results:\n%s", main)
	}
	n, err := strconv.Atoi(strings.ReplaceAll(m[1], ",", ""))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestChosenFacets(t *testing.T) {
	body := get(t, shopHandler(t), "/?q=red").Body.String()
	if got := totalOf(t, body); got != 120 {
		t.Errorf("%d results, want 120", got)
	}
	names := map[string]int{}
	for _, l := range linksOf(body) {
		names[l.facet] += l.count
	}
	for name, want := range map[string]int{"kind": 120, "price": 120, "rating": 120, "added": 120, "host": 120} {
		if names[name] != want {
			t.Errorf("facet %s counts %d documents, want %d", name, names[name], want)
		}
	}
	if len(names) != 6 || names["sold"] >= 120 || names["sold"] < 60 {
		t.Errorf("facets %v", names)
	}
	contains(t, body, `<h3 id="hit-1"><a href="/document?id=`, `The <mark>red</mark> article</a>`, `a note about <mark>red</mark>`, "&lt;b&gt;sock&lt;/b&gt;",
		`<option value="added:desc">added, newest first</option>`, `<option value="price:asc">price, lowest first</option>`)
	if strings.Contains(body, "<b>") {
		t.Error("a value is not escaped")
	}
}

// A click on a value leads to a page with the value's number of documents. A click on a chosen value leads back.
func TestWalkOverFacets(t *testing.T) {
	h := shopHandler(t)
	r := rand.New(rand.NewPCG(9, 10))
	clicks, removed := 0, 0
	for range 40 {
		address, expected := "/?q=red&sort=price%3Adesc", 120
		for range 6 {
			w := get(t, h, address)
			body := w.Body.String()
			if w.Code != http.StatusOK {
				t.Fatalf("%s: status %d: %s", address, w.Code, body)
			}
			total := totalOf(t, body)
			if expected >= 0 && total != expected {
				t.Fatalf("%s: %d results, want %d", address, total, expected)
			}
			links := linksOf(body)
			if len(links) == 0 {
				break
			}
			l := links[r.IntN(len(links))]
			several := false // the field has a value already: another one adds documents
			for _, o := range links {
				several = several || o.facet == l.facet && o.chosen
			}
			address = l.address
			switch {
			case l.chosen:
				expected = -1
				removed++
			case several:
				expected = total + l.count
			default:
				expected = l.count
			}
			clicks++
		}
		body := get(t, h, address).Body.String()
		for range 10 { // remove all
			chips := chipPattern.FindString(body)
			if chips == "" {
				break
			}
			body = get(t, h, html.UnescapeString(hrefPattern.FindStringSubmatch(chips)[1])).Body.String()
		}
		if got := totalOf(t, body); got != 120 {
			t.Fatalf("%s: without its filters %d results, want 120", address, got)
		}
	}
	if clicks < 100 || removed < 5 {
		t.Errorf("only %d clicks, %d of them on chosen values", clicks, removed)
	}
}

func TestRangeForm(t *testing.T) {
	h := shopHandler(t)
	w := get(t, h, `/?q=red&sort=price&filter=kind:%22bag%22&filter=price:[1+TO+2}&range=price&from=10&to=500`)
	if w.Code != http.StatusSeeOther {
		t.Fatalf("status %d: %s", w.Code, w.Body)
	}
	want := "/?filter=kind%3A%22bag%22&filter=price%3A%5B10+TO+500%5D&q=red&sort=price"
	if got := w.Header().Get("Location"); got != want {
		t.Errorf("goes to %s, want %s", got, want)
	}
	contains(t, get(t, h, want).Body.String(), `price: 10 to 500<span class="cross"`, `name="from" type="number" step="any" value="10"`)
	w = get(t, h, `/?q=red&filter=price:[1+TO+2}&range=price&from=&to=`)
	if got := w.Header().Get("Location"); got != "/?q=red" {
		t.Errorf("without bounds it goes to %s", got)
	}
	w = get(t, h, `/?q=red&range=added&from=2021-01-01&to=2021-12-31`)
	body := get(t, h, w.Header().Get("Location")).Body.String()
	contains(t, body, "added: 2021-01-01 to 2021-12-31", `type="date" value="2021-12-31"`)
	for bad, want := range map[string]string{"range=a:b&from=1": "not the name of a field", "range=price&filter=(": "filter"} {
		if w := get(t, h, "/?q=red&"+bad); w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: status %d", bad, w.Code)
		}
	}
}

// A page with a wrong filter has its byte, and a link that removes it.
func TestWrongFilterOnPage(t *testing.T) {
	w := get(t, shopHandler(t), `/?q=red&filter=price:[1+TO`)
	if w.Code != http.StatusBadRequest {
		t.Errorf("status %d", w.Code)
	}
	contains(t, w.Body.String(), "byte", `class="chips"`, `href="/?q=red"`)
	w = get(t, shopHandler(t), `/?q=red&filter=price:abc`)
	if w.Code != http.StatusBadRequest || !strings.Contains(w.Body.String(), "abc") {
		t.Errorf("a value that is no number: status %d: %s", w.Code, w.Body)
	}
}

func TestPageKeepsState(t *testing.T) {
	h := shopHandler(t)
	body := get(t, h, "/?q=red&k=5&sort=rating:desc&filter=kind:bag&facet=host=2&facet=kind").Body.String()
	contains(t, body, `<input type="hidden" name="filter" value="kind:bag">`, `<input type="hidden" name="facet" value="host=2">`,
		`<input type="hidden" name="k" value="5">`, `<option value="rating:desc" selected>`, `more<span class="hidden"> values of host`, "facet=host%3D100")
	if n := strings.Count(body, "<section aria-labelledby"); n != 2 {
		t.Errorf("%d facets, want the two of the address", n)
	}
	contains(t, get(t, h, "/?filter=kind:bag").Body.String(), `value="*:*"`, "Results 1 to 10 of ")
	contains(t, get(t, h, "/?q=xylophone&filter=kind:bag").Body.String(), `<a href="/?q=xylophone">Search without the filters</a>`)
	contains(t, get(t, h, "/").Body.String(), `<a href="/?q=%2A%3A%2A">Show all documents</a>`, "added:&gt;=2024-")
	// A trace has no facets, and keeps the filters.
	body = get(t, h, "/?q=red&filter=kind:bag&trace=1").Body.String()
	contains(t, body, "How it was found", `class="chips"`)
	if strings.Contains(body, "<aside") {
		t.Error("a trace has facets")
	}
	if body := get(t, h, "/?q=red&facet=nothing").Body.String(); !strings.Contains(body, "nothing") || !strings.Contains(body, "alert") {
		t.Error("an unknown field is no error")
	}
}
