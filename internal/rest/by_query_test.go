package rest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/internal/sampletest"
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

// Documents that griffin index wrote have a term of their own, with the number of the commit. Conditions hold for them, and
// for nothing else: the first write of the API, which has the number 0, is told from them.
func TestConditionsOfUnnumberedDocuments(t *testing.T) {
	n := openNode(t, unnumberedIndex(t), Options{})
	first := n.must(200, "GET /a/_doc/1", "")
	if first["_primary_term"] != float64(unloggedTerm) || first["_seq_no"] == nil {
		t.Fatalf("%v", first)
	}
	unlogged := fmt.Sprintf("if_seq_no=%.0f&if_primary_term=%d", first["_seq_no"], unloggedTerm)
	out := n.must(200, "POST /a/_search", `{"query":{"ids":{"values":["1"]}},"seq_no_primary_term":true}`)
	if hit := at(out, "hits.hits.0"); at(hit, "_seq_no") != first["_seq_no"] || at(hit, "_primary_term") != first["_primary_term"] {
		t.Errorf("the hit %v has other numbers than the document %v", hit, first)
	}
	n.must(409, "PUT /a/_doc/1?if_seq_no=5&if_primary_term=1", `{"t":"x"}`)
	if out := n.must(201, "PUT /a/_doc/4", `{"t":"x"}`); out["_seq_no"] != 0.0 || out["_primary_term"] != 1.0 {
		t.Errorf("the first write: %v", out)
	}
	// The condition of a client that has read the first write does not hold for a document of griffin index, nor the reverse.
	for _, request := range []string{"PUT /a/_doc/1", "DELETE /a/_doc/1", "PUT /a/_doc/none", "DELETE /a/_doc/none"} {
		n.must(409, request+"?if_seq_no=0&if_primary_term=1", strings.Repeat(`{"t":"lost"}`, strings.Count(request, "PUT")))
	}
	n.must(409, "POST /a/_update/1?if_seq_no=0&if_primary_term=1", `{"doc":{"t":"lost"}}`)
	n.must(409, "PUT /a/_doc/4?"+unlogged, `{"t":"lost"}`)
	reason := at(n.must(409, "POST /a/_update/4?"+unlogged, `{"doc":{"t":"lost"}}`), "error.reason")
	if want := fmt.Sprintf("[4]: version conflict, required seqNo [%.0f], primary term [%d]. current document has seqNo [0] and primary term [1]", first["_seq_no"], unloggedTerm); reason != want {
		t.Errorf("%v, want %s", reason, want)
	}
	n.must(409, "PUT /a/_doc/none?"+unlogged, `{"t":"lost"}`)
	n.must(409, fmt.Sprintf("PUT /a/_doc/1?if_seq_no=%.0f&if_primary_term=%d", first["_seq_no"].(float64)+1, unloggedTerm), `{"t":"lost"}`)

	n.must(200, "PUT /a/_doc/1?"+unlogged, `{"t":"x"}`)
	n.must(409, "PUT /a/_doc/1?"+unlogged, `{"t":"lost"}`)
	if out := n.must(200, "POST /a/_update/2?"+unlogged, `{"doc":{}}`); out["result"] != "noop" || out["_primary_term"] != float64(unloggedTerm) {
		t.Errorf("an update of nothing: %v", out)
	}
	n.must(200, "POST /a/_update/2?"+unlogged, `{"doc":{"u":"y"}}`)
	n.must(409, "POST /a/_update/2?"+unlogged, `{"doc":{"u":"lost"}}`)
	bulk := fmt.Sprintf(`{"index":{"_index":"a","_id":"%%s","if_seq_no":%.0f,"if_primary_term":%d}}`+"\n{}\n", first["_seq_no"], unloggedTerm)
	out = n.must(200, "POST /_bulk", fmt.Sprintf(bulk+bulk, "2", "3"))
	if at(out, "items.0.index.status") != 409.0 || at(out, "items.1.index.status") != 200.0 || at(out, "items.1.index._primary_term") != 1.0 {
		t.Errorf("%v", out)
	}
	out = n.must(409, "POST /a/_delete_by_query?conflicts=abort", `{"query":{"match_all":{}}}`)
	if out["deleted"] != 0.0 || out["version_conflicts"] != 3.0 {
		t.Errorf("%v", out)
	}
	for _, c := range []string{"if_seq_no=18446744073709551615&if_primary_term=1", "if_seq_no=-2&if_primary_term=1", "if_seq_no=0"} {
		n.must(400, "PUT /a/_doc/1?"+c, `{"t":"lost"}`)
	}
	out = n.must(200, "POST /a/_bulk", `{"index":{"_id":"1","if_seq_no":18446744073709551615,"if_primary_term":1}}`+"\n{}\n"+`{"index":{"_id":"1","version":18446744073709551615,"version_type":"external"}}`+"\n{}\n")
	if at(out, "items.0.index.status") != 400.0 || at(out, "items.1.index.status") != 400.0 {
		t.Errorf("%v", out)
	}
}

// A document that griffin index has replaced while no server ran is not the one that a client has read before.
func TestUnnumberedDocumentReplaced(t *testing.T) {
	dir := unnumberedIndex(t)
	n := openNode(t, dir, Options{})
	before := n.must(200, "GET /a/_doc/1", "")
	n.close()
	ix, err := griffin.Open(filepath.Join(dir, "a"), griffin.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(ix.Add(t.Context(), griffin.Document{ID: "1", Text: "replaced"}), ix.Commit(t.Context()), ix.Close()); err != nil {
		t.Fatal(err)
	}
	n = openNode(t, dir, Options{})
	condition := func(doc map[string]any) string {
		return fmt.Sprintf("?if_seq_no=%.0f&if_primary_term=%.0f", doc["_seq_no"], doc["_primary_term"])
	}
	n.must(409, "PUT /a/_doc/1"+condition(before), `{"t":"lost"}`)
	n.must(200, "PUT /a/_doc/1"+condition(n.must(200, "GET /a/_doc/1", "")), `{"t":"x"}`)
}

// A document of an index that was built anew while no server ran is not the one that a client has read before, though the
// commits have the same generation.
func TestUnnumberedDocumentOfAnotherIndex(t *testing.T) {
	n := openNode(t, unnumberedIndex(t), Options{})
	before := n.must(200, "GET /a/_doc/1", "")
	n.close()
	n = openNode(t, unnumberedIndex(t), Options{})
	after := n.must(200, "GET /a/_doc/1", "")
	n.must(409, fmt.Sprintf("PUT /a/_doc/1?if_seq_no=%.0f&if_primary_term=%d", before["_seq_no"], unloggedTerm), `{"t":"lost"}`)
	for _, doc := range []map[string]any{before, after} { // clients can have 32 bits for it
		if number := doc["_seq_no"].(float64); number > math.MaxInt32 {
			t.Errorf("_seq_no %.0f", number)
		}
	}
	n.must(200, fmt.Sprintf("PUT /a/_doc/1?if_seq_no=%.0f&if_primary_term=%d", after["_seq_no"], unloggedTerm), `{"t":"x"}`)
}

// A document of griffin index that the first write changes after an operation by query has found it is a conflict.
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

// max_docs and scroll_size, in the address or the body, and a query in the address. Each unsupported option is an error
// that names it, and then nothing is written.
func TestByQueryOptions(t *testing.T) {
	n := newNode(t)
	fill := func() {
		for id := range 7 {
			n.do(fmt.Sprintf("PUT /a/_doc/%d", id), fmt.Sprintf(`{"t":"all","n":%d}`, id))
		}
		n.must(200, "POST /a/_refresh", "")
	}
	fill()
	for _, c := range []struct {
		request, body        string
		total, batches, done float64
	}{
		{"_update_by_query?max_docs=4&scroll_size=3&slices=1&requests_per_second=-1&refresh=true", ``, 4, 2, 4},
		{"_update_by_query?scroll_size=3&slices=auto&refresh=true", `{"query":{"match":{"t":"all"}}}`, 7, 3, 7},
		{"_update_by_query?max_docs=9&refresh=true", `{"max_docs":9,"query":{"range":{"n":{"gte":3}}},"conflicts":"proceed"}`, 4, 1, 4},
		{"_delete_by_query?q=all&scroll_size=2&refresh=true", `{"max_docs":4}`, 4, 2, 4},
		{"_delete_by_query?q=all&refresh", ``, 3, 1, 3},
		{"_delete_by_query?refresh=true", `{"query":{"match_all":{}},"max_docs":5}`, 0, 0, 0},
	} {
		out := n.must(200, "POST /a/"+c.request, c.body)
		done := out["deleted"]
		if strings.HasPrefix(c.request, "_update") {
			done = out["updated"]
		}
		if out["total"] != c.total || out["batches"] != c.batches || done != c.done {
			t.Errorf("%s %s: %v", c.request, c.body, out)
		}
	}
	fill()
	for request, want := range map[string]string{
		"_delete_by_query?max_docs=0 {}":                                            "[max_docs] is [0]: want 1 or more",
		"_delete_by_query?max_docs=-1 {}":                                           "Failed to parse int parameter [max_docs] with value [-1]",
		"_delete_by_query?max_docs=2 {\"max_docs\":3,\"query\":{\"match_all\":{}}}": "[max_docs] set to two different values [2] and [3]",
		"_delete_by_query {\"max_docs\":\"3\",\"query\":{\"match_all\":{}}}":        "[max_docs] is [\"3\"]: want a number",
		"_delete_by_query?scroll_size=0 {\"query\":{\"match_all\":{}}}":             "[scroll_size] is [0]: want 1 to 10000",
		"_delete_by_query?scroll_size=10001 {\"query\":{\"match_all\":{}}}":         "[scroll_size] is [10001]: want 1 to 10000",
		"_delete_by_query?slices=2 {\"query\":{\"match_all\":{}}}":                  "[slices] is [2]: an index is 1 slice",
		"_delete_by_query?requests_per_second=5 {\"query\":{\"match_all\":{}}}":     "[requests_per_second] is [5]: there is no limit of the rate",
		"_delete_by_query?wait_for_completion=false {\"query\":{\"match_all\":{}}}": "[wait_for_completion] false is not supported: there are no tasks",
		"_delete_by_query?q=all {\"query\":{\"match_all\":{}}}":                     "the address has a query in [q], and the body has [query]: send one query",
		"_delete_by_query {\"query\":{\"match_all\":{}},\"conflicts\":\"never\"}":   "conflicts may only be \"proceed\" or \"abort\" but was [never]",
		"_delete_by_query {\"query\":{\"match_all\":{}},\"conflicts\":1}":           "conflicts may only be \"proceed\" or \"abort\" but was [1]",
		"_update_by_query {\"script\":{\"source\":\"ctx._source.n++\"}}":            "request does not support [script]",
		"_update_by_query {\"slice\":{\"id\":0,\"max\":2}}":                         "request does not support [slice]",
		"_update_by_query?pipeline=p ":                                              "request [/a/_update_by_query] contains unrecognized parameter: [pipeline]",
		"_update_by_query?scroll=5m ":                                               "request [/a/_update_by_query] contains unrecognized parameter: [scroll]",
	} {
		target, body, _ := strings.Cut(request, " ")
		if got, _ := at(n.must(400, "POST /a/"+target, body), "error.reason").(string); !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", request, got)
		}
	}
	if out := n.must(200, "GET /a/_count", ""); out["count"] != 7.0 {
		t.Errorf("errors deleted documents: %v", out)
	}
}

// An operation by query has no limit of matches. With GRIFFIN_TEST_ALL=1 there are more than a search can return.
func TestByQueryOfManyDocuments(t *testing.T) {
	numDocs := sampletest.Rounds(20_000, griffin.MaxK+500)
	n := newNode(t)
	n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1","translog.durability":"async"},"mappings":{"properties":{"n":{"type":"long"}}}}`)
	var body strings.Builder
	for id := range numDocs {
		fmt.Fprintf(&body, "{\"index\":{\"_id\":\"%d\"}}\n{\"n\":%d}\n", id, id%2)
		if body.Len() > 4<<20 || id == numDocs-1 {
			if out := n.must(200, "POST /a/_bulk", body.String()); out["errors"] != false {
				t.Fatal("errors in a bulk request")
			}
			body.Reset()
		}
		if id == numDocs/3 {
			n.must(200, "POST /a/_refresh", "")
		}
	}
	n.must(200, "POST /a/_refresh", "")
	even := float64((numDocs + 1) / 2)
	for _, c := range []struct {
		request, body string
		total         float64
	}{
		{"_update_by_query?max_docs=1500&refresh=true", `{"query":{"range":{"n":{"gte":0}}}}`, 1500},
		{"_delete_by_query?refresh=true&max_docs=777", `{"query":{"term":{"n":1}}}`, 777},
		{"_delete_by_query?refresh=true", `{"query":{"range":{"n":{"gte":0}}}}`, float64(numDocs - 777)},
	} {
		if c.total > 2000 { // all that are left, more than a search returns
			out := n.must(200, "GET /a/_count", "")
			if out["count"] != c.total {
				t.Fatalf("%v documents are left, want %v", out["count"], c.total)
			}
			if out := n.must(200, "POST /a/_count", `{"query":{"term":{"n":0}}}`); out["count"] != even {
				t.Errorf("%v", out)
			}
		}
		out := n.must(200, "POST /a/"+c.request, c.body)
		done := out["deleted"]
		if strings.HasPrefix(c.request, "_update") {
			done = out["updated"]
		}
		if out["total"] != c.total || done != c.total || out["version_conflicts"] != 0.0 {
			t.Errorf("%s: %v", c.request, out)
		}
	}
	if out := n.must(200, "GET /a/_count", ""); out["count"] != 0.0 {
		t.Errorf("%v", out)
	}
}

// Documents that have changed since they were found do not count for max_docs.
func TestByQueryMaxDocsBesideConflicts(t *testing.T) {
	for _, op := range []string{"_update_by_query", "_delete_by_query"} {
		n := newNode(t)
		n.must(200, "PUT /a", `{"settings":{"refresh_interval":"-1"}}`)
		for id := range 9 {
			n.must(201, fmt.Sprintf("PUT /a/_doc/%d", id), `{"t":"all"}`)
		}
		n.must(200, "POST /a/_refresh", "")
		for id := range 4 {
			n.must(200, fmt.Sprintf("PUT /a/_doc/%d", id), `{"t":"all"}`)
		}
		out := n.must(200, "POST /a/"+op+"?max_docs=3&conflicts=proceed", `{"query":{"match":{"t":"all"}}}`)
		if out["version_conflicts"] != 4.0 || out["updated"] != nil && out["updated"] != 3.0 || out["updated"] == nil && out["deleted"] != 3.0 {
			t.Errorf("%s: %v", op, out)
		}
	}
}

// A write that is refused for a time is repeated, and the answer has the number of repetitions. Others are not.
func TestByQueryPatience(t *testing.T) {
	for _, c := range []struct {
		refusals, attempts int
		err, want          error
	}{
		{0, 1, nil, nil},
		{3, 4, griffin.ErrBusy, nil},
		{100, maxByQueryRetries + 1, griffin.ErrBusy, griffin.ErrBusy},
		{100, 1, fmt.Errorf("%w: %w", griffin.ErrBusy, griffin.ErrFull), griffin.ErrFull},
		{100, 1, griffin.ErrDown, griffin.ErrDown},
	} {
		synctest.Test(t, func(t *testing.T) {
			b, attempts := byQueryRun{x: &Index{name: "a"}}, 0
			_, err := b.patiently(t.Context(), func() ([]griffin.WriteResult, error) {
				if attempts++; attempts <= c.refusals {
					return nil, c.err
				}
				return nil, nil
			})
			if !errors.Is(err, c.want) || attempts != c.attempts || b.retries != c.attempts-1 {
				t.Errorf("%v: %d attempts, %d repetitions, %v", c.err, attempts, b.retries, err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := b.patiently(ctx, func() ([]griffin.WriteResult, error) { return nil, griffin.ErrBusy }); !errors.Is(err, context.Canceled) {
				t.Errorf("after the client has left: %v", err)
			}
		})
	}
}

// An error after some writes is a failure in an answer with their number.
func TestByQueryStopped(t *testing.T) {
	n := newNode(t)
	n.must(201, "PUT /a/_doc/1?refresh=true", `{"t":"all"}`)
	x, failed := n.d.find("a")
	if failed != nil {
		t.Fatal(failed)
	}
	r := &request{Request: httptest.NewRequest(http.MethodPost, "/", nil), h: n.h, began: time.Now()}
	b := byQueryRun{r: r, x: x, update: true, batch: 1}
	if err := b.stopped(TooBusy("busy", time.Second)); err == nil || err.Status != 429 {
		t.Errorf("nothing was written: %v", err)
	}
	if err := b.stopped(b.all(t.Context(), searchQuery{all: true})); err != nil || b.done != 1 || len(b.failures) > 0 {
		t.Fatalf("%v: %+v", err, b)
	}
	if err := b.stopped(TooBusy("busy", time.Second)); err != nil {
		t.Errorf("after a write: %v", err)
	}
	out := b.answer()
	text, err := json.Marshal(out.body)
	if want := `"failures":[{"index":"a","cause":{"type":"rejected_execution_exception","reason":"busy"`; err != nil || out.status != 429 || !strings.Contains(string(text), want) || !strings.Contains(string(text), `"updated":1`) {
		t.Errorf("%d: %s", out.status, text)
	}
}
