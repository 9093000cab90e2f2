package server

import (
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/timeline"
)

// Text of an index or a client is never interpreted as markup.
func TestPageEscapes(t *testing.T) {
	const evil = `"'><script>alert(1)</script><img src=x onerror=alert(1)>&`
	marked := griffin.Snippet{Text: evil, Highlights: []griffin.Span{{Start: 2, End: 9}}}
	hit := griffin.Hit{ID: evil, Title: evil + "title", Snippet: marked}
	fielded := griffin.Hit{ID: evil, Fields: []griffin.Field{{Name: evil, Value: evil}, {Name: "note", Value: evil}}}
	fielded.Highlights = map[string][]griffin.Snippet{"title": {marked}, "note": {marked}}
	request := searchRequest{Text: evil, K: 1, Offset: 1, Sort: evil, Filters: []string{evil}, Facets: []griffin.Facet{{Field: evil}}}
	facet := facetView{Field: evil, Title: evil, Values: []facetValue{{Text: evil, Address: request.page()}}, More: request.page(), Range: "number", From: evil, To: evil}
	for name, p := range map[string]*pageData{
		"start":    {Title: evil, Request: request},
		"error":    {Title: evil, Request: request, Error: &apiError{Message: evil, Offset: new(int)}},
		"document": {Title: evil, Document: &griffin.Document{ID: evil, Title: evil, Text: evil, Fields: []griffin.Field{{Name: evil, Value: evil}}}},
		"results": {Title: evil, Request: request, Results: &griffin.Results{
			Query: evil, Hits: []griffin.Hit{hit}, Notes: []string{evil}, Trace: &griffin.Trace{Query: evil},
		}, Links: resultLinks{Previous: address("/", request), Next: address("/", request), JSON: address("/search", request), Trace: address("/", request)}},
		"facets": {
			Title: evil, Request: request, Results: &griffin.Results{Hits: []griffin.Hit{fielded}}, Facets: []facetView{facet}, shown: []string{evil},
			Links: resultLinks{JSON: address("/search", request)}, Sorts: []sortChoice{{evil, evil, true}}, Chips: []chip{{evil, evil, request.page()}},
		},
		"nothing": {
			Request: request, Results: &griffin.Results{Query: evil, Notes: []string{evil}},
			Links: resultLinks{AnyWord: address("/", request), JSON: address("/search", request), Unfiltered: request.page()},
		},
	} {
		t.Run(name, func(t *testing.T) { checkMarkup(t, pageHTML(p), evil) })
	}
	t.Run("timeline", func(t *testing.T) {
		rows := []timelineRow{{Lane: evil, Label: evil, Kind: timeline.CPU, Took: evil, Description: evil}}
		checkMarkup(t, timelineHTML(&timelineSVG{End: evil, Middle: evil, Description: evil, Rows: rows}), evil)
	})
}

// The page must show text and have no element or attribute from it.
func checkMarkup(t *testing.T, page, text string) {
	t.Helper()
	root, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	shown := false
	for n := range root.Descendants() {
		if n.Type == html.TextNode && strings.Contains(n.Data, text) {
			shown = true
		}
		if n.Type != html.ElementNode {
			continue
		}
		if n.Data == "script" || n.Data == "img" && n.Attr[0].Val != "/icon.svg" {
			t.Errorf("the page has an element %s", n.Data)
		}
		if i := slices.IndexFunc(n.Attr, func(a html.Attribute) bool {
			return strings.HasPrefix(a.Key, "on") || strings.ContainsAny(a.Key, `"'<>`)
		}); i >= 0 {
			t.Errorf("%s has an attribute %s", n.Data, n.Attr[i].Key)
		}
		for _, a := range n.Attr {
			if a.Key == "href" && !strings.HasPrefix(a.Val, "/") && a.Val != "#main" && a.Val != "#facets" {
				t.Errorf("a link to %q", a.Val)
			}
		}
	}
	if !shown {
		t.Error("the page does not show the text")
	}
}
