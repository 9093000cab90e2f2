package rest

import (
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// saat searches an index in mode saat.
func (n *node) saat(t *testing.T, index, text string) []string {
	t.Helper()
	x, apiErr := n.h.dir.find(index)
	if apiErr != nil {
		t.Fatal(apiErr)
	}
	r, err := x.ix.Search(t.Context(), griffin.Query{Text: text, Mode: griffin.ModeSaat})
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, h := range r.Hits {
		found = append(found, h.ID)
	}
	return found
}

func TestImpacts(t *testing.T) {
	n := newNode(t)
	n.must(404, "POST /a/_impacts", "")
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1"}}`)
	n.must(201, "PUT /a/_doc/1", `{"t":"cat"}`)
	n.must(201, "PUT /a/_doc/2", `{"t":"cat dog"}`)
	for body, want := range map[string]string{
		`{"ranking":"tfidf"}`: "tfidf", `{"k1":1}`: "together", `{"codecs":"raw"}`: "unknown key", `{"codec":"none"}`: "none", `{"bitmap_bits":"x"}`: "bitmap_bits",
		`{"k1":1e39,"b":0.5}`: "want a number of 32 bits, have: number 1e39", `{"k1":"x","b":0.5}`: "want a number, have: string", `{"bitmap_bits":1.5}`: "want an integer, have: number 1.5",
	} {
		if w := n.do("POST /a/_impacts", body); w.Code != 400 || !strings.Contains(w.Body.String(), want) {
			t.Errorf("%s: %d %s, want %q", body, w.Code, w.Body, want)
		}
	}
	out := n.must(200, "POST /a/_impacts", `{"ranking":"atire","k1":1.5,"b":0.5,"codec":"simdbp","bitmap_bits":-1}`)
	if out["ranking"] != "atire" || out["k1"] != 1.5 || out["codec"] != "simdbp" || out["num_postings"] != 3.0 {
		t.Errorf("%v", out)
	}
	if got := strings.Join(n.saat(t, "a", "dog"), " "); got != "2" {
		t.Errorf("found %q", got)
	}
	n.must(201, "PUT /a/_doc/3?refresh=true", `{"t":"dog"}`)
	if got := strings.Join(n.saat(t, "a", "dog"), " "); got != "3 2" {
		t.Errorf("found %q after a write", got)
	}
	n.must(200, "POST /a/_forcemerge", "")
	x, _ := n.h.dir.find("a")
	if s, err := x.ix.Stats(); err != nil || s.Impacts == nil || s.Impacts.Computed || s.Impacts.Ranking != "atire" || s.Impacts.Postings != 4 {
		t.Errorf("after a merge: %+v, %v", s.Impacts, err)
	}
}
