package rest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/griffin-search/griffin"
)

// A document that changes between the search of a _delete_by_query or _update_by_query and its write is a conflict, for
// each kind of query, whether the change is visible by then or not.
func TestByQueryWritesWhatItFound(t *testing.T) {
	for _, body := range []string{`{"query":{"match_all":{}}}`, `{"query":{"match":{"t":"all"}}}`} {
		for _, update := range []bool{false, true} {
			for _, refresh := range []string{"true", "false"} {
				n := newNode(t)
				for _, id := range []string{"1", "2", "3"} {
					n.must(201, "PUT /a/_doc/"+id+"?refresh=true", `{"t":"all"}`)
				}
				x, failed := n.d.find("a")
				if failed != nil {
					t.Fatal(failed)
				}
				q, failed := x.bodyQuery([]byte(body), true /* required */)
				if failed != nil {
					t.Fatal(failed)
				}
				pit, err := x.ix.PointInTime()
				if err != nil {
					t.Fatal(err)
				}
				run := byQueryRun{r: &request{Request: httptest.NewRequest(http.MethodPost, "/", nil), h: n.h}, x: x, update: update, proceed: true}
				var found []foundDocument
				for f, err := range run.find(t.Context(), pit, q) {
					if err != nil {
						t.Fatal(err)
					}
					found = append(found, f)
				}
				n.must(200, "PUT /a/_doc/2?refresh="+refresh, `{"t":"all changed"}`)
				n.must(200, "DELETE /a/_doc/3?refresh="+refresh, "")
				if failed := run.write(t.Context(), found); failed != nil {
					t.Fatal(failed)
				}
				if run.total != 3 || run.done != 1 || run.conflicts != 2 || len(run.failures) != 0 {
					t.Errorf("%s, update %t, refresh %s: %+v", body, update, refresh, run)
				}
				if got := n.do("GET /a/_doc/2", "").Body.String(); !strings.Contains(got, "all changed") || !strings.Contains(got, `"_version":2`) {
					t.Errorf("%s, update %t, refresh %s: %s", body, update, refresh, got)
				}
				n.must(404, "GET /a/_doc/3", "")
				if err := pit.Close(); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// unnumberedIndex returns a folder with an index "a" of documents that no Writer wrote.
func unnumberedIndex(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	ix, err := griffin.Create(filepath.Join(dir, "a"), griffin.Settings{}, griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"1", "2", "3"} {
		if err := ix.Add(t.Context(), griffin.Document{ID: id, Text: "all"}); err != nil {
			t.Fatal(err)
		}
	}
	if err := ix.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := ix.Close(); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Documents that griffin index wrote have no sequence number, and conditions hold for them too.
func TestConditionsOfUnnumberedDocuments(t *testing.T) {
	n := openNode(t, unnumberedIndex(t), Options{})
	if out := n.must(200, "GET /a/_doc/1", ""); out["_seq_no"] != 0.0 {
		t.Fatalf("%v", out)
	}
	n.must(409, "PUT /a/_doc/1?if_seq_no=5&if_primary_term=1", `{"t":"x"}`)
	n.must(201, "PUT /a/_doc/4", `{"t":"x"}`)
	n.must(200, "PUT /a/_doc/1?if_seq_no=0&if_primary_term=1", `{"t":"x"}`)
	n.must(409, "PUT /a/_doc/1?if_seq_no=0&if_primary_term=1", `{"t":"x"}`)
	n.must(409, "PUT /a/_doc/none?if_seq_no=0&if_primary_term=1", `{"t":"x"}`)
	n.must(200, "POST /a/_update/2?if_seq_no=0&if_primary_term=1", `{"doc":{"u":"y"}}`)
	out := n.must(409, "POST /a/_delete_by_query?conflicts=abort", `{"query":{"match_all":{}}}`)
	if out["deleted"] != 1.0 || out["version_conflicts"] != 2.0 {
		t.Errorf("%v", out)
	}
	n.must(404, "GET /a/_doc/3", "")
}

// The first write of an index that griffin index made gets the sequence number 0 of the API, which the documents before
// it have, too. A document that it changes after it was found is a conflict all the same.
func TestByQueryOfFirstWrite(t *testing.T) {
	for _, update := range []bool{false, true} {
		n := openNode(t, unnumberedIndex(t), Options{})
		x, failed := n.d.find("a")
		if failed != nil {
			t.Fatal(failed)
		}
		pit, err := x.ix.PointInTime()
		if err != nil {
			t.Fatal(err)
		}
		run := byQueryRun{r: &request{Request: httptest.NewRequest(http.MethodPost, "/", nil), h: n.h}, x: x, update: update, proceed: true}
		var found []foundDocument
		for f, err := range run.find(t.Context(), pit, searchQuery{all: true}) {
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, f)
		}
		if out := n.must(200, "PUT /a/_doc/1", `{"t":"changed"}`); out["_seq_no"] != 0.0 {
			t.Fatalf("%v", out)
		}
		if failed := run.write(t.Context(), found); failed != nil {
			t.Fatal(failed)
		}
		if run.done != 2 || run.conflicts != 1 {
			t.Errorf("update %t: %d writes, %d conflicts", update, run.done, run.conflicts)
		}
		if got := n.do("GET /a/_doc/1", "").Body.String(); !strings.Contains(got, "changed") || !strings.Contains(got, `"_version":2`) {
			t.Errorf("update %t: %s", update, got)
		}
		if err := pit.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// A write with the condition Unnumbered, as of an update, holds for documents that no Writer wrote.
func TestConditionUnnumbered(t *testing.T) {
	n := openNode(t, unnumberedIndex(t), Options{})
	x, failed := n.d.find("a")
	if failed != nil {
		t.Fatal(failed)
	}
	apply := func(id string) error {
		results, err := x.writer.Apply(t.Context(), griffin.Write{Document: griffin.Document{ID: id, Text: "new"}, IfSeqNo: griffin.Unnumbered})
		if err != nil {
			t.Fatal(err)
		}
		return results[0].Err
	}
	if err := apply("1"); err != nil {
		t.Error(err)
	}
	for _, id := range []string{"1", "none"} {
		if err := apply(id); !errors.Is(err, griffin.ErrConflict) {
			t.Errorf("document %s: %v", id, err)
		}
	}
}

// Few large documents are read at a time.
func TestByQueryOfLargeDocuments(t *testing.T) {
	n := newNode(t)
	const numDocs, docBytes = 5, 3 << 20
	for id := range numDocs {
		n.must(201, fmt.Sprintf("PUT /a/_doc/%d", id), `{"t":"`+strings.Repeat("large ", docBytes/6)+`"}`)
	}
	n.must(200, "POST /a/_refresh", "")
	x, failed := n.d.find("a")
	if failed != nil {
		t.Fatal(failed)
	}
	run := byQueryRun{r: &request{Request: httptest.NewRequest(http.MethodPost, "/", nil), h: n.h}, x: x, update: true}
	var found []foundDocument
	for id := range numDocs {
		found = append(found, foundDocument{fmt.Sprint(id), uint64(id) + 1})
	}
	numParts, written := 0, 0
	for writes, err := range run.parts(t.Context(), found) {
		if err != nil {
			t.Fatal(err)
		}
		size := 0
		for i := range writes[1:] {
			size += sizeBytes(&writes[i].Document)
		}
		if size >= byQueryBytes {
			t.Errorf("%d documents are %d bytes without the last one", len(writes), size)
		}
		numParts, written = numParts+1, written+len(writes)
	}
	if numParts < 2 || written != numDocs {
		t.Errorf("%d documents in %d parts", written, numParts)
	}
	out := n.must(200, "POST /a/_update_by_query?refresh=true", "")
	if out["updated"] != float64(numDocs) || out["batches"] != 1.0 {
		t.Errorf("%v", out)
	}
	for id := range numDocs {
		if got := n.must(200, fmt.Sprintf("GET /a/_doc/%d", id), "")["_version"]; got != 2.0 {
			t.Errorf("document %d: version %v", id, got)
		}
	}
}
