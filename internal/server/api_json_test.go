package server

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/griffin-search/griffin"
)

// Random answers have the same bytes as encoding/json's.
func TestSearchResponseJSON(t *testing.T) {
	rng := rand.New(rand.NewPCG(20, 2))
	texts := []string{"", "word", "a “quoted” text", "\"\\\n\t\x00\x7f", "<b>&amp;</b>", "\u2028 é 😀", "\xff\xfe"}
	text := func() string {
		out := ""
		for range rng.IntN(4) {
			out += texts[rng.IntN(len(texts))]
		}
		return out
	}
	score := func() float64 { return float64(rng.Uint32()>>rng.IntN(32)) / (1 << 16) }
	for range 3000 {
		r := searchResponse{
			Query: text(), Parsed: text(), Mode: griffin.Mode(rng.IntN(4)), Engine: text(), K: rng.IntN(1000), Offset: rng.IntN(2) * rng.IntN(1000),
			TookMicros: rng.Int64N(1e9), Total: griffin.Total{Value: rng.Int64N(1e9), Relation: griffin.TotalAtLeast}, Missed: float64(rng.IntN(2)) * score(),
			Cached: rng.IntN(2) == 0, Hits: make([]hitResponse, rng.IntN(5)),
		}
		for i := range r.Hits {
			h := &r.Hits[i]
			*h = hitResponse{Rank: rng.IntN(1000), ID: text(), Score: score(), Title: text(), Snippet: text(), SnippetHTML: text()}
			if rng.IntN(3) == 0 {
				h.Sort = json.RawMessage(`[ 1, "a<b", null ]`)
			}
			for range rng.IntN(3) {
				h.Fields = append(h.Fields, griffin.Field{Name: text(), Value: text()})
			}
		}
		for range rng.IntN(3) {
			r.Notes = append(r.Notes, text())
		}
		if rng.IntN(3) == 0 {
			r.Facets = map[string][]griffin.FacetValue{text(): {{}}, "other": nil}
		}
		if rng.IntN(3) == 0 {
			r.Trace = &griffin.Trace{Query: text()}
		}
		var want bytes.Buffer
		e := json.NewEncoder(&want)
		e.SetEscapeHTML(false)
		if err := e.Encode(r); err != nil {
			t.Fatal(err)
		}
		got, err := r.appendJSON([]byte("x"))
		if err != nil || string(got) != "x"+want.String() {
			t.Fatalf("%v\n%s\nwant\n%s", err, got[1:], want.String())
		}
	}
	if _, err := (&searchResponse{Hits: []hitResponse{{Sort: json.RawMessage("{")}}}).appendJSON(nil); err == nil {
		t.Error("a damaged sort key has JSON")
	}
}

// Names of headers that are set without Header.Set are canonical.
func TestSharedHeaders(t *testing.T) {
	w := httptest.NewRecorder()
	secure(w.Header())
	for _, h := range securityHeaders {
		if http.CanonicalHeaderKey(h.name) != h.name || w.Header().Get(h.name) == "" {
			t.Errorf("%s", h.name)
		}
	}
	w.Header().Add("Cache-Control", "other")
	w.Header().Set("X-Frame-Options", "other")
	again := httptest.NewRecorder()
	secure(again.Header())
	if got := again.Header(); len(got["Cache-Control"]) != 1 || got.Get("X-Frame-Options") != "DENY" {
		t.Errorf("another answer has changed %v", got)
	}
}
