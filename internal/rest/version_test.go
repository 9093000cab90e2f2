package rest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// The version of a hit is of the document that the search has found, also if there is a newer one.
func TestVersionOfHit(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /ix/_doc/a?refresh=true", `{"n":0}`)
	x, e := n.d.find("ix")
	if e != nil {
		t.Fatal(e)
	}
	for i, body := range []string{
		`{"query":{"range":{"n":{"gte":0}}},"version":true,"seq_no_primary_term":true}`,
		`{"version":true,"seq_no_primary_term":true}`,
		`{"version":true,"seq_no_primary_term":true,"_source":false}`,
	} {
		s := newSearchRequest()
		if err := s.parseBody(x, []byte(body)); err != nil {
			t.Fatal(err)
		}
		if s.query.all && s.isPlain() {
			t.Fatalf("%s: the listing of documents has no versions", body)
		}
		q := s.griffinQuery(x)
		results, err := x.ix.Search(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		n.must(200, "PUT /ix/_doc/a?refresh=true", fmt.Sprintf(`{"n":%d}`, i+1))
		w := hitWriter{ctx: t.Context(), x: x, request: &s, query: q}
		got := string(w.append(nil, &results.Hits[0]))
		if want := fmt.Sprintf(`"_version":%d,"_seq_no":%d,"_primary_term":1`, i+1, i); !strings.Contains(got, want) || w.err != nil {
			t.Errorf("%s: %s, want %s (%v)", body, got, want, w.err)
		}
	}
	got := n.must(200, "POST /ix/_search", `{"size":0,"aggs":{"t":{"top_hits":{"version":true,"seq_no_primary_term":true}}}}`)
	if hit := at(got, "aggregations.t.hits.hits.0"); at(hit, "_version") != 4.0 || at(hit, "_seq_no") != 3.0 {
		t.Errorf("top_hits: %v", hit)
	}
}

// Searches beside writes: the n-th write of the only document has the number n.
func TestVersionOfHitBesideWrites(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /ix/_doc/a?refresh=true", `{"n":0}`)
	var stop atomic.Bool
	var writer sync.WaitGroup
	writer.Go(func() {
		for i := 1; i <= 100; i++ {
			if w := n.do("PUT /ix/_doc/a?refresh=true", fmt.Sprintf(`{"n":%d}`, i)); w.Code != 200 {
				t.Errorf("status %d: %s", w.Code, w.Body)
			}
		}
		stop.Store(true)
	})
	defer writer.Wait()
	for !stop.Load() {
		for _, query := range []string{`{"match_all":{}}`, `{"range":{"n":{"gte":0}}}`} {
			hit := at(n.must(200, "POST /ix/_search", `{"query":`+query+`,"seq_no_primary_term":true}`), "hits.hits.0")
			if number, seq := at(hit, "_source.n"), at(hit, "_seq_no"); number != seq {
				t.Fatalf("%s: document %v has the version %v", query, number, seq)
			}
		}
	}
}
