package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// A server gets the same words and vectors as an index in the process.
func TestPlainText(t *testing.T) {
	for text, want := range map[string]string{
		"posting  list":           "posting list",
		`"parser: +x (`:           `\"parser\: \+x \(`,
		`{"cat": 1.5, "dog": 2}`:  `{"cat": 1.5, "dog": 2}`,
		` {"cat": 1.5, "dog": 2}`: ` {"cat": 1.5, "dog": 2}`,
	} {
		t.Run(text, func(t *testing.T) {
			if got := plainText(text); got != want {
				t.Errorf("%q is asked as %q, want %q", text, got, want)
			}
		})
	}
}

// A server gets the searches of a batch as an index in the process does, with the same hits.
func TestLoadSendsBatches(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	makeIndexOf(t, filepath.Join(dir, "notes"), 300)
	address := startDirectory(t, dir)
	texts := []string{"word5", "common word7", `word8 "common`, "missing", "common +word3 -word9"}
	for _, syntax := range []bool{false, true} {
		for _, mode := range []griffin.Mode{griffin.ModeOr, griffin.ModeAnd} {
			o := loadOptions{k: 2, batch: 3, syntax: syntax}
			if syntax {
				texts[2] = "word8 OR word9"
			}
			searches, err := o.searches(texts, mode)
			if err != nil {
				t.Fatal(err)
			}
			ix, err := griffin.Open(filepath.Join(dir, "notes"), griffin.Options{})
			if err != nil {
				t.Fatal(err)
			}
			for i, text := range texts {
				q := plainQuery(text, syntax)
				q.K, q.Mode, q.Load = o.k, mode, griffin.LoadIDs
				r, err := ix.Search(t.Context(), q)
				if err != nil {
					t.Fatal(err)
				}
				want := []string{}
				for _, h := range r.Hits {
					want = append(want, fmt.Sprint(h.ID, " ", h.Score))
				}
				if got := searchHits(t, address, searches[i]); !slices.Equal(got, want) {
					t.Errorf("syntax %t, %v: %q: %q, want %q", syntax, mode, text, got, want)
				}
			}
			if err := ix.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, flags := range [][]string{{}, {"--index", "notes"}, {"--mode", "and", "--syntax"}} {
		r, exit, _, stderr := runLoad(t, "http://"+address, "1\tcommon\n2\tword7\n", append(flags, "--batch", "5", "--json")...)
		if exit != exitOK || len(r.Points) != 1 || r.Batch != 5 || r.Points[0].Answered != 45 || r.Points[0].Sent != 45 {
			t.Errorf("%v: exit code %d, %+v: %s", flags, exit, r.Points, stderr)
		}
	}
	r, exit, _, stderr := runLoad(t, "http://"+address, "1\talpha\n2\t+(\n", "--batch", "2", "--syntax", "--json")
	if exit != exitFailure || len(r.Points) != 1 || r.Points[0].Failed != 24 || r.Points[0].Answered != 24 {
		t.Errorf("a faulty query: exit code %d, %+v: %s", exit, r.Points, stderr)
	}
	_, exit, _, stderr = runLoad(t, "http://"+address, "1\talpha\n", "--batch", "2", "--index", "none")
	if exit != exitIndex || !strings.Contains(stderr, "no such index") {
		t.Errorf("an index that is missing: exit code %d: %s", exit, stderr)
	}
}

// searchHits returns the ids and the scores of the hits of a search.
func searchHits(t *testing.T, address string, search []byte) []string {
	t.Helper()
	response, err := http.Post("http://"+address+"/notes/_msearch", "application/x-ndjson", strings.NewReader("{}\n"+string(search)+"\n"))
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct {
		Responses []struct {
			Hits struct {
				Hits []struct {
					ID    string  `json:"_id"`
					Score float64 `json:"_score"`
				}
			}
		}
	}
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || len(answer.Responses) != 1 {
		t.Fatalf("%s: %+v, %v", search, answer, err)
	}
	hits := []string{}
	for _, h := range answer.Responses[0].Hits.Hits {
		hits = append(hits, fmt.Sprint(h.ID, " ", h.Score))
	}
	return hits
}
